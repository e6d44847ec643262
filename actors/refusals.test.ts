import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type AgentFacts, fold, type OperationError } from './index.ts'
import * as refusals from './refusals.ts'
import { mayDo } from './row.ts'
import { aGeneration } from './testing/index.ts'

const hindrances: Readonly<Record<refusals.Hindrance, true>> = {
  elsewhere: true,
  unreadable: true,
  failed: true,
  stopped: true,
}

const unseen: AgentFacts = {
  generation: aGeneration('orphan'),
  assignment: fold([], []),
  presence: 'unknown',
  delivered: false,
}
const notNow = mayDo('close', unseen)
assert.ok(notNow !== true)

/** Every way in which an owner says no by itself. */
const said: Readonly<Record<string, readonly OperationError[]>> = {
  mayNotAct: (Object.keys(hindrances) as refusals.Hindrance[]).map((hindrance) =>
    refusals.mayNotAct('close', hindrance, '/m/lease'),
  ),
  tooManyAgents: [refusals.tooManyAgents(16)],
  tooDeep: [refusals.tooDeep(2)],
  orphanStays: [
    refusals.orphanStays(unseen, notNow),
    refusals.orphanStays(unseen, 'Not all is closed. orphan: busy.'),
  ],
  noSuchAgent: [
    refusals.noSuchAgent('steer', 'scuot', []),
    refusals.noSuchAgent('steer', 'scuot', ['scout', 'reviewer']),
  ],
}

describe('an owner that says no', () => {
  it('is asked here for all its reasons', () => {
    const reasons = Object.entries(refusals).filter(([, value]) => typeof value === 'function')
    assert.deepEqual(Object.keys(said).sort(), reasons.map(([name]) => name).sort())
  })

  for (const [reason, errors] of Object.entries(said))
    it(`says what is wrong and what to do: ${reason}`, () => {
      for (const { failure } of errors) {
        assert.match(failure.message, /^\S.*[.]$/)
        assert.match(failure.nextAction, /^[A-Z].*[.]$/)
        assert.notEqual(failure.nextAction, failure.message)
      }
    })

  it('names the agents there are, and how one that has ended is taken up again', () => {
    const [none, some] = said['noSuchAgent'] ?? []
    assert.match(none?.failure.nextAction ?? '', /no agents now\. .* delegate with its session/)
    assert.match(some?.failure.nextAction ?? '', /scout, reviewer\. .* delegate with its session/)
  })
})
