import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { Outbox } from './admit.ts'
import { encode } from './codec.ts'
import { MailboxError } from './errors.ts'
import { sameIdentity } from './journal.ts'
import { scanWindow } from './limits.ts'
import type { MailboxFs } from './ports.ts'
import type { AgentRecord, Identity } from './record.ts'
import {
  accepted,
  ask,
  backends,
  identity,
  idOf,
  type Mailbox,
  memoryMailbox,
  result,
  seed,
  withCalls,
} from './testing/builders.ts'
import { idsOf, journalOf, nameOf, put, scanAll } from './testing/journals.ts'

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
})

describe('two identities', () => {
  it('are the same only if every field is', () => {
    assert.equal(sameIdentity(identity(), identity()), true)
    for (const field of Object.keys(identity()) as (keyof Identity)[])
      assert.equal(sameIdentity(identity(), identity({ [field]: 'other' })), false, field)
  })
})

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
