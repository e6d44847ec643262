import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseRecordName } from './admit.ts'
import { decodeOwnerRecord, encode } from './codec.ts'
import { MailboxError } from './errors.ts'
import { recordBytesDefault } from './limits.ts'
import type { MailboxFs } from './ports.ts'
import { backends, idOf, steer, task, withCalls } from './testing/builders.ts'
import { idsIn, letOthersRun, namesIn, outboxOf, outcomes, told } from './testing/outbox.ts'

for (const backend of backends) {
  describe(`admission on ${backend.name}`, () => {
    it('puts a whole record under its number, kind and id, and leaves no draft', async () => {
      const mailbox = backend.open()
      const outbox = await outboxOf(mailbox)
      assert.deepEqual(await outbox.admit(task('a')), { outcome: 'admitted' })
      assert.deepEqual(await outbox.admit(steer('b')), { outcome: 'admitted' })
      const { fs, records, drafts } = mailbox
      assert.deepEqual(namesIn(fs, records), [
        `00000001-task-${idOf('a')}.json`,
        `00000002-steer-${idOf('b')}.json`,
      ])
      assert.deepEqual(fs.list(drafts), [])
      const read = fs.read(`${records}/00000001-task-${idOf('a')}.json`, 10_000)
      assert.ok('bytes' in read)
      assert.deepEqual(decodeOwnerRecord(read.bytes), { value: task('a') })
    })

    it('keeps one record when one id is admitted twice', async () => {
      const mailbox = backend.open()
      const outbox = await outboxOf(mailbox)
      assert.equal(told(await outbox.admit(task('a'))), 'admitted')
      assert.equal(told(await outbox.admit(task('a'))), 'duplicate')
      assert.deepEqual(idsIn(mailbox), ['a'])
    })

    it('keeps one record when one id is in flight twice', async () => {
      const mailbox = backend.open()
      const outbox = await outboxOf(mailbox)
      const admissions = await Promise.all([1, 2, 3].map(() => outbox.admit(task('a'))))
      assert.deepEqual(outcomes(admissions), ['admitted', 'duplicate', 'duplicate'])
      assert.deepEqual(idsIn(mailbox), ['a'])
    })

    it('knows in another life what it admitted, and goes on counting', async () => {
      const mailbox = backend.open()
      await (await outboxOf(mailbox)).admit(task('a'))
      const outbox = await outboxOf(mailbox)
      assert.equal(told(await outbox.admit(task('a'))), 'duplicate')
      assert.equal(told(await outbox.admit(steer('b'))), 'admitted')
      assert.deepEqual(idsIn(mailbox), ['a', 'b'])
    })

    it('takes a record of exactly the limit and refuses one byte more', async () => {
      for (const bytesMax of [1_024, recordBytesDefault]) {
        const mailbox = backend.open()
        const outbox = await outboxOf(mailbox, { bytesMax })
        const room = bytesMax - encode(task('a', '')).length
        assert.equal(told(await outbox.admit(task('a', 'x'.repeat(room)))), 'admitted')
        const refused = await outbox.admit(task('b', 'x'.repeat(room + 1)))
        assert.equal(told(refused), 'refused DROVER_RECORD_TOO_LARGE')
        assert.ok('error' in refused)
        assert.equal(refused.error.remedy, 'report')
        assert.ok(refused.error.message.includes(String(bytesMax + 1)), refused.error.message)
        assert.deepEqual(idsIn(mailbox), ['a'])
        assert.deepEqual(mailbox.fs.list(mailbox.drafts), [])
      }
    })

    it('counts bytes of UTF-8 and of escapes, not characters', async () => {
      const bytesMax = 1_024
      const outbox = await outboxOf(backend.open(), { bytesMax })
      const room = bytesMax - encode(task('a', '')).length
      for (const [text, bytes] of [
        ['€', 3],
        ['\u0000', 6],
        ['"', 2],
        ['😀', 4],
      ] as const) {
        const most = Math.floor(room / bytes)
        const id = `c${text.codePointAt(0)}x`
        const tooLong = task(id, `x${text.repeat(most + 1)}`)
        assert.equal(told(await outbox.admit(tooLong)), 'refused DROVER_RECORD_TOO_LARGE')
        assert.equal(told(await outbox.admit(task(id, `x${text.repeat(most - 1)}`))), 'admitted')
      }
    })

    it('numbers 32 in flight in the order of the calls, refused ones between them left out', async () => {
      const mailbox = backend.open()
      const outbox = await outboxOf(mailbox, { bytesMax: 1_024 })
      const ids = Array.from({ length: 32 }, (_, i) => `n${String(i).padStart(2, '0')}x`)
      // Long ones take longer to write; every fifth is too long.
      const admissions = await Promise.all(
        ids.map((id, i) => outbox.admit(steer(id, 'x'.repeat(i % 5 === 4 ? 2_000 : 500 - i * 10)))),
      )
      assert.deepEqual(
        outcomes(admissions),
        ids.map((_, i) => (i % 5 === 4 ? 'refused' : 'admitted')),
      )
      assert.deepEqual(
        idsIn(mailbox),
        ids.filter((_, i) => i % 5 !== 4),
      )
      assert.deepEqual(
        namesIn(mailbox.fs, mailbox.records).map((name) => parseRecordName(name)?.number),
        Array.from({ length: 26 }, (_, i) => i + 1),
      )
    })

    it('sweeps the drafts of an earlier life when it opens, and nothing else', async () => {
      const mailbox = backend.open()
      await (await outboxOf(mailbox)).admit(task('a'))
      await mailbox.fs.createSynced(`${mailbox.drafts}/${idOf('b')}-0`, Buffer.from('half'))
      await outboxOf(mailbox)
      assert.deepEqual(mailbox.fs.list(mailbox.drafts), [])
      assert.deepEqual(idsIn(mailbox), ['a'])
    })

    it('does not open where there is no mailbox any more', async () => {
      const mailbox = backend.open()
      mailbox.fs.removeTree(mailbox.records)
      await assert.rejects(
        outboxOf(mailbox),
        (error) => error instanceof MailboxError && error.code === 'DROVER_MAILBOX_GONE',
      )
    })

    it('refuses once the mailbox is settled, with the code that says stop', async () => {
      const mailbox = backend.open()
      const outbox = await outboxOf(mailbox)
      mailbox.fs.removeTree(mailbox.root)
      const refused = await outbox.admit(task('a'))
      assert.equal(told(refused), 'refused DROVER_MAILBOX_GONE')
      assert.equal('error' in refused && refused.error.remedy, 'stop')
    })

    it('refuses once the mailbox is settled between the draft and its link', async () => {
      const mailbox = backend.open()
      const { fs, records } = mailbox
      const createSynced: MailboxFs['createSynced'] = async (path, bytes) => {
        await fs.createSynced(path, bytes)
        fs.removeTree(records)
      }
      const outbox = await outboxOf({ ...mailbox, fs: withCalls(fs, { createSynced }) })
      assert.equal(told(await outbox.admit(task('a'))), 'refused DROVER_MAILBOX_GONE')
      assert.deepEqual(fs.list(mailbox.drafts), [])
    })

    it('shares directory syncs: 32 in flight need far fewer than 32', async () => {
      const mailbox = backend.open()
      let syncs = 0
      const syncDirectory = async (path: string): Promise<void> => {
        syncs++
        await letOthersRun() // a device takes its time
        await mailbox.fs.syncDirectory(path)
      }
      const outbox = await outboxOf({ ...mailbox, fs: withCalls(mailbox.fs, { syncDirectory }) })
      syncs = 0
      const ids = Array.from({ length: 32 }, (_, i) => `n${i}x`)
      const admissions = await Promise.all(ids.map((id) => outbox.admit(steer(id))))
      assert.deepEqual(new Set(outcomes(admissions)), new Set(['admitted']))
      assert.ok(syncs <= 10, `${syncs} directory syncs`)
    })
  })
}

describe('a record name', () => {
  it('states number, kind and id, and is refused in any other form', () => {
    const id = idOf('a')
    assert.deepEqual(parseRecordName(`00000012-task-${id}.json`), { number: 12, kind: 'task', id })
    for (const name of [
      `12-task-${id}.json`,
      `00000012-task-${id}.json\n`,
      `\n00000012-task-${id}.json`,
      `00000012-TASK-${id}.json`,
      `00000012-task-${id.toUpperCase()}.json`,
      `00000012-task-${id}x.json`,
      `00000012-task-${id.slice(1)}.json`,
      `00000012-task-${id}.JSON`,
      `00000012-task-${id}`,
      `-0000012-task-${id}.json`,
      `00000012--${id}.json`,
      `00000012-task-${id}.json.reason`,
      '..',
      '',
    ])
      assert.equal(parseRecordName(name), undefined, JSON.stringify(name))
  })
})
