import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { completes, hangs, type Lead, world } from './testing/index.ts'

/** The agent notes what it does. */
function notes(lead: Lead, label: string, line: string): void {
  const { activityFile } = lead.world.agent(label).order.paths
  const noted = JSON.stringify({ at: 1, lines: [line] })
  lead.world.machine.disk.plant(activityFile, 'file', Buffer.from(noted))
}

describe('agents as they were last seen', () => {
  it('are the same rows as those of a look, the agents of agents with them', async () => {
    const lead = await world().lead()
    await lead.delegate(hangs({ owns: [hangs()] }), { label: 'parent' })
    await lead.delegate(hangs(), { label: 'alone' })
    await lead.world.advance(5_000)
    const { rows, below } = await lead.world.run(lead.owner.lastSeen())
    assert.deepEqual(rows, await lead.rows())
    assert.deepEqual(below, await lead.world.run(lead.owner.below()))
    assert.deepEqual(
      [rows.map(({ agent }) => agent), below.map(({ row, parent }) => [row.agent, parent])],
      [['alone', 'parent'], [['scout', 'parent']]],
    )
  })

  it('are seen without a change: whoever answers each change by seeing them comes to rest', async () => {
    const lead = await world().lead()
    await lead.delegate(hangs())
    let seen = 0
    lead.owner.onChange(() => {
      seen += 1
      void lead.owner.lastSeen()
    })
    await lead.world.advance(4_000)
    const before = seen
    await lead.world.advance(60_000)
    assert.ok(
      seen - before <= 12,
      `${seen - before} changes in a minute; the owner looks round 12 times`,
    )
  })

  it('say what they do now, and that they say it anew is told at once', async () => {
    const lead = await world().lead()
    await lead.delegate(hangs())
    await lead.world.advance(1_000)
    let told = 0
    const end = lead.owner.onActivity(() => {
      told += 1
    })
    notes(lead, 'scout', 'says Hm.')
    await lead.world.advance(1)
    assert.ok(told > 0)
    const { rows } = await lead.owner.lastSeen()
    assert.deepEqual(rows[0]?.facts.activity?.lines, ['says Hm.'])
    end()
    const before = told
    notes(lead, 'scout', 'says Well.')
    await lead.world.advance(1)
    assert.equal(told, before)
  })

  it('are told of now and then in a window that only looks', async () => {
    const first = await world().lead()
    const second = await first.world.lead()
    let told = 0
    second.owner.onChange(() => {
      told += 1
    })
    await first.delegate(hangs())
    await first.world.advance(31_000)
    assert.ok(told > 0)
    assert.deepEqual(
      [second.owner.role, (await second.owner.lastSeen()).rows.map(({ agent }) => agent)],
      ['observing', ['scout']],
    )
  })

  it('are watched no more once they are settled', async () => {
    const lead = await world().lead()
    const { watch } = lead.process.fs
    let open = 0
    lead.process.fs.watch = (path, hint) => {
      const end = watch.call(lead.process.fs, path, hint)
      open += 1
      return () => {
        open -= 1
        end()
      }
    }
    await lead.delegate(completes('x', { workMs: 10_000 }))
    assert.ok(open >= 2)
    await lead.settled()
    await lead.world.advance(1_000)
    assert.equal(open, 0)
  })
})
