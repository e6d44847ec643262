import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { hangs, type VirtualProcess, world } from '../actors/testing/index.ts'
import { sessionClaimPath } from '../mailbox/index.ts'
import { roleOf } from './role.ts'

/** A lead with one agent at work, and what a process is in a session of this machine. */
async function household() {
  const lead = await world().lead()
  await lead.delegate(hangs())
  const { world: w } = lead
  const { process: agent, order } = w.agent('scout')
  const { session } = order.generation.identity
  const roleIn = (of: string, { processes }: VirtualProcess = w.machine.spawn()) =>
    roleOf(w.disk, processes, w.root, of)
  const why = () => {
    const role = roleIn(session, agent)
    return role.role === 'bystander' ? role.why : role.role
  }
  return { lead, w, agent, order, session, roleIn, why }
}

describe('what a process is in a session', () => {
  it('is the agent in the process that took it up, and nobody in any other', async () => {
    const { session, agent, roleIn } = await household()
    assert.equal(roleIn(session, agent).role, 'managed')
    const other = roleIn(session)
    assert.match(
      other.role === 'bystander' ? other.why : '',
      /belongs to the agent scout\. .* close/,
    )
  })

  it('is a lead in a session of no agent, and in that of an agent that has come to its end', async () => {
    const { session, lead, roleIn } = await household()
    assert.equal(roleIn('of a person').role, 'lead')
    await lead.close('scout')
    assert.equal(roleIn(session).role, 'lead')
  })

  it('is nothing where that cannot be read: it is said what is wrong, where, and what to do', async () => {
    const { w, session, order, why } = await household()
    const claim = sessionClaimPath(w.root, session)
    const { file } = order.paths
    assert.equal(why(), 'managed')
    for (const path of [file, claim]) {
      w.disk.plant(path, 'loose-file', Buffer.from('{}'))
      const said = why()
      assert.ok(said.includes(path), said)
      assert.match(said, /cannot be read.*Set its mode to 600/)
    }
  })
})
