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

  it('says what it waits for, and what it cannot write down', async () => {
    const lead = await world().lead()
    await lead.delegate(hangs())
    const [row] = await lead.rows()
    assert.ok(row)
    const cause = 'EIO: i/o error'
    const resultError = { status: 'completed', attempts: 16, cause, since: 1_000 } as const
    const activity = { at: 2_000, lines: [], waiting: 'agents', resultError } as const
    const listed = listedAgent({ ...row, facts: { ...row.facts, activity } }, 3_000)
    assert.equal(listed['waiting_for'], 'agents')
    const { next, ...shown } = listed['result_error'] as Record<string, unknown>
    assert.deepEqual(shown, {
      status: 'completed',
      attempts: 16,
      cause,
      since: '1970-01-01T00:00:01.000Z',
    })
    assert.match(String(next), /close discards it/)
  })

  it('is listed although it says that it did something after the end of time', async () => {
    const lead = await world().lead()
    await lead.delegate(hangs())
    const { machine } = lead.world
    const { activityFile } = lead.world.agent('scout').order.paths
    const noted = JSON.stringify({ at: 9_000_000_000_000_000, lines: [] })
    machine.disk.plant(activityFile, 'file', Buffer.from(noted))
    const [row] = await lead.rows()
    assert.ok(row)
    assert.ok(!('last_activity_at' in listedAgent(row, 0)))
  })
})
