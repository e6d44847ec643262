import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { Outbox } from './admit.ts'
import { decodeAgentRecord, encode } from './codec.ts'
import { diskFs } from './disk-fs.ts'
import { MailboxError } from './errors.ts'
import { Journal, type JournalOptions, type Scan, sameIdentity } from './journal.ts'
import { recordReadBytesMax, scanWindow } from './limits.ts'
import type { MailboxFs } from './ports.ts'
import type { AgentRecord, Identity, MailboxRecord } from './record.ts'
import {
  accepted,
  ask,
  backends,
  countingIds,
  identity,
  idOf,
  type Mailbox,
  memoryMailbox,
  result,
  scratchDirectory,
  seed,
  task,
  withCalls,
} from './testing/builders.ts'
import type { MemoryFs, Planted } from './testing/memory-fs.ts'

function journalOf(
  { fs, records, quarantine }: Mailbox,
  more: Partial<JournalOptions<AgentRecord>> = {},
): Journal<AgentRecord> {
  return new Journal<AgentRecord>({
    fs,
    ids: countingIds('q'),
    directory: records,
    quarantine,
    untrusted: 'quarantine',
    identity: identity(),
    decode: decodeAgentRecord,
    ...more,
  })
}

const nameOf = (number: number, { kind, id }: MailboxRecord): string =>
  `${String(number).padStart(8, '0')}-${kind}-${id}.json`

/** Writes a record as its writer would, under a number of the test's choice. */
async function put({ fs, records }: Mailbox, number: number, record: AgentRecord): Promise<void> {
  await fs.createSynced(`${records}/${nameOf(number, record)}`, encode(record))
}

const idsOf = ({ records }: Scan<AgentRecord>): string[] =>
  records.map(({ id }) => id.replace(/0+$/, ''))

/** Looks until nothing is left, as its owner does. */
function scanAll(journal: Journal<AgentRecord>): Scan<AgentRecord> {
  const scans = [journal.scan()]
  while (scans.at(-1)?.more) scans.push(journal.scan())
  return {
    ...(scans.at(-1) as Scan<AgentRecord>),
    records: scans.flatMap(({ records }) => records),
    quarantined: scans.flatMap(({ quarantined }) => quarantined),
  }
}

for (const backend of backends) {
  describe(`a journal on ${backend.name}`, () => {
    it('hands records over in the order of their numbers, each once', async () => {
      const mailbox = backend.open()
      const journal = journalOf(mailbox)
      await put(mailbox, 2, accepted('b'))
      await put(mailbox, 10, result('j'))
      await put(mailbox, 1, ask('a'))
      const { records, quarantined, more, gone } = journal.scan()
      assert.deepEqual(records, [ask('a'), accepted('b'), result('j')])
      assert.deepEqual({ quarantined, more, gone }, { quarantined: [], more: false, gone: false })
      assert.deepEqual(journal.scan().records, [])
      await put(mailbox, 11, result('k'))
      assert.deepEqual(idsOf(journal.scan()), ['k'])
    })

    it('hands over what an outbox admits', async () => {
      const mailbox = backend.open()
      const journal = journalOf(mailbox)
      const { fs, records, drafts } = mailbox
      const outbox = await Outbox.open<AgentRecord>({ fs, directory: records, drafts })
      const ids = Array.from({ length: 20 }, (_, i) => `n${String(i).padStart(2, '0')}x`)
      await Promise.all(ids.map((id) => outbox.admit(ask(id))))
      assert.deepEqual(idsOf(journal.scan()), ids)
    })

    it('passes over files that belong there', async () => {
      const mailbox = backend.open()
      await mailbox.fs.createSynced(`${mailbox.records}/ready.json`, Buffer.from('{}'))
      const journal = journalOf(mailbox, { ignore: new Set(['ready.json']) })
      assert.deepEqual(journal.scan(), { records: [], quarantined: [], more: false, gone: false })
      assert.deepEqual(mailbox.fs.list(mailbox.records), ['ready.json'])
    })

    it('says when the mailbox is settled', () => {
      const mailbox = backend.open()
      const journal = journalOf(mailbox)
      assert.equal(journal.scan().gone, false)
      mailbox.fs.rename(mailbox.root, `${mailbox.root}-settled`)
      assert.deepEqual(journal.scan(), { records: [], quarantined: [], more: false, gone: true })
    })

    it('moves what it cannot trust away, with the reason beside it', async () => {
      const mailbox = backend.open()
      const { fs, records, quarantine } = mailbox
      const bad = nameOf(1, ask('a'))
      await fs.createSynced(`${records}/${bad}`, Buffer.from('{"half":'))
      await put(mailbox, 2, result('b'))
      const { fs: seen, written } = rememberingWrites(fs)
      const scan = journalOf({ ...mailbox, fs: seen }).scan()
      assert.deepEqual(idsOf(scan), ['b'])
      assert.equal(scan.quarantined.length, 1)
      assert.equal(scan.quarantined[0]?.name, bad)
      const reason = scan.quarantined[0]?.reason ?? ''
      assert.match(reason, /^not-json: /)
      await written()
      const place = `${quarantine}/${countingIds('q').next()}`
      assert.equal(textAt(fs, place), '{"half":')
      assert.deepEqual(JSON.parse(textAt(fs, `${place}.reason`)), { name: bad, reason })
      assert.deepEqual(fs.list(records), [nameOf(2, result('b'))])
    })

    it('leaves what it cannot trust where it is, if it is a mere reader', async () => {
      const mailbox = backend.open()
      const bad = nameOf(1, ask('a'))
      await mailbox.fs.createSynced(`${mailbox.records}/${bad}`, Buffer.from('{}'))
      await put(mailbox, 2, result('b'))
      const journal = journalOf(mailbox, { untrusted: 'leave' })
      const scan = journal.scan()
      assert.deepEqual(idsOf(scan), ['b'])
      assert.deepEqual(
        scan.quarantined.map(({ name }) => name),
        [bad],
      )
      assert.deepEqual(mailbox.fs.list(mailbox.quarantine), [])
      assert.equal(mailbox.fs.entry(`${mailbox.records}/${bad}`), 'file')
      assert.deepEqual(journal.scan().quarantined, []) // said once
    })

    it('passes over what it cannot even move away', async () => {
      const mailbox = backend.open()
      mailbox.fs.removeTree(mailbox.quarantine)
      const bad = nameOf(1, ask('a'))
      await mailbox.fs.createSynced(`${mailbox.records}/${bad}`, Buffer.from('{}'))
      await put(mailbox, 2, result('b'))
      const journal = journalOf(mailbox)
      assert.deepEqual(idsOf(journal.scan()), ['b'])
      await put(mailbox, 3, result('c'))
      assert.deepEqual(journal.scan(), {
        records: [result('c')],
        quarantined: [],
        more: false,
        gone: false,
      })
    })
  })
}

describe('a journal', () => {
  it('hands over one window at a time, and says that more is waiting', async () => {
    const mailbox = memoryMailbox()
    const count = scanWindow + 2
    for (let i = 1; i <= count; i++) await put(mailbox, i, ask(`n${i}x`))
    const journal = journalOf(mailbox)
    const first = journal.scan()
    assert.equal(first.records.length, scanWindow)
    assert.equal(first.more, true)
    await put(mailbox, count + 1, ask('late'))
    const second = journal.scan()
    assert.deepEqual(idsOf(second), [`n${scanWindow + 1}x`, `n${scanWindow + 2}x`])
    assert.equal(second.more, false)
    assert.deepEqual(idsOf(journal.scan()), ['late'])
  })

  it('does not show a record before an earlier one that its directory did not show yet', async () => {
    const mailbox = memoryMailbox()
    await put(mailbox, 1, ask('a'))
    await put(mailbox, 2, ask('b'))
    for (const [missed, handedOver] of [
      ['a', ['a', 'b']],
      ['b', ['a']], // nothing shows that there is more
    ] as const) {
      const journal = journalOf({ ...mailbox, fs: missingFirst(mailbox, missed) })
      assert.deepEqual(idsOf(journal.scan()), handedOver)
      assert.deepEqual(idsOf(journal.scan()), ['a', 'b'].slice(handedOver.length))
    }
  })

  it('keeps that order when a stranger’s file sorts before all records', async () => {
    const mailbox = memoryMailbox()
    mailbox.fs.plant(`${mailbox.records}/!`, 'file')
    await put(mailbox, 1, ask('a'))
    await put(mailbox, 2, ask('b'))
    const scan = journalOf({ ...mailbox, fs: missingFirst(mailbox, 'a') }).scan()
    assert.deepEqual(idsOf(scan), ['a', 'b'])
  })

  it('keeps that order when the second look misses another one', async () => {
    const mailbox = memoryMailbox()
    for (const [i, id] of ['a', 'b', 'c', 'd'].entries()) await put(mailbox, i + 1, ask(id))
    // Each look is read beside the writer: the first shows b alone, the second a, b and d.
    const shows = [['b'], ['a', 'b', 'd']]
    const list = (path: string): readonly string[] | undefined => {
      const shown = shows.shift()
      return mailbox.fs
        .list(path)
        ?.filter((name) => shown === undefined || shown.some((id) => name.includes(idOf(id))))
    }
    const journal = journalOf({ ...mailbox, fs: withCalls(mailbox.fs, { list }) })
    const first = journal.scan()
    assert.deepEqual(idsOf(first), ['a', 'b'])
    assert.equal(first.more, true) // what it held back is not left to a hint that may get lost
    assert.deepEqual(idsOf(journal.scan()), ['c', 'd'])
  })

  it('keeps the writer’s order however its directory is shown', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(fc.nat(9), { maxLength: 4 }), { maxLength: 12 }),
        async (looks) => {
          const misses = [...looks]
          const mailbox = memoryMailbox()
          let linked = 0
          let old = new Set<string>()
          /** Every look meets new records, and may miss any that were not there when it began. */
          const list = (path: string): readonly string[] | undefined => {
            const missed = misses.shift()
            if (missed === undefined) return mailbox.fs.list(path)
            for (let i = 0; i < 3; i++) {
              linked++
              const record = ask(`n${String(linked).padStart(3, '0')}x`)
              mailbox.fs.plant(`${path}/${nameOf(linked, record)}`, 'file', encode(record))
            }
            const all = mailbox.fs.list(path) ?? []
            const young = all.filter((name) => !old.has(name))
            old = new Set(all)
            const hidden = new Set(missed.map((i) => young[i % young.length]))
            return all.filter((name) => !hidden.has(name))
          }
          const journal = journalOf({ ...mailbox, fs: withCalls(mailbox.fs, { list }) })
          const ids: string[] = []
          while (misses.length > 0) ids.push(...idsOf(scanAll(journal)))
          ids.push(...idsOf(scanAll(journal)))
          assert.deepEqual(
            ids,
            Array.from({ length: linked }, (_, i) => `n${String(i + 1).padStart(3, '0')}x`),
          )
        },
      ),
      { numRuns: 500, ...seed() },
    ))

  it('goes on past a number that will never come', async () => {
    const mailbox = memoryMailbox()
    await put(mailbox, 1, ask('a'))
    await put(mailbox, 3, ask('c'))
    const journal = journalOf(mailbox)
    assert.deepEqual(idsOf(journal.scan()), ['a', 'c'])
    await put(mailbox, 4, ask('d'))
    assert.deepEqual(idsOf(journal.scan()), ['d'])
  })

  it('loses nothing when it cannot look', async () => {
    const mailbox = memoryMailbox()
    const journal = journalOf(mailbox)
    await put(mailbox, 1, ask('a'))
    mailbox.fs.failAt(mailbox.fs.operations, 'EMFILE', 'forever')
    const { problem, ...scan } = journal.scan()
    assert.deepEqual(scan, { records: [], quarantined: [], more: false, gone: false })
    assert.ok(problem instanceof MailboxError)
    assert.equal(problem.code, 'DROVER_MAILBOX_IO')
    mailbox.fs.heal()
    assert.deepEqual(idsOf(journal.scan()), ['a'])
  })

  it('loses nothing when it can list and not read', async () => {
    const mailbox = memoryMailbox()
    for (const [i, id] of ['a', 'b', 'c'].entries()) await put(mailbox, i + 1, ask(id))
    let failing: string | undefined = idOf('b')
    const read: MailboxFs['read'] = (path, bytesMax) => {
      if (failing !== undefined && path.includes(failing))
        throw new MailboxError('DROVER_MAILBOX_IO', 'report', `open ${path}: EMFILE`)
      return mailbox.fs.read(path, bytesMax)
    }
    const journal = journalOf({ ...mailbox, fs: withCalls(mailbox.fs, { read }) })
    const first = journal.scan()
    assert.deepEqual(idsOf(first), ['a'])
    assert.equal(first.problem?.code, 'DROVER_MAILBOX_IO')
    assert.deepEqual(idsOf(journal.scan()), []) // still in the way: order before progress
    failing = undefined
    assert.deepEqual(idsOf(journal.scan()), ['b', 'c'])
  })

  it('keeps the order of all windows when one record cannot be read', async () => {
    const mailbox = memoryMailbox()
    const ids = Array.from({ length: scanWindow + 10 }, (_, i) => `n${i}x`)
    for (const [i, id] of ids.entries()) await put(mailbox, i + 1, ask(id))
    let trouble = true
    const read: MailboxFs['read'] = (path, bytesMax) => {
      if (trouble && path.includes(idOf('n5x')))
        throw new MailboxError('DROVER_MAILBOX_IO', 'report', `open ${path}: EMFILE`)
      return mailbox.fs.read(path, bytesMax)
    }
    const journal = journalOf({ ...mailbox, fs: withCalls(mailbox.fs, { read }) })
    const found = idsOf(journal.scan())
    trouble = false
    found.push(...idsOf(scanAll(journal)))
    assert.deepEqual(found, ids)
  })

  it('passes over a record that is gone before it was read', async () => {
    const mailbox = memoryMailbox()
    await put(mailbox, 1, ask('a'))
    await put(mailbox, 2, ask('b'))
    const list = (path: string): readonly string[] | undefined => {
      const names = mailbox.fs.list(path)
      mailbox.fs.remove(`${mailbox.records}/${nameOf(1, ask('a'))}`)
      return names
    }
    const scan = journalOf({ ...mailbox, fs: withCalls(mailbox.fs, { list }) }).scan()
    assert.deepEqual(idsOf(scan), ['b'])
    assert.deepEqual(scan.quarantined, [])
  })

  it('keeps a record out of quarantine notes: a full disk does no harm', async () => {
    const mailbox = memoryMailbox()
    mailbox.fs.plant(`${mailbox.records}/bad`, 'file')
    await put(mailbox, 1, ask('a'))
    // The move takes the last room, so the note finds none.
    mailbox.fs.failAt(mailbox.fs.operations + 1, 'ENOSPC', 'forever')
    const { fs: seen, written } = rememberingWrites(mailbox.fs)
    assert.deepEqual(idsOf(journalOf({ ...mailbox, fs: seen }).scan()), ['a'])
    await written()
    assert.equal(mailbox.fs.list(mailbox.quarantine)?.length, 1)
  })
})

describe('two identities', () => {
  it('are the same only if every field is', () => {
    assert.equal(sameIdentity(identity(), identity()), true)
    for (const field of Object.keys(identity()) as (keyof Identity)[])
      assert.equal(sameIdentity(identity(), identity({ [field]: 'other' })), false, field)
  })
})

/** Hostile files: what they are, how they get there, and the reason they are refused for. */
interface Hostile {
  readonly what: string
  readonly name?: string | Uint8Array
  readonly bytes?: Uint8Array
  readonly planted?: Planted
  readonly reason: RegExp
}

const good = ask('good')
const valid = encode(ask('evil'))
const json = Buffer.from(valid).toString()
const evilName = nameOf(2, ask('evil'))

const hostileFiles: readonly Hostile[] = [
  { what: 'a link to a valid record', planted: 'symlink', reason: /^not-regular$/ },
  { what: 'a pipe', planted: 'fifo', reason: /^not-regular$/ },
  { what: 'a directory', planted: 'directory', reason: /^not-regular$/ },
  { what: 'a file of another user', planted: 'foreign-file', bytes: valid, reason: /^not-ours$/ },
  { what: 'a file open to others', planted: 'loose-file', bytes: valid, reason: /^not-private$/ },
  {
    what: 'a file one byte over the ceiling',
    bytes: Buffer.concat([valid, Buffer.alloc(recordReadBytesMax + 1 - valid.length, 0x20)]),
    reason: /^oversize$/,
  },
  { what: 'an empty file', bytes: Buffer.alloc(0), reason: /^not-json: / },
  { what: 'half a record', bytes: valid.subarray(0, valid.length >> 1), reason: /^not-json: / },
  { what: 'bad UTF-8', bytes: Buffer.from([0x22, 0xff, 0x22]), reason: /^not-utf8: / },
  {
    what: 'a key that stands twice',
    bytes: Buffer.from(json.replace('{', '{"text":"x",')),
    reason: /^duplicate-key: /,
  },
  {
    what: '__proto__',
    bytes: Buffer.from(json.replace('{', '{"__proto__":{"accepted":true},')),
    reason: /^wrong-shape: .*__proto__/s,
  },
  {
    what: 'a protocol that cannot be shown',
    bytes: Buffer.from('{"protocol":{"toString":null,"valueOf":null}}'),
    reason: /^wrong-protocol: /,
  },
  {
    what: '200,000 arrays in each other',
    bytes: Buffer.from(`{"protocol":${'['.repeat(200_000)}${']'.repeat(200_000)}}`),
    reason: /^wrong-protocol: /,
  },
  { what: 'another protocol', bytes: Buffer.from(json.replace('4', '5')), reason: /protocol 5/ },
  { what: 'another id than its name', bytes: encode(ask('other')), reason: /^wrong-name$/ },
  {
    what: 'another kind than its name',
    bytes: encode(result('evil')),
    reason: /^wrong-name$/,
  },
  { what: 'an owner’s record', bytes: encode(task('evil')), reason: /^wrong-shape: / },
  ...(Object.keys(identity()) as (keyof Identity)[]).map(
    (field): Hostile => ({
      what: `another ${field}`,
      bytes: encode({
        ...ask('evil'),
        identity: identity({ [field]: field === 'generation' ? idOf('other') : 'other' }),
      }),
      reason: /^wrong-identity$/,
    }),
  ),
  ...[
    '..json',
    '...',
    '.hidden',
    'ready.json.tmp',
    `..%2f${evilName}`,
    `${evilName}\n`,
    `\u001b]0;owned\u0007${evilName}`,
    `\u202e${evilName}`,
    'x'.repeat(255),
    '__proto__',
    evilName.toUpperCase(),
    evilName.replace('evil', 'evil\u0301'),
  ].map(
    (name): Hostile => ({
      what: JSON.stringify(name).slice(0, 40),
      name,
      bytes: valid,
      reason: /^wrong-name$/,
    }),
  ),
]

describe('hostile files in memory', () => {
  for (const { what, name = evilName, planted = 'file', bytes, reason } of hostileFiles)
    it(`${what}: quarantined, and all others handed over`, async () => {
      assert.ok(typeof name === 'string')
      const mailbox = memoryMailbox()
      const fs: MemoryFs = mailbox.fs
      await put(mailbox, 1, good)
      fs.plant(`${mailbox.records}/${name}`, planted, bytes)
      await put(mailbox, 3, result('last'))
      const scan = scanAll(journalOf(mailbox))
      assert.deepEqual(scan.records, [good, result('last')])
      assert.deepEqual(scan.problem, undefined)
      assert.deepEqual(
        scan.quarantined.map((each) => each.name),
        [name],
      )
      assert.match(scan.quarantined[0]?.reason ?? '', reason)
      assert.equal(fs.list(mailbox.records)?.length, 2)
    })
})

describe('hostile files on disk', () => {
  const scratch = scratchDirectory()
  const isRoot = process.getuid?.() === 0
  let opened = 0

  /** A mailbox beside something that must stay as it is. */
  function open(): Mailbox & { readonly outside: string; readonly unharmed: () => void } {
    const root = `${scratch}/${opened++}`
    const outside = `${root}/outside`
    for (const path of [
      root,
      outside,
      ...['records', 'drafts', 'quarantine'].map((d) => `${root}/${d}`),
    ])
      mkdirSync(path, { mode: 0o700 })
    writeFileSync(`${outside}/target`, valid, { mode: 0o600 })
    const before = statSync(`${outside}/target`)
    return {
      fs: diskFs,
      root,
      outside,
      records: `${root}/records`,
      drafts: `${root}/drafts`,
      quarantine: `${root}/quarantine`,
      unharmed() {
        assert.deepEqual(readdirSync(outside), ['target'])
        assert.deepEqual(readFileSync(`${outside}/target`), Buffer.from(valid))
        const { ino, mode, mtimeMs } = statSync(`${outside}/target`)
        assert.deepEqual(
          { ino, mode, mtimeMs },
          { ino: before.ino, mode: before.mode, mtimeMs: before.mtimeMs },
        )
      },
    }
  }

  function plant(path: string, planted: Planted, outside: string, bytes?: Uint8Array): void {
    if (planted === 'symlink') {
      symlinkSync(`${outside}/target`, path)
    } else if (planted === 'fifo') {
      execFileSync('mkfifo', ['-m', '600', path])
    } else if (planted === 'directory') {
      mkdirSync(path, { mode: 0o700 })
      symlinkSync(`${outside}/target`, `${path}/link`)
    } else {
      writeFileSync(path, bytes ?? '')
      chmodSync(path, planted === 'loose-file' ? 0o640 : 0o600)
      if (planted === 'foreign-file') chownSync(path, 65534, 65534)
    }
  }

  /** The one hostile file of a mailbox is put aside, and the rest goes on. */
  async function judge(
    mailbox: ReturnType<typeof open>,
    name: string,
    reason: RegExp,
  ): Promise<void> {
    await put(mailbox, 3, result('last'))
    const { fs, written } = rememberingWrites(diskFs)
    const scan = scanAll(journalOf({ ...mailbox, fs }))
    assert.deepEqual(scan.records, [good, result('last')])
    assert.equal(scan.problem, undefined)
    assert.deepEqual(
      scan.quarantined.map((each) => each.name),
      [name],
    )
    assert.match(scan.quarantined[0]?.reason ?? '', reason)
    await written()
    const place = countingIds('q').next()
    assert.deepEqual(readdirSync(mailbox.quarantine).sort(), [place, `${place}.reason`])
    assert.deepEqual(JSON.parse(readFileSync(`${mailbox.quarantine}/${place}.reason`, 'utf8')), {
      ...scan.quarantined[0],
    })
    assert.equal(readdirSync(mailbox.records).length, 2)
    mailbox.unharmed()
  }

  for (const { what, name = evilName, planted = 'file', bytes, reason } of hostileFiles) {
    const skip = planted === 'foreign-file' && !isRoot && 'only root can make files of another user'
    it(`${what}: quarantined, and all others handed over`, { skip }, async () => {
      assert.ok(typeof name === 'string')
      const mailbox = open()
      await put(mailbox, 1, good)
      plant(`${mailbox.records}/${name}`, planted, mailbox.outside, bytes)
      await judge(mailbox, name, reason)
    })
  }

  it('a socket: quarantined, and all others handed over', async () => {
    const mailbox = open()
    await put(mailbox, 1, good)
    const server = createServer()
    // The path of a socket is short, so it is made elsewhere and moved in.
    await new Promise<void>((resolve) => server.listen(`${scratch}/s`, resolve))
    renameSync(`${scratch}/s`, `${mailbox.records}/${evilName}`)
    await judge(mailbox, evilName, /^not-regular$/)
    await new Promise((resolve) => server.close(resolve))
  })

  it('a second name of a file outside: only that name moves', async () => {
    const mailbox = open()
    await put(mailbox, 1, good)
    writeFileSync(`${mailbox.outside}/target`, 'secret')
    linkSync(`${mailbox.outside}/target`, `${mailbox.records}/${evilName}`)
    const scan = scanAll(journalOf(mailbox))
    assert.deepEqual(scan.records, [good])
    assert.match(scan.quarantined[0]?.reason ?? '', /^not-json: /)
    assert.equal(readFileSync(`${mailbox.outside}/target`, 'utf8'), 'secret')
  })

  it('a name that is no UTF-8: passed over where it is, and all others handed over', async () => {
    const mailbox = open()
    await put(mailbox, 1, good)
    const surrogate = Buffer.from([0xed, 0xa0, 0x80])
    writeFileSync(Buffer.concat([Buffer.from(`${mailbox.records}/`), surrogate]), valid)
    await put(mailbox, 3, result('last'))
    const journal = journalOf(mailbox)
    const scan = scanAll(journal)
    assert.deepEqual(scan.records, [good, result('last')])
    assert.deepEqual(
      scan.quarantined.map(({ reason }) => reason),
      ['wrong-name'],
    )
    assert.equal(readdirSync(mailbox.records).length, 3)
    assert.deepEqual(journal.scan().quarantined, [])
    mailbox.unharmed()
  })

  it('a link in place of the directory of records itself: nothing behind it is read or moved', () => {
    const mailbox = open()
    diskFs.removeTree(mailbox.records)
    symlinkSync(mailbox.outside, mailbox.records)
    writeFileSync(`${mailbox.outside}/${evilName}`, valid, { mode: 0o600 })
    const scan = journalOf(mailbox).scan()
    assert.deepEqual(scan.records, [])
    assert.equal(scan.problem?.code, 'DROVER_MAILBOX_UNSAFE')
    assert.deepEqual(readdirSync(mailbox.outside).sort(), [evilName, 'target'].sort())
    assert.deepEqual(readdirSync(mailbox.quarantine), [])
  })

  it('a directory of records open to others: nothing in it is believed', async () => {
    const mailbox = open()
    await put(mailbox, 1, good)
    chmodSync(mailbox.records, 0o777)
    const journal = journalOf(mailbox)
    const scan = journal.scan()
    assert.deepEqual(scan.records, [])
    assert.equal(scan.problem?.code, 'DROVER_MAILBOX_UNSAFE')
    chmodSync(mailbox.records, 0o700)
    assert.deepEqual(journal.scan().records, [good])
  })

  it('all of them at once: each is put aside, and all others handed over in order', async () => {
    const mailbox = open()
    for (const [i, { name, planted = 'file', bytes }] of hostileFiles.entries()) {
      await put(mailbox, i * 2 + 1, ask(`n${i}x`))
      if (planted === 'foreign-file' && !isRoot) continue
      const own =
        typeof name === 'string' ? `${i}${name}`.slice(0, 255) : nameOf(i * 2 + 2, ask('evil'))
      plant(`${mailbox.records}/${own}`, planted, mailbox.outside, bytes)
    }
    const scan = scanAll(journalOf(mailbox))
    assert.deepEqual(
      idsOf(scan),
      hostileFiles.map((_, i) => `n${i}x`),
    )
    assert.equal(readdirSync(mailbox.records).length, hostileFiles.length)
    mailbox.unharmed()
  })

  it('any bytes under any record’s name: never a crash, and all others handed over', () =>
    fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), async (bytes) => {
        const mailbox = memoryMailbox()
        await put(mailbox, 1, good)
        mailbox.fs.plant(`${mailbox.records}/${evilName}`, 'file', bytes)
        await put(mailbox, 3, result('last'))
        const scan = scanAll(journalOf(mailbox))
        assert.deepEqual(scan.records, [good, result('last')])
        assert.equal(scan.quarantined.length, 1)
      }),
      { numRuns: 500, ...seed() },
    ))
})

/** The file system, and the end of all it was asked to create. */
function rememberingWrites(fs: MailboxFs): {
  readonly fs: MailboxFs
  readonly written: () => Promise<unknown>
} {
  const writes: Promise<void>[] = []
  const createSynced: MailboxFs['createSynced'] = (path, bytes) => {
    const write = fs.createSynced(path, bytes)
    writes.push(write.catch(() => {}))
    return write
  }
  return { fs: withCalls(fs, { createSynced }), written: () => Promise.all(writes) }
}

/** Reads the directory beside its writer: the first look misses one record. */
function missingFirst({ fs }: Mailbox, id: string): MailboxFs {
  let looks = 0
  const list = (path: string): readonly string[] | undefined =>
    fs.list(path)?.filter((name) => looks > 0 || !name.includes(idOf(id)))
  return withCalls(fs, {
    list: (path) => {
      const names = list(path)
      looks++
      return names
    },
  })
}

function textAt(fs: MailboxFs, path: string): string {
  const read = fs.read(path, 10_000)
  assert.ok('bytes' in read, path)
  return Buffer.from(read.bytes).toString()
}
