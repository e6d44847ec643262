import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type AgentRecord, limits, type OwnerRecord } from '../mailbox/index.ts'
import { fold } from './assignment.ts'
import type { Presence } from './index.ts'
import { type AgentFacts, mayDo, type PublicState, row } from './row.ts'
import {
  aClose,
  aClosed,
  aFailure,
  aGeneration,
  anAck,
  anAsk,
  aRejection,
  aResult,
  aSteer,
  aTask,
} from './testing/index.ts'

const actions = ['steer', 'reply', 'inspect', 'close'] as const

type Situation = readonly [string, readonly OwnerRecord[], readonly AgentRecord[]]

/** Every phase, and what else is told apart. */
const situations: readonly Situation[] = [
  ['offered', [aTask()], []],
  ['rejected', [aTask()], [aRejection('task')]],
  ['active', [aTask()], [anAck('task')]],
  ['active with a steer', [aTask(), aSteer('left')], [anAck('task')]],
  ['asking', [aTask()], [anAck('task'), anAsk('which?')]],
  ['asking with a steer', [aTask(), aSteer('left')], [anAck('task'), anAsk('which?')]],
  ['completed', [aTask()], [anAck('task'), aResult()]],
  ['failed', [aTask()], [anAck('task'), aFailure()]],
  ['closing', [aTask(), aClose()], [anAck('task')]],
  ['answering a close', [aTask(), aClose()], [anAck('task'), anAck('close')]],
  ['closed', [aTask(), aClose()], [anAck('task'), anAck('close'), aClosed()]],
  ['completed beside a close', [aTask(), aClose()], [anAck('task'), aResult()]],
]

/** What a live agent shows in each of them, its result being told or not. */
const whileLive: Record<string, PublicState> = {
  offered: 'settling',
  rejected: 'settling',
  active: 'working',
  'active with a steer': 'settling',
  asking: 'blocked',
  'asking with a steer': 'settling',
  completed: 'settling',
  failed: 'settling',
  closing: 'settling',
  'answering a close': 'settling',
  closed: 'settling',
  'completed beside a close': 'settling',
}

const concluded = new Set(['completed', 'failed', 'completed beside a close'])

describe('a row', () => {
  for (const [situation, owner, agent] of situations)
    for (const presence of ['live', 'lost', 'unknown'] as const)
      for (const delivered of [false, true]) {
        const facts = factsOf(owner, agent, presence, delivered)
        const state = expected(situation, presence, delivered)
        const told = delivered ? 'told' : 'not told'
        it(`is ${state}: ${situation}, ${presence}, ${told}`, () =>
          assert.equal(row(facts).state, state))
        it(`offers what is accepted: ${situation}, ${presence}, ${told}`, () => {
          const mayBeClosed = mayDo('close', facts) === true
          assert.equal(row(facts).actions.includes('close'), mayBeClosed)
          for (const action of actions)
            assert.equal(row(facts).actions.includes(action), mayDo(action, facts) === true)
          const isWaiting = concluded.has(situation) && !delivered
          assert.equal(mayBeClosed, !isWaiting && presence !== 'unknown')
        })
      }

  it('is starting as long as its task is not answered and its process not lost', () => {
    const starting = situations.flatMap(([situation, owner, agent]) =>
      (['live', 'lost', 'unknown'] as const).flatMap((presence) =>
        row(factsOf(owner, agent, presence, false)).starting ? [[situation, presence]] : [],
      ),
    )
    assert.deepEqual(starting, [
      ['offered', 'live'],
      ['offered', 'unknown'],
    ])
  })

  it('has the label for its name', () =>
    assert.equal(row(factsOf([], [], 'live', false)).agent, 'a'))
})

describe('a refusal', () => {
  const steers = Array.from({ length: limits.unacknowledgedSteersMax }, (_, n) => aSteer(`s${n}`))
  const full: Situation = [
    'active with all the steers it takes',
    [aTask(), ...steers],
    [anAck('task')],
  ]
  for (const [situation, owner, agent] of [...situations, full])
    it(`says what can be done instead, and that can be done: ${situation}`, () => {
      let refusals = 0
      for (const presence of ['live', 'lost', 'unknown'] as const)
        for (const delivered of [false, true])
          for (const action of actions) {
            const facts = factsOf(owner, agent, presence, delivered)
            const refusal = mayDo(action, facts)
            if (refusal === true) continue
            refusals++
            const when = `${action}, ${presence}, ${delivered ? 'told' : 'not told'}`
            assert.match(refusal.why, /\ba\b/, when)
            assert.match(refusal.next, /^[A-Z].*\.$/, when)
            const named = actions.filter((each) =>
              new RegExp(`\\b${each}\\b`, 'i').test(refusal.next),
            )
            assert.ok(!named.includes(action), `${when}: ${refusal.next}`)
            for (const each of named) assert.equal(mayDo(each, facts), true, `${when}: ${each}`)
          }
      assert.ok(refusals > 0)
    })
})

describe('a refusal to close', () => {
  for (const [what, facts, category] of [
    ['an undelivered result', factsOf([aTask()], [aResult()], 'lost', false), 'agent_busy'],
    ['an unknown process', factsOf([aTask()], [], 'unknown', false), 'target_ambiguous'],
  ] as const)
    it(`for ${what} names the agent, why, and what to do`, () => {
      const refusal = mayDo('close', facts)
      assert.ok(refusal !== true)
      assert.equal(refusal.category, category)
      assert.match(refusal.why, /\ba\b/)
      assert.notEqual(refusal.next, '')
    })
})

/** The precedence of the semantic contract, first match wins. */
function expected(situation: string, presence: Presence, delivered: boolean): PublicState {
  if (concluded.has(situation) && !delivered) return 'settling'
  if (presence !== 'live') return presence
  return whileLive[situation] ?? 'unknown'
}

function factsOf(
  owner: readonly OwnerRecord[],
  agent: readonly AgentRecord[],
  presence: Presence,
  delivered: boolean,
): AgentFacts {
  return { generation: aGeneration('a'), assignment: fold(owner, agent), presence, delivered }
}
