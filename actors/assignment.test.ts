import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { AgentRecord, OwnerRecord } from '../mailbox/index.ts'
import { type Assignment, fold, type Phase, type RequestOutcome } from './assignment.ts'
import {
  aClose,
  aClosed,
  aConsumed,
  aFailure,
  anAck,
  anAsk,
  aPlaced,
  aProcess,
  aRejection,
  aReply,
  aResult,
  aSteer,
  aTask,
  idOf,
  seed,
} from './testing/index.ts'

describe('an assignment', () => {
  type Case = readonly [string, readonly OwnerRecord[], readonly AgentRecord[], Phase]
  const phases: readonly Case[] = [
    ['nothing', [], [], 'offered'],
    ['a task', [aTask()], [], 'offered'],
    ['a task that was accepted', [aTask()], [anAck('task')], 'active'],
    ['a task that was rejected', [aTask()], [aRejection('task')], 'rejected'],
    ['a result', [aTask()], [anAck('task'), aResult()], 'concluded'],
    ['a failure', [aTask()], [anAck('task'), aFailure()], 'concluded'],
    ['a close of a task that was not answered', [aTask(), aClose()], [], 'closing'],
    ['a close of an active task', [aTask(), aClose()], [anAck('task')], 'closing'],
    ['a close of a rejected task', [aTask(), aClose()], [aRejection('task')], 'closing'],
    [
      'a close that was carried out',
      [aTask(), aClose()],
      [anAck('task'), anAck('close'), aClosed()],
      'closed',
    ],
    ['a result before a close', [aTask(), aClose()], [anAck('task'), aResult()], 'concluded'],
    [
      'a result after the answer to a close',
      [aTask(), aClose()],
      [anAck('task'), anAck('close'), aResult()],
      'concluded',
    ],
    ['a result beside a closed', [aTask(), aClose()], [aClosed(), aResult()], 'concluded'],
    ['an answer to a task nobody gave', [], [anAck('task')], 'offered'],
    ['an acceptance after the answer to a close', [aTask(), aClose()], late('task'), 'closing'],
    ['a close under an older lease', [aTask('work', 2), aClose('closed', 1)], [], 'offered'],
    ['a close under a newer lease', [aTask('work', 1), aClose('closed', 2)], [], 'closing'],
  ]
  for (const [what, owner, agent, phase] of phases)
    it(`is ${phase}: ${what}`, () => assert.equal(fold(owner, agent).phase, phase))

  it('has the first task, placement, close and conclusion of several', () => {
    const twice = [aTask('first'), { ...aTask('second'), id: idOf('second') }]
    const placed = [aPlaced(placement(1)), aPlaced(placement(2))]
    const assignment = fold([...twice, ...placed], [aResult('first'), aFailure('second')])
    assert.equal(assignment.task?.text, 'first')
    assert.equal(assignment.placement?.process?.pid, 1)
    assert.equal(assignment.conclusion?.kind, 'result')
  })

  it('says why its task was rejected', () => {
    assert.equal(fold([aTask()], [aRejection('task')]).rejection?.code, 'busy')
    const { reasons } = fold([aTask(), aSteer('left')], [anAck('task'), aRejection('left')])
    assert.deepEqual([...reasons], [[idOf('left'), 'not now']])
    assert.equal(fold([aTask()], [anAck('task')]).rejection, undefined)
  })
})

describe('a request', () => {
  type Case = readonly [string, readonly OwnerRecord[], readonly AgentRecord[], RequestOutcome]
  const accepted = [aTask(), aSteer('left')]
  const outcomes: readonly Case[] = [
    ['not answered', accepted, [anAck('task')], 'pending'],
    ['accepted', accepted, [anAck('task'), anAck('left')], 'accepted'],
    ['rejected', accepted, [anAck('task'), aRejection('left')], 'rejected'],
    ['not answered when a result exists', accepted, [anAck('task'), aResult()], 'too_late'],
    ['not answered when a failure exists', accepted, [anAck('task'), aFailure()], 'too_late'],
    ['answered before a result', accepted, [anAck('left'), aResult()], 'superseded'],
    ['shown to the model', accepted, [anAck('left'), aConsumed('left')], 'consumed'],
    ['shown, then a result', accepted, [anAck('left'), aConsumed('left'), aResult()], 'consumed'],
    [
      'accepted, then closed',
      [...accepted, aClose()],
      [anAck('left'), anAck('close')],
      'superseded',
    ],
    ['answered after a result', accepted, [aResult(), anAck('left')], 'too_late'],
    ['not answered when a close exists', [...accepted, aClose()], [anAck('task')], 'pending'],
    ['not answered when a close is', [...accepted, aClose()], [anAck('close')], 'too_late'],
    [
      'answered after the agent closed',
      [...accepted, aClose()],
      [aClosed(), anAck('left')],
      'too_late',
    ],
    ['answered before the close was', [...accepted, aClose()], [anAck('left')], 'accepted'],
    ['answered after the close was', [...accepted, aClose()], late('left'), 'too_late'],
    ['accepted, then rejected', accepted, [anAck('left'), aRejection('left')], 'accepted'],
    ['rejected, then accepted', accepted, [aRejection('left'), anAck('left')], 'rejected'],
  ]
  for (const [what, owner, agent, outcome] of outcomes)
    it(`is ${outcome}: ${what}`, () =>
      assert.equal(fold(owner, agent).requests.get(idOf('left')), outcome))

  it('to close stays pending until it is answered, and is never too late', () => {
    const id = idOf('close')
    assert.equal(fold([aTask(), aClose()], []).requests.get(id), 'pending')
    assert.equal(fold([aTask(), aClose()], [anAck('close')]).requests.get(id), 'accepted')
    assert.equal(fold([aTask(), aClose()], [aResult()]).requests.get(id), 'pending')
  })

  it('under an older lease than one before it is no request', () => {
    const { requests } = fold([aTask('work', 2), aSteer('left', 1), aSteer('right', 3)], [])
    assert.deepEqual([...requests.keys()], [idOf('task'), idOf('right')])
  })

  it('is no placement', () => {
    assert.equal(fold([aPlaced(placement(1))], []).requests.size, 0)
  })
})

describe('a question', () => {
  it('waits until its reply was accepted', () => {
    const asked = [anAck('task'), anAsk('which?')]
    const replied = [aTask(), aReply('this', 'which?')]
    assert.equal(fold([aTask()], asked).ask?.text, 'which?')
    assert.equal(fold(replied, asked).ask?.text, 'which?')
    assert.equal(fold(replied, [...asked, anAck('this')]).ask, undefined)
    assert.equal(fold(replied, [...asked, aRejection('this')]).ask?.text, 'which?')
  })

  it('waits no more when the assignment is at its end', () => {
    const asked = [anAck('task'), anAsk('which?')]
    assert.equal(fold([aTask()], [...asked, aResult()]).ask, undefined)
    assert.equal(fold([aTask(), aClose()], asked).ask, undefined)
  })

  it('is the oldest that waits', () => {
    const asked = [anAck('task'), anAsk('which?'), anAsk('where?')]
    assert.equal(fold([aTask()], asked).ask?.text, 'which?')
    const replied = [aTask(), aReply('this', 'which?')]
    assert.equal(fold(replied, [...asked, anAck('this')]).ask?.text, 'where?')
  })
})

describe('whatever the two writers write, and however much of it was read', () => {
  const lease = fc.constantFrom(1, 1, 2, 3)
  const steers = ['left', 'right']
  const ownerRecord: fc.Arbitrary<OwnerRecord> = fc.oneof(
    lease.map((n) => aTask('work', n)),
    lease.map((n) => aPlaced(placement(n), n)),
    fc.tuple(fc.constantFrom(...steers), lease).map(([name, n]) => aSteer(name, n)),
    lease.map((n) => aReply('this', 'which?', n)),
    lease.map((n) => aClose('closed', n)),
  )
  const asked = fc.constantFrom('task', 'close', 'this', ...steers)
  const agentRecord: fc.Arbitrary<AgentRecord> = fc.oneof(
    asked.map(anAck),
    asked.map(aRejection),
    fc.constantFrom(anAsk('which?'), aResult(), aFailure(), aClosed()),
  )
  /** Two lists, and for each how much of it was read first. */
  const reading = fc
    .tuple(
      fc.array(ownerRecord, { maxLength: 10 }),
      fc.array(agentRecord, { maxLength: 10 }),
      fc.nat(10),
      fc.nat(10),
    )
    .map(([owner, agent, ownerRead, agentRead]) => ({
      earlier: fold(owner.slice(0, ownerRead), agent.slice(0, agentRead)),
      later: fold(owner, agent),
      ownerReadFirst: fold(owner, agent.slice(0, agentRead)),
    }))
  const always = (
    holds: (read: {
      readonly earlier: Assignment
      readonly later: Assignment
      readonly ownerReadFirst: Assignment
    }) => void,
  ) => fc.assert(fc.property(reading, holds), { numRuns: 3_000, seed: seed() })

  it('a conclusion, a task, a placement and a close never change', () =>
    always(({ earlier, later }) => {
      for (const fact of ['conclusion', 'task', 'placement', 'close', 'closed'] as const)
        if (earlier[fact] !== undefined) assert.equal(later[fact], earlier[fact])
    }))

  it('the phase never goes back', () =>
    always(({ earlier, later }) => {
      assert.ok(rank[earlier.phase] <= rank[later.phase])
      if (rank[earlier.phase] === rank[later.phase]) assert.equal(later.phase, earlier.phase)
    }))

  it('a conclusion is all it takes to be concluded', () =>
    always(({ later }) =>
      assert.equal(later.phase === 'concluded', later.conclusion !== undefined),
    ))

  it('no request is forgotten', () =>
    always(({ earlier, later }) => {
      for (const id of earlier.requests.keys()) assert.ok(later.requests.has(id))
    }))

  const ends = ['consumed', 'superseded', 'too_late']
  it('an answer stays one, unless the end turns out to have come before it', () =>
    always(({ earlier, ownerReadFirst, later }) => {
      for (const [id, outcome] of earlier.requests)
        if (outcome !== 'pending')
          assert.ok([outcome, ...ends].includes(later.requests.get(id) ?? 'forgotten'))
      // With all the owner wrote, only what is not answered can still change.
      for (const [id, outcome] of ownerReadFirst.requests)
        if (outcome === 'accepted' || outcome === 'rejected')
          assert.ok([outcome, 'consumed', 'superseded'].includes(later.requests.get(id) ?? ''))
    }))

  it('the same records give the same assignment, read at once or one by one', () =>
    fc.assert(
      fc.property(
        fc.array(ownerRecord, { maxLength: 8 }),
        fc.array(agentRecord, { maxLength: 8 }),
        (owner, agent) => {
          const before = fold(owner, agent)
          assert.deepEqual(fold([...owner], [...agent]), before)
        },
      ),
      { seed: seed() },
    ))
})

const rank: Record<Phase, number> = {
  offered: 0,
  rejected: 1,
  active: 1,
  closing: 2,
  closed: 3,
  concluded: 4,
}

function placement(pid: number) {
  return { runner: 'fake', process: aProcess(pid) }
}

/** What an agent answered only after it had answered the close. */
function late(request: string): readonly AgentRecord[] {
  return [anAck('close'), anAck(request)]
}
