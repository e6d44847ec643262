import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import {
  type AgentProgram,
  completes,
  dies,
  hangs,
  type Lead,
  world,
} from '../actors/testing/index.ts'
import { leftBehind } from './left-behind.ts'

/** What a person is told who leaves a session of this id. */
async function toldOf(t: TestContext, lead: Lead, session: string = lead.session): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'drover-left-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const file = join(directory, 'session.jsonl')
  writeFileSync(file, `${JSON.stringify({ type: 'session', id: session, cwd: '/project' })}\n`)
  const told = await leftBehind(lead.ports(), file)
  return (told ?? 'nothing').replace(file, 'FILE')
}

const asks = async ({ managed }: AgentProgram) => managed?.ask({ text: 'which?' })

describe('a person who leaves a session', () => {
  it('is told what its agents do, each kind with its number, and how to hear of them', async (t) => {
    const lead = await world().lead('lead', { startsAtOnce: 8 })
    lead.host.begin()
    for (const fate of [hangs(), hangs(), completes(), dies('mid-work')]) await lead.delegate(fate)
    await lead.delegate(hangs(), { label: 'asker' })
    await lead.world.run(asks(lead.world.agent('asker')))
    await lead.world.advance(10_000)
    await lead.world.run(lead.owner.stop())
    assert.equal(
      await toldOf(t, lead),
      'Agents of the session you left: 2 work on, 1 waits for an answer, 1 has its result ready, 1 is lost. What they have to say comes when you open it again: FILE',
    )
  })

  it('is told that a parent works on which waits for its own agents, and asks nothing', async (t) => {
    const lead = await world().lead()
    await lead.delegate(completes('done', { workMs: 200, owns: [hangs()] }))
    await lead.world.advance(10_000)
    assert.deepEqual(await lead.states(), { scout: 'blocked' })
    await lead.world.run(lead.owner.stop())
    assert.match(await toldOf(t, lead), /: 1 works on\. /)
  })

  it('is told that an agent cannot be seen where nothing proves what it does', async (t) => {
    const lead = await world().lead()
    await lead.delegate(hangs())
    const { processes } = lead.process
    processes.presence = () => 'unknown'
    assert.match(await toldOf(t, lead), /: 1 cannot be seen from here\. /)
  })

  it('is told nothing where no agent is left, none ever was, or the session is an agent’s', async (t) => {
    const lead = await world().lead()
    await lead.delegate(completes())
    await lead.settled()
    assert.equal(await toldOf(t, lead), 'nothing')
    assert.equal(await toldOf(t, lead, 'another'), 'nothing')
    assert.equal(await leftBehind(lead.ports(), '/no/such/file'), undefined)

    const parent = await lead.delegate(hangs({ owns: [hangs()] }))
    await lead.world.until(() => lead.world.livingAgents().length === 2)
    assert.equal(await toldOf(t, lead, parent.generation.identity.session), 'nothing')
    assert.match(await toldOf(t, lead), /: 1 works on\. /)
  })
})
