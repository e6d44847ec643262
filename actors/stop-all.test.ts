import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  assertNothingIsLeft,
  completes,
  hangs,
  neverReady,
  refusal,
  world,
} from './testing/index.ts'

describe('a stop of all agents', () => {
  it('ends those at work and those below them, and keeps what nobody has read', async () => {
    const lead = await world().lead()
    lead.host.begin()
    await lead.delegate(completes('late', { workMs: 0 }))
    await lead.delegate(hangs({ owns: [hangs()] }))
    await lead.world.advance(2_000)
    const stopping = lead.owner.stopAll()
    lead.host.end()
    const { closed, notClosed, kept } = await lead.world.run(stopping)
    assert.deepEqual([closed.length, notClosed, kept.length], [3, [], 1])
    await lead.world.advance(60_000)
    assert.deepEqual(lead.host.messages, [], 'its session is told nothing of what was stopped')
    assertNothingIsLeft(lead.world)
  })

  it('takes back what is being started and what waits for its start', async () => {
    const lead = await world().lead('lead', { startsAtOnce: 1 })
    const first = refusal(lead.world, lead.start(neverReady()))
    const second = refusal(lead.world, lead.start(hangs()))
    await lead.world.advance(1_000)
    const report = await lead.world.run(lead.owner.stopAll())
    assert.deepEqual(report.notClosed, [])
    assert.match((await first).message, /the start was aborted/)
    assert.match((await second).message, /aborted before it began/)
    assert.deepEqual(await lead.states(), {})
    assertNothingIsLeft(lead.world)
  })

  it('ends what an earlier life of the session left half started', async () => {
    const first = await world().lead()
    void first.start(neverReady()).catch(() => {})
    await first.world.advance(1_000)
    first.kill()
    const lead = await first.world.lead()
    const { closed, notClosed } = await lead.world.run(lead.owner.stopAll())
    assert.deepEqual([closed, notClosed], [['scout'], []])
    assertNothingIsLeft(lead.world)
  })

  it('leaves a session that delegates and is told again', async () => {
    const lead = await world().lead()
    await lead.delegate(hangs())
    await lead.world.run(lead.owner.stopAll())
    await lead.delegate(completes('after'))
    await lead.settled()
    assert.deepEqual(lead.told, ['scout'])
  })

  it('is for the window that acts', async () => {
    const lead = await world().lead()
    await lead.delegate(hangs())
    const other = await lead.world.lead()
    assert.match((await refusal(lead.world, other.owner.stopAll())).message, /Another window/)
    assert.deepEqual(await lead.states(), { scout: 'working' })
  })
})
