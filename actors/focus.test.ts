import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { focusAgent } from './focus.ts'
import type { AgentPlace, AgentRunner } from './ports.ts'
import type { AgentFacts, Row } from './row.ts'
import { hangs, world } from './testing/index.ts'

const pane = { workspace: 'w1', tab: 'w1-t1', pane: 'w1-p1', terminal: 't1', server: '/s' }

/** An agent as it was seen, and a runner that notes what it is asked to show. */
async function seen() {
  const lead = await world().lead()
  await lead.delegate(hangs())
  const [row] = await lead.rows()
  assert.ok(row !== undefined)
  const sent: AgentPlace[] = []
  const runner: AgentRunner = Object.assign(Object.create(lead.runner), {
    focus: async (place: AgentPlace) => {
      sent.push(place)
      return 'focused'
    },
  })
  const runners = new Map([[row.facts.generation.runner, runner]])
  const withFacts = (facts: Partial<AgentFacts>): Row => ({
    ...row,
    facts: { ...row.facts, pane, ...facts },
  })
  const identity = row.facts.generation.identity
  const withIdentity = (more: Partial<typeof identity>) =>
    withFacts({ generation: { ...row.facts.generation, identity: { ...identity, ...more } } })
  return { root: lead.world.root, runners, sent, withFacts, withIdentity }
}

describe('an agent that a person wants to see', () => {
  it('is shown where it is, as long as it is what was seen', async () => {
    const { root, runners, sent, withFacts } = await seen()
    const now = withFacts({ pane: { ...pane, tabLabel: 'renamed' } as AgentFacts['pane'] & object })
    assert.equal(await focusAgent({ root, runners }, [now], withFacts({})), 'focused')
    assert.equal(sent.length, 1)
  })

  it('is not shown, and nothing is sent, when anything of it has changed', async () => {
    const { root, runners, sent, withFacts, withIdentity } = await seen()
    for (const now of [
      [],
      [withIdentity({ label: 'scout-2' })],
      [withIdentity({ session: 'another' })],
      [withIdentity({ generation: '0'.repeat(26) })],
      [withFacts({ pane: { ...pane, pane: 'w1-p2' } })],
      [withFacts({ pane: { ...pane, workspace: 'w2' } })],
      [withFacts({ presence: 'lost' })],
    ])
      assert.equal(await focusAgent({ root, runners }, now, withFacts({})), 'changed')
    assert.deepEqual(sent, [])
  })

  it('without a pane is not to be shown this way', async () => {
    const { root, runners, sent, withFacts } = await seen()
    const { pane: _, ...facts } = withFacts({}).facts
    const row = { ...withFacts({}), facts }
    assert.equal(await focusAgent({ root, runners }, [row], row), 'unsupported')
    assert.deepEqual(sent, [])
  })
})
