/**
 * Power fails at every operation point of a protocol, and the disk keeps, drops or tears whatever was not durable:
 * every disk that may be left is judged. Nothing is sampled here.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Admission, Outbox, parseRecordName } from './admit.ts'
import { claim, readClaim } from './claim.ts'
import { decodeAgentRecord, encode } from './codec.ts'
import { Journal } from './journal.ts'
import { type LeasePlace, readLease, releaseLease, takeLease } from './lease.ts'
import type { AgentRecord, Runtime } from './record.ts'
import {
  accepted,
  claimFile,
  countingIds,
  identity,
  idOf,
  Machine,
  type Mailbox,
  memoryMailbox,
  processOf,
  result,
  runtimeOf,
} from './testing/builders.ts'
import { claimPathIn, claimPlaceOf } from './testing/claims.ts'
import { Crashed } from './testing/memory-fs.ts'

type MemoryMailbox = ReturnType<typeof memoryMailbox>

interface Protocol<Told> {
  /** What a living process does, and what it was told by then. */
  readonly script: (mailbox: MemoryMailbox, told: Told[]) => Promise<void>
  /** What must hold on a disk that is left, whatever the next life does with it. */
  readonly judge: (survivor: MemoryMailbox, told: readonly Told[]) => Promise<void>
  readonly prepare?: (mailbox: MemoryMailbox) => Promise<void>
  /** A fault on top of the power cut. */
  readonly failAt?: number
}

interface Count {
  points: number
  states: number
}

async function everyPowerLoss<Told>(protocol: Protocol<Told>, count: Count): Promise<void> {
  for (let point = 0; ; point++) {
    const mailbox = await prepared(protocol)
    const { fs } = mailbox
    const told: Told[] = []
    fs.crashAt(point)
    await protocol.script(mailbox, told).catch((error) => {
      if (!isCrash(error)) throw error
    })
    const isComplete = fs.operations < point
    fs.crash()
    if (!isComplete) count.points++
    for (const survivor of fs.afterPowerLoss()) {
      count.states++
      await protocol.judge({ ...mailbox, fs: survivor }, told)
    }
    if (isComplete) return
  }
}

async function prepared<Told>({ prepare, failAt }: Protocol<Told>): Promise<MemoryMailbox> {
  const mailbox = memoryMailbox()
  await prepare?.(mailbox)
  mailbox.fs.syncAll()
  const fs = mailbox.fs.peer()
  if (failAt !== undefined) fs.failAt(failAt, 'EIO', 'once')
  return { ...mailbox, fs }
}

/** A dead process tells nobody anything, whatever its last lines return. */
function isCrash(error: unknown): boolean {
  return error instanceof Crashed || (error instanceof Error && error.cause instanceof Crashed)
}

async function operationsOf<Told>(protocol: Protocol<Told>): Promise<number> {
  const mailbox = await prepared(protocol)
  await protocol.script(mailbox, [])
  return mailbox.fs.operations
}

describe('admission and power loss', () => {
  /** What a writer knows about a record: it asked, and then it was answered. */
  interface Told {
    readonly id: string
    outcome: Admission['outcome'] | 'asked'
  }

  const recordOf = (id: string): AgentRecord => (id === 'b' ? accepted(id) : result(id))

  const open = ({ fs, records, drafts }: Mailbox): Promise<Outbox<AgentRecord>> =>
    Outbox.open<AgentRecord>({ fs, directory: records, drafts })

  async function admit(outbox: Outbox<AgentRecord>, id: string, told: Told[]): Promise<void> {
    const now: Told = { id, outcome: 'asked' }
    told.push(now)
    const admission = await outbox.admit(recordOf(id))
    if ('error' in admission && isCrash(admission.error)) throw admission.error
    now.outcome = admission.outcome
  }

  /** All that a new reader is handed, in order. Nothing it meets is untrusted: half a record never has a name. */
  function handedOver({ fs, records, quarantine }: Mailbox): readonly AgentRecord[] {
    const scan = new Journal<AgentRecord>({
      fs,
      ids: countingIds('q'),
      directory: records,
      quarantine,
      untrusted: 'quarantine',
      identity: identity(),
      decode: decodeAgentRecord,
    }).scan()
    assert.deepEqual(scan.quarantined, [])
    assert.equal(scan.problem, undefined)
    return scan.records
  }

  const numbersIn = ({ fs, records }: Mailbox): number[] =>
    (fs.list(records) ?? []).map((name) => parseRecordName(name)?.number ?? 0).sort((a, b) => a - b)

  /** The invariants 1 to 3: what was said holds, and everything may be said again. */
  async function judge(survivor: MemoryMailbox, told: readonly Told[]): Promise<void> {
    const before = handedOver(survivor)
    const ids = new Set(before.map(({ id }) => id))
    assert.equal(ids.size, before.length, 'a record is there twice')
    for (const record of before)
      assert.deepEqual(record, recordOf(record.id.replace(/0+$/, '')), 'half a record')
    const isThere = (id: string): boolean => ids.has(idOf(id))
    for (const id of ['a', 'b']) {
      const outcomes = told.filter((each) => each.id === id).map(({ outcome }) => outcome)
      if (outcomes.some((outcome) => outcome === 'admitted' || outcome === 'duplicate'))
        assert.ok(isThere(id), `${id} was ${outcomes} and is lost`)
      if (outcomes.length > 0 && outcomes.every((outcome) => outcome === 'refused'))
        assert.ok(!isThere(id), `${id} was refused and is there`)
    }
    const numbers = numbersIn(survivor)
    assert.equal(new Set(numbers).size, numbers.length, 'a number was given twice')

    const outbox = await open(survivor)
    for (const id of ['a', 'b']) {
      const { outcome } = await outbox.admit(recordOf(id))
      assert.equal(outcome, isThere(id) ? 'duplicate' : 'admitted')
    }
    assert.equal((await outbox.admit(result('c'))).outcome, 'admitted')
    const after = handedOver(survivor)
    assert.equal(after.length, 3)
    assert.deepEqual(after.slice(0, before.length), before, 'numbers fell')
    assert.equal(after.at(-1)?.id, idOf('c'))
    assert.deepEqual(survivor.fs.list(survivor.drafts), [])
  }

  it('one record: admitted is whole and there, refused left no trace, anything else is zero or one', async () => {
    const count = { points: 0, states: 0 }
    await everyPowerLoss(
      { script: async (mailbox, told: Told[]) => admit(await open(mailbox), 'a', told), judge },
      count,
    )
    console.log(`# power loss, one admission: ${count.points} points, ${count.states} states`)
  })

  it('two in flight: the same of both', async () => {
    const count = { points: 0, states: 0 }
    const script = async (mailbox: MemoryMailbox, told: Told[]): Promise<void> => {
      const outbox = await open(mailbox)
      const both = await Promise.allSettled(['a', 'b'].map((id) => admit(outbox, id, told)))
      for (const end of both) if (end.status === 'rejected') throw end.reason
    }
    await everyPowerLoss({ script, judge }, count)
    console.log(
      `# power loss, two admissions in flight: ${count.points} points, ${count.states} states`,
    )
  })

  it('a retry after a fault at any point: the same', async () => {
    const count = { points: 0, states: 0 }
    const outcomes = new Set<string>()
    const script = async (mailbox: MemoryMailbox, told: Told[]): Promise<void> => {
      const outbox = await open(mailbox)
      await admit(outbox, 'a', told)
      await admit(outbox, 'a', told)
      outcomes.add(told.map(({ outcome }) => outcome).join(', '))
    }
    const points = await operationsOf({ script, judge })
    for (let failAt = 1; failAt < points; failAt++)
      await everyPowerLoss({ script, judge, failAt }, count)
    assert.deepEqual(
      outcomes,
      new Set([
        'admitted, duplicate',
        'refused, admitted',
        'unknown, admitted',
        'unknown, duplicate',
      ]),
    )
    console.log(
      `# power loss, retries after ${points - 1} faults: ${count.points} points, ${count.states} states`,
    )
  })

  it('two in flight of which a fault strikes one, and both again: the same', async () => {
    const count = { points: 0, states: 0 }
    const script = async (mailbox: MemoryMailbox, told: Told[]): Promise<void> => {
      const outbox = await open(mailbox)
      for (let round = 0; round < 2; round++) {
        const both = await Promise.allSettled(['a', 'b'].map((id) => admit(outbox, id, told)))
        for (const end of both) if (end.status === 'rejected') throw end.reason
      }
    }
    const points = await operationsOf({ script, judge })
    for (let failAt = 1; failAt < points; failAt++)
      await everyPowerLoss({ script, judge, failAt }, count)
    console.log(
      `# power loss, two in flight and ${points - 1} faults: ${count.points} points, ${count.states} states`,
    )
  })
})

/** After a power cut every process of before is gone: it is another boot. */
const after = new Machine('after')
const survivorRuntime: Runtime = {
  process: processOf(3, { boot: 'after' }),
  nonce: runtimeOf(3).nonce,
}

describe('a lease and power loss', () => {
  const placeOf = (
    { fs, records, drafts }: Mailbox,
    machine: Machine,
    pid: number,
    prefix = `p${pid}x`,
  ): LeasePlace => ({
    fs,
    ids: countingIds(prefix),
    processes: machine.seenBy(pid),
    directory: records,
    drafts,
    subject: 'owner-session',
  })

  it('a number that was taken stays taken, and the next one is higher', async () => {
    const count = { points: 0, states: 0 }
    const take = async (mailbox: MemoryMailbox, told: number[]): Promise<void> => {
      const answer = await takeLease(placeOf(mailbox, new Machine(), 2), runtimeOf(2))
      assert.ok(answer.outcome === 'held')
      told.push(answer.number)
    }
    const script = async (mailbox: MemoryMailbox, told: number[]): Promise<void> => {
      await take(mailbox, told)
      await releaseLease(placeOf(mailbox, new Machine(), 2, 'rx'), runtimeOf(2))
      await takeLease(placeOf(mailbox, new Machine(), 2, 'sx'), runtimeOf(2))
    }
    const judge = async (survivor: MemoryMailbox, told: readonly number[]): Promise<void> => {
      const place = placeOf(survivor, after, 3, 'nextx')
      const highest = Math.max(0, ...told)
      const now = readLease(place)
      assert.ok(now !== 'unreadable')
      assert.ok(now.number >= highest, `${highest} was held, and ${now.number} is left`)
      const answer = await takeLease(place, survivorRuntime)
      assert.ok(answer.outcome === 'held' && answer.number > highest)
    }
    await everyPowerLoss({ script, judge }, count)
    const points = await operationsOf({ script: take, judge })
    for (let failAt = 0; failAt < points; failAt++) {
      const untilHeld = async (mailbox: MemoryMailbox, told: number[]): Promise<void> => {
        await take(mailbox, told).catch((error) => {
          if (isCrash(error)) throw error
        })
        if (told.length === 0) await take(mailbox, told)
      }
      await everyPowerLoss({ script: untilHeld, judge, failAt }, count)
    }
    console.log(`# power loss, lease: ${count.points} points, ${count.states} states`)
  })
})

describe('a claim and power loss', () => {
  const mine = claimFile('mine', runtimeOf(2))
  const old = claimFile('old', { process: processOf(9, { boot: 'before' }), nonce: idOf('old') })

  for (const [what, prepare] of [
    ['a free name', async () => {}],
    [
      'a stale claim',
      (mailbox: MemoryMailbox) => mailbox.fs.createSynced(claimPathIn(mailbox), encode(old)),
    ],
  ] as const)
    it(`on ${what}: claimed is there, and what is not can be claimed`, async () => {
      const count = { points: 0, states: 0 }
      const script = async (mailbox: MemoryMailbox, told: string[]): Promise<void> => {
        const place = claimPlaceOf(mailbox, new Machine(), 2, new Set())
        told.push((await claim(place, claimPathIn(mailbox), mine)).outcome)
      }
      const judge = async (survivor: MemoryMailbox, told: readonly string[]): Promise<void> => {
        const path = claimPathIn(survivor)
        const found = readClaim(survivor.fs, path)
        assert.notEqual(found, 'unreadable')
        if (told.length > 0) {
          assert.deepEqual(told, ['claimed'])
          assert.deepEqual(found, mine)
        }
        const isBuilt = told.length > 0 // a generation is built on a claim that was told
        const place = claimPlaceOf(survivor, after, 3, new Set(isBuilt ? [mine.generation] : []))
        const answer = await claim(place, path, claimFile('next', survivorRuntime))
        assert.equal(answer.outcome, isBuilt ? 'taken' : 'claimed')
      }
      await everyPowerLoss({ script, judge, prepare }, count)
      console.log(`# power loss, claim of ${what}: ${count.points} points, ${count.states} states`)
    })
})
