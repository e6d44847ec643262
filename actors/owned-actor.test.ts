import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ownerPaths, settleGeneration } from '../mailbox/index.ts'
import {
  assertNothingIsLeft,
  hangs,
  type Lead,
  neverReady,
  refusal,
  world,
} from './testing/index.ts'

describe('an agent that settles while its owner turns to it', () => {
  it('is named as closed by a close whose own look settled it', async () => {
    const lead = await leadOfOne()
    const { stop } = lead.runner
    lead.runner.stop = async () => ({ outcome: 'unproven', why: 'it cannot be seen from here' })
    const failure = await refusal(lead.world, lead.owner.close('scout'))
    assert.equal(failure.category, 'rollback_failure')
    lead.runner.stop = stop
    assert.deepEqual(await lead.close('scout'), { closed: ['scout'], notClosed: [], kept: [] })
    assertNothingIsLeft(lead.world)
  })

  for (const action of ['steer', 'inspect'] as const)
    it(`cannot be told to ${action} any more, in the same words wherever that is noticed`, async () => {
      const refused = async (lead: Lead, operation: Promise<unknown>) => {
        const { category, stage, message } = await refusal(lead.world, operation)
        assert.deepEqual(
          [category, stage, message],
          ['agent_busy', 'preconditions', 'scout has come to its end.'],
        )
        await lead.settled()
        await lead.world.until(() => lead.world.livingAgents().length === 0)
        assertNothingIsLeft(lead.world)
      }
      const inLook = await leadOfOne()
      await moveAway(inLook)
      await refused(inLook, turnTo(inLook, action))

      const before = await leadOfOne()
      const closing = before.owner.close('scout')
      await refused(before, turnTo(before, action))
      await closing
    })

  it('is not shown as it was when it settles while it is inspected', async () => {
    const lead = await leadOfOne()
    const { processes } = lead.runner
    lead.runner.processes = async (place) => {
      const found = await processes.call(lead.runner, place)
      await moveAway(lead)
      return found
    }
    const { message } = await refusal(lead.world, lead.owner.inspect('scout'))
    assert.equal(message, 'scout has come to its end.')
  })
})

describe('an agent whose actor is busy ending it', () => {
  it('is shown with what its actor could not trust before, and with what nobody trusts now', async () => {
    const lead = await leadOfOne({ isDeaf: true, ignoresTerm: true })
    const { agent } = lead.world.agent('scout').order.paths
    const untrusted = (name: string) =>
      lead.world.disk.createSynced(`${agent}/${name}`, Buffer.from('{'))
    const diagnostic = async () => (await lead.rows())[0]?.facts.diagnostic
    await untrusted('7-ask-x.json')
    const before = await diagnostic()
    assert.match(before ?? '', /^1 untrusted file\(s\), last: 7-ask-x\.json/)
    const closing = lead.owner.close('scout')
    assert.equal(await diagnostic(), before)
    assert.equal(await diagnostic(), before)
    await lead.world.until(() => lead.world.machine.signals.length > 0)
    await untrusted('8-ask-y.json')
    assert.match((await diagnostic()) ?? '', /7-ask-x\.json.*; 1 untrusted.* 8-ask-y\.json/)
    await lead.world.run(closing)
    assertNothingIsLeft(lead.world)
  })

  it('is seen alive where its owner put it, though that could not be recorded', async () => {
    const lead = await world().lead()
    const { fs } = lead.process
    const link = fs.link.bind(fs)
    fs.link = (from, to) => {
      if (to.includes('-placed-')) throw new Error('no room')
      return link(from, to)
    }
    const starting = lead.start(neverReady([], { ignoresTerm: true }))
    const failing = assert.rejects(starting, /did not start/)
    await lead.world.until(() => lead.world.machine.signals.length > 0)
    assert.deepEqual(await lead.states(), { scout: 'settling' })
    await lead.world.run(failing)
    assertNothingIsLeft(lead.world)
  })
})

/** A lead with one agent at work, who hears of nothing unless it looks. */
async function leadOfOne(twist: Parameters<typeof hangs>[0] = {}): Promise<Lead> {
  const lead = await world().lead()
  await lead.delegate(hangs(twist))
  lead.process.fs.loseHints = true
  return lead
}

function turnTo({ owner }: Lead, action: 'steer' | 'inspect'): Promise<unknown> {
  return action === 'steer'
    ? owner.tell('scout', { kind: 'steer', text: 'left' })
    : owner.inspect('scout')
}

/** Somebody else's hand settles the agent: it sees that itself and leaves. */
async function moveAway({ world: w, session }: Lead): Promise<void> {
  const { generation } = w.agent('scout').order.generation.identity
  await settleGeneration(w.disk, ownerPaths(w.root, session), generation)
}
