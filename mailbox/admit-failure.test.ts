import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Admission, type Outbox, parseRecordName } from './admit.ts'
import { decodeAgentRecord } from './codec.ts'
import { MailboxError } from './errors.ts'
import type { MailboxFs } from './ports.ts'
import type { MailboxRecord } from './record.ts'
import { reserveAt } from './reserve.ts'
import {
  accepted,
  idOf,
  type Mailbox,
  memoryMailbox,
  result,
  steer,
  task,
  withCalls,
} from './testing/builders.ts'
import { idsIn, letOthersRun, namesIn, outboxOf, outcomes, told } from './testing/outbox.ts'

/** An outbox whose directory syncs end when the test says so. */
async function outboxOnSlowDevice(mailbox: Mailbox): Promise<{
  readonly outbox: Outbox<MailboxRecord>
  /** The syncs that have begun: how many records were linked by then, and their end. */
  readonly syncs: { readonly links: number; readonly end: (error?: MailboxError) => void }[]
}> {
  const { fs, records } = mailbox
  const syncs: { links: number; end: (error?: MailboxError) => void }[] = []
  const syncDirectory = (path: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const links = fs.list(records)?.length ?? 0
      const end = (error?: MailboxError): void =>
        error ? reject(error) : resolve(fs.syncDirectory(path))
      syncs.push({ links, end })
    })
  const opening = outboxOf({ ...mailbox, fs: withCalls(fs, { syncDirectory }) })
  syncs.shift()?.end()
  return { outbox: await opening, syncs }
}

const deviceFailed = new MailboxError('DROVER_MAILBOX_IO', 'report', 'sync directory: EIO')

describe('a shared directory sync', () => {
  it('covers only those whose link came before it began', async () => {
    const { outbox, syncs } = await outboxOnSlowDevice(memoryMailbox())
    const admitted: string[] = []
    const admit = (id: string): Promise<unknown> =>
      outbox.admit(steer(id)).then(({ outcome }) => admitted.push(`${id} ${outcome}`))
    const all = [admit('a')]
    await letOthersRun()
    all.push(admit('b'), admit('c'))
    await letOthersRun()
    assert.deepEqual(
      syncs.map(({ links }) => links),
      [1],
    )
    syncs[0]?.end()
    await letOthersRun()
    assert.deepEqual(admitted, ['a admitted']) // for the others it began too early
    assert.deepEqual(
      syncs.map(({ links }) => links),
      [1, 3],
    )
    syncs[1]?.end()
    await Promise.all(all)
    assert.deepEqual(admitted, ['a admitted', 'b admitted', 'c admitted'])
  })

  it('that fails leaves open all that waited for it, and no others', async () => {
    const mailbox = memoryMailbox()
    const { outbox, syncs } = await outboxOnSlowDevice(mailbox)
    const all = [outbox.admit(steer('a'))]
    await letOthersRun()
    all.push(outbox.admit(steer('b')), outbox.admit(steer('c')))
    await letOthersRun()
    syncs[0]?.end()
    await letOthersRun()
    syncs[1]?.end(deviceFailed)
    assert.deepEqual(outcomes(await Promise.all(all)), ['admitted', 'unknown', 'unknown'])
    const retried = ['a', 'b', 'c'].map((id) => outbox.admit(steer(id)))
    await letOthersRun()
    for (const { end } of syncs.slice(2)) end()
    await letOthersRun()
    for (const { end } of syncs.slice(3)) end()
    assert.deepEqual(outcomes(await Promise.all(retried)), ['duplicate', 'duplicate', 'duplicate'])
    assert.deepEqual(idsIn(mailbox), ['a', 'b', 'c'])
  })

  it('is what a duplicate waits for, as long as it is not known to be durable', async () => {
    const { outbox, syncs } = await outboxOnSlowDevice(memoryMailbox())
    const first = outbox.admit(steer('a'))
    await letOthersRun()
    syncs[0]?.end(deviceFailed)
    assert.equal((await first).outcome, 'unknown')
    const next = outbox.admit(steer('b')) // looks into the directory, and sees `a` there
    await letOthersRun()
    let answer: Admission | undefined
    const again = outbox.admit(steer('a')).then((admission) => {
      answer = admission
    })
    await letOthersRun()
    assert.equal(answer, undefined)
    syncs[1]?.end(deviceFailed)
    assert.equal((await next).outcome, 'unknown')
    await letOthersRun()
    assert.equal((answer as Admission | undefined)?.outcome, undefined)
    syncs[2]?.end()
    await again
    assert.equal((answer as Admission | undefined)?.outcome, 'duplicate')
  })
})

describe('an admission that fails', () => {
  const steps = ['create', 'write', 'sync file', 'link', 'sync directory'] as const

  for (const [step, name] of steps.entries())
    for (const code of ['ENOSPC', 'EIO'] as const) {
      const expected = step < 3 ? 'refused' : 'unknown'
      it(`is ${expected} when ${code} strikes at ${name}, and a retry finds out`, async () => {
        const mailbox = memoryMailbox()
        const outbox = await outboxOf(mailbox)
        mailbox.fs.failAt(mailbox.fs.operations + step, code, 'once')
        const admission = await outbox.admit(task('a'))
        assert.equal(admission.outcome, expected)
        assert.ok('error' in admission && admission.error instanceof MailboxError)
        if (expected === 'unknown') {
          assert.equal(admission.error.code, 'DROVER_OUTCOME_UNKNOWN')
          assert.equal(admission.error.remedy, 'retry')
          assert.ok(admission.error.message.includes(idOf('a')))
        }
        const traces = idsIn(mailbox)
        assert.deepEqual(traces, step < 4 ? [] : ['a'])
        assert.deepEqual(mailbox.fs.list(mailbox.drafts), [])
        const retried = await outbox.admit(task('a'))
        assert.equal(told(retried), step < 4 ? 'admitted' : 'duplicate')
        assert.equal(told(await outbox.admit(task('a'))), 'duplicate')
        assert.deepEqual(idsIn(mailbox), ['a'])
      })
    }

  it('is unknown when the link happened although the machine says it failed', async () => {
    const mailbox = memoryMailbox()
    const { fs } = mailbox
    let lie = true
    const link: MailboxFs['link'] = (from, to) => {
      const linked = fs.link(from, to)
      if (!lie) return linked
      lie = false
      throw new MailboxError('DROVER_MAILBOX_IO', 'report', `link ${to}: EIO`)
    }
    const outbox = await outboxOf({ ...mailbox, fs: withCalls(fs, { link }) })
    const [first, second] = await Promise.all([outbox.admit(steer('a')), outbox.admit(steer('b'))])
    assert.equal(told(first), 'unknown DROVER_OUTCOME_UNKNOWN DROVER_MAILBOX_IO')
    assert.equal(told(second), 'admitted')
    assert.equal(told(await outbox.admit(steer('a'))), 'duplicate')
    assert.deepEqual(
      namesIn(fs, mailbox.records).map((name) => parseRecordName(name)?.number),
      [1, 2],
    )
  })

  it('stays unknown while a retry cannot even write its draft', async () => {
    for (const code of ['ENOSPC', 'EMFILE', 'EIO'] as const) {
      const mailbox = memoryMailbox()
      const { fs } = mailbox
      const outbox = await outboxOf(mailbox)
      fs.failAt(fs.operations + 4, 'EIO', 'once')
      assert.equal((await outbox.admit(task('a'))).outcome, 'unknown')
      assert.deepEqual(idsIn(mailbox), ['a'])
      fs.failAt(fs.operations, code, 'forever')
      const retried = await outbox.admit(task('a'))
      assert.notEqual(retried.outcome, 'refused', `${code}: it is there, so it was not refused`)
      fs.heal()
      assert.equal(told(await outbox.admit(task('a'))), 'duplicate')
      assert.deepEqual(idsIn(mailbox), ['a'])
    }
  })

  it('keeps its place from nobody: those behind it are admitted in order', async () => {
    for (let step = 0; step < 3; step++) {
      const mailbox = memoryMailbox()
      const outbox = await outboxOf(mailbox)
      mailbox.fs.failAt(mailbox.fs.operations + step, 'EIO', 'once')
      const ids = ['a', 'b', 'c', 'd']
      const admissions = await Promise.all(ids.map((id) => outbox.admit(steer(id))))
      const passed = ids.filter((_, i) => admissions[i]?.outcome === 'admitted')
      assert.equal(passed.length, 3)
      assert.deepEqual(idsIn(mailbox), passed)
    }
  })
})

describe('a full disk', () => {
  const ballast = '/m/ballast'

  async function fullDisk(
    mailbox: ReturnType<typeof memoryMailbox>,
  ): Promise<Outbox<MailboxRecord>> {
    const { fs } = mailbox
    await fs.createSynced(ballast, new Uint8Array(8))
    // The reserve is what makes room: with it gone the disk is full no longer.
    const remove: MailboxFs['remove'] = (path) => {
      const removed = fs.remove(path)
      if (path === ballast && removed === 'removed') fs.heal()
      return removed
    }
    const seen = withCalls(fs, { remove })
    return outboxOf({ ...mailbox, fs: seen }, { reserve: reserveAt(seen, ballast) })
  }

  it('refuses new work and leaves the reserve alone', async () => {
    const mailbox = memoryMailbox()
    const outbox = await fullDisk(mailbox)
    mailbox.fs.failAt(mailbox.fs.operations, 'ENOSPC', 'forever')
    for (const record of [task('a'), steer('b')])
      assert.equal(told(await outbox.admit(record)), 'refused DROVER_MAILBOX_FULL')
    assert.equal(mailbox.fs.entry(ballast), 'file')
    assert.deepEqual(idsIn(mailbox), [])
    assert.deepEqual(mailbox.fs.list(mailbox.drafts), [])
  })

  it('admits what finishes work once the reserve is released', async () => {
    const mailbox = memoryMailbox()
    const outbox = await fullDisk(mailbox)
    mailbox.fs.failAt(mailbox.fs.operations, 'ENOSPC', 'forever')
    assert.equal(told(await outbox.admit(result('a'))), 'admitted')
    assert.equal(mailbox.fs.entry(ballast), undefined)
    const [name = ''] = namesIn(mailbox.fs, mailbox.records)
    const read = mailbox.fs.read(`${mailbox.records}/${name}`, 10_000)
    assert.deepEqual('bytes' in read && decodeAgentRecord(read.bytes), { value: result('a') })
  })

  it('admits it too when only the link found no room', async () => {
    const mailbox = memoryMailbox()
    const outbox = await fullDisk(mailbox)
    mailbox.fs.failAt(mailbox.fs.operations + 3, 'ENOSPC', 'forever') // the directory has to grow
    assert.equal(told(await outbox.admit(result('a'))), 'admitted')
    assert.equal(mailbox.fs.entry(ballast), undefined)
    assert.deepEqual(idsIn(mailbox), ['a'])
  })

  it('keeps the order of those that needed the reserve and those that did not', async () => {
    const mailbox = memoryMailbox()
    const outbox = await fullDisk(mailbox)
    mailbox.fs.failAt(mailbox.fs.operations, 'ENOSPC', 'once') // room for the second, not for the first
    const admissions = await Promise.all([outbox.admit(accepted('a')), outbox.admit(result('b'))])
    assert.deepEqual(outcomes(admissions), ['admitted', 'admitted'])
    assert.deepEqual(idsIn(mailbox), ['a', 'b'])
  })

  it('refuses finished work too when the reserve is used up, and admits it later', async () => {
    const mailbox = memoryMailbox()
    const outbox = await fullDisk(mailbox)
    mailbox.fs.remove(ballast)
    mailbox.fs.failAt(mailbox.fs.operations, 'ENOSPC', 'forever')
    assert.equal(told(await outbox.admit(result('a'))), 'refused DROVER_MAILBOX_FULL')
    mailbox.fs.heal()
    assert.equal(told(await outbox.admit(result('a'))), 'admitted')
  })
})
