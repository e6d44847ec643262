import assert from 'node:assert/strict'
import {
  chmodSync,
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
import { diskFs } from './disk-fs.ts'
import type { MailboxFs } from './ports.ts'
import {
  ask,
  backends,
  countingIds,
  type Mailbox,
  memoryMailbox,
  result,
  scratchDirectory,
  seed,
  withCalls,
} from './testing/builders.ts'
import { evilName, good, hostileFiles, valid } from './testing/hostile-files.ts'
import { idsOf, journalOf, nameOf, put, scanAll } from './testing/journals.ts'
import type { MemoryFs, Planted } from './testing/memory-fs.ts'
import { plantOnDisk } from './testing/plant-on-disk.ts'

for (const backend of backends) {
  describe(`a journal on ${backend.name}`, () => {
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

  /** Every link leads to what must stay as it is, also one inside a directory. */
  function plant(path: string, planted: Planted, outside: string, bytes?: Uint8Array): void {
    plantOnDisk(path, planted, `${outside}/target`, bytes)
    if (planted === 'directory') symlinkSync(`${outside}/target`, `${path}/link`)
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

function textAt(fs: MailboxFs, path: string): string {
  const read = fs.read(path, 10_000)
  assert.ok('bytes' in read, path)
  return Buffer.from(read.bytes).toString()
}
