import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { hangs, world } from '../../actors/testing/index.ts'
import { limits } from '../../mailbox/index.ts'
import { listedAgent } from './rows.ts'

describe('an agent in a list', () => {
  it('has its question as long as it can be answered, and none once its process is gone', async () => {
    const lead = await world().lead()
    await lead.delegate(hangs())
    const { managed, process } = lead.world.agent('scout')
    assert.ok(managed)
    const listed = async () => (await lead.rows()).map((row) => listedAgent(row, 0))
    assert.ok((await listed()).every((agent) => !('question' in agent)))
    await lead.world.run(managed.ask({ text: 'which?' }))
    const [asking] = await listed()
    assert.deepEqual([asking?.['state'], asking?.['question']], ['blocked', 'which?'])
    assert.deepEqual(asking?.['available_actions'], ['reply', 'inspect', 'close'])
    process.end()
    const [lost] = await listed()
    assert.deepEqual([lost?.['state'], lost?.['available_actions']], ['lost', ['close']])
    assert.ok(lost && !('question' in lost) && !('ask_id' in lost))
  })

  it('is stale when it works and was silent too long, and that decides nothing', async () => {
    const lead = await world().lead()
    await lead.delegate(hangs())
    const [row] = await lead.rows()
    assert.ok(row)
    const silentSince = { ...row, facts: { ...row.facts, activity: { at: 1_000, lines: [] } } }
    for (const [afterMs, stale] of [
      [limits.staleMs - 1, false],
      [limits.staleMs, true],
    ] as const) {
      const listed = listedAgent(silentSince, 1_000 + afterMs)
      assert.deepEqual([listed['inactive_ms'], listed['stale']], [afterMs, stale])
      assert.deepEqual(listed['available_actions'], ['steer', 'inspect', 'close'])
    }
  })
})
