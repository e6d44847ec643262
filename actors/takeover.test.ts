import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ownerPaths } from '../mailbox/index.ts'
import { deliveryIdentity, OperationError } from './index.ts'
import {
  abandonedStart,
  assertNothingIsLeft,
  completes,
  hangs,
  type Lead,
  refusal,
  world,
} from './testing/index.ts'

describe('an owner in its next life', () => {
  it('finds its agents at work, and is told what they come to', async () => {
    const w = world()
    const first = await w.lead()
    await first.delegate(completes('after all', { workMs: 30_000 }))
    first.kill()
    const second = await w.lead()
    await w.advance(0)
    assert.deepEqual(await second.states(), { scout: 'working' })
    await second.settled()
    assert.deepEqual(second.told, ['scout'])
    assertNothingIsLeft(w)
  })

  it('is told once what was concluded while nobody was there', async () => {
    const w = world()
    const first = await w.lead()
    await first.delegate(completes())
    first.kill()
    await w.advance(60_000)
    const second = await w.lead()
    await second.settled()
    assert.deepEqual(second.told, ['scout'])
    assertNothingIsLeft(w)
  })

  for (const fate of ['dies-before', 'dies-after'] as const)
    it(`was told once, although its life before ${fate} its message was in the history`, async () => {
      const w = world()
      const first = await w.lead()
      first.host.fates.push(fate)
      await first.delegate(completes())
      await w.until(() => !first.process.isAlive)
      const second = await w.lead()
      await second.settled()
      assert.deepEqual(second.told, ['scout'])
      assertNothingIsLeft(w)
    })

  it('tells a result once to a session that is reloaded twice while it waits', async () => {
    const lead = await world().lead()
    lead.host.begin()
    await lead.delegate(completes())
    for (let n = 0; n < 2; n++) {
      await lead.world.advance(5_000)
      await lead.reload()
    }
    lead.host.end()
    await lead.settled()
    assert.equal(lead.host.messages.length, 1)
    assert.deepEqual(lead.told, ['scout'])
    assert.equal(lead.host.listeners, 1)
    assertNothingIsLeft(lead.world)
  })

  for (const isThere of [true, false])
    it(`is told once where it is reloaded between a send and its notice, the message ${isThere ? 'in the file' : 'not'}`, async () => {
      const lead = await world().lead()
      lead.host.fates.push('by-hand')
      await lead.delegate(completes())
      await lead.world.until(() => lead.host.messages.length === 1)
      if (isThere) lead.host.session.append(lead.host.messages.flat().map(deliveryIdentity))
      await lead.reload()
      lead.host.end()
      await lead.settled()
      assert.equal(lead.host.messages.length, isThere ? 1 : 2)
      assert.deepEqual(lead.told, ['scout'])
      assertNothingIsLeft(lead.world)
    })

  it('goes on with a close that was ordered', async () => {
    const w = world()
    const first = await w.lead()
    await first.delegate(hangs({ isDeaf: true }))
    void first.owner.close('scout').catch(() => {})
    await w.advance(1_000)
    first.kill()
    const second = await w.lead()
    await second.settled()
    assertNothingIsLeft(w)
  })

  it('withdraws a start whose starter died before it said where the agent is', async () => {
    const w = await abandonedStart(hangs())
    const second = await w.lead()
    await second.settled()
    await w.until(() => w.livingAgents().length === 0, 1_000)
    assertNothingIsLeft(w)
  })

  it('keeps an agent that became ready although its starter died before it said where', async () => {
    const w = await abandonedStart(completes())
    await w.advance(500)
    const second = await w.lead()
    await second.settled()
    assert.deepEqual(second.told, ['scout'])
    assertNothingIsLeft(w)
  })

  it('takes up all its agents although the disk said no at first', async () => {
    for (let point = 0; point < 12; point++) {
      const w = world()
      const first = await w.lead()
      for (let n = 0; n < 3; n++) await first.delegate(completes('', { workMs: 60_000 }))
      first.kill()
      const second = await w.lead('lead')
      await w.run(second.owner.stop())
      const { fs } = second.process
      fs.failAt(fs.operations + point, 'EIO', 'once')
      try {
        await w.run(second.open())
      } catch {
        await w.run(second.open())
      }
      await second.settled()
      assert.equal(second.told.length, 3, `after a fault at ${point}`)
      assertNothingIsLeft(w)
      await second.quit()
    }
  })
})

describe('a second window', () => {
  it('shows the same agents and does nothing', async () => {
    const w = world()
    const [first, second] = [await w.lead(), await w.lead()]
    await first.delegate(hangs())
    assert.equal(second.owner.role, 'observing')
    assert.deepEqual(await second.states(), await first.states())
    assert.equal(second.owner.hasUnsettled, true)
    assert.equal(second.owner.areAllAsking, false)
    await assert.rejects(second.owner.close('scout'), refusedAs('agent_busy'))
    await assert.rejects(second.start(), refusedAs('agent_busy'))
    assert.deepEqual(await first.states(), { scout: 'working' })
  })

  it('leaves an untrusted file where it is, and the first one puts it away', async () => {
    const w = world()
    const [first, second] = [await w.lead(), await w.lead()]
    first.process.fs.loseHints = true
    const { generation } = await first.delegate(hangs())
    const { agent, quarantine } = w.agent('scout').order.paths
    w.disk.plant(`${agent}/00000009-result-${generation.identity.generation}.json`, 'symlink')
    const [row] = await second.rows()
    assert.match(row?.facts.diagnostic ?? '', /not-regular/)
    assert.deepEqual(w.disk.list(quarantine), [])
    await w.advance(10_000)
    assert.notDeepEqual(w.disk.list(quarantine), [])
    assert.deepEqual(first.told, [])
  })

  it('takes over once the first is proven dead, and is told what that was not', async () => {
    const w = world()
    const [first, second] = [await w.lead(), await w.lead()]
    await first.delegate(completes())
    first.host.begin()
    await w.advance(120_000)
    assert.equal(second.owner.role, 'observing')
    first.kill()
    await w.until(() => second.owner.role === 'acting', 31_000)
    await second.settled()
    assert.deepEqual(second.told, ['scout'])
    assertNothingIsLeft(w)
  })

  it('takes over what the first has let go of in good order', async () => {
    const w = world()
    const [first, second] = [await w.lead(), await w.lead()]
    await first.delegate(completes())
    await first.quit()
    await w.until(() => second.owner.role === 'acting', 31_000)
    await second.settled()
    assert.deepEqual(second.told, ['scout'])
  })

  it('is told nothing that the first was told', async () => {
    const w = world()
    const [first, second] = [await w.lead(), await w.lead()]
    first.host.fates.push('dies-after')
    await first.delegate(completes())
    await w.until(() => second.owner.role === 'acting', 40_000)
    await second.settled()
    assert.deepEqual(second.host.messages, [])
    assert.deepEqual(second.told, ['scout'])
  })

  it('settles what the first was told, wherever that was killed before it had settled it', async () => {
    let settledBefore = 0
    for (let operations = 0; settledBefore === 0; operations++) {
      assert.ok(operations < 100, 'the first never comes to its end')
      const w = world()
      const [first, second] = [await w.lead(), await w.lead()]
      await first.delegate(completes())
      await w.until(() => first.told.length === 1)
      first.process.crashAfterOperations(operations)
      await w.until(() => !first.process.isAlive || !first.owner.hasUnsettled)
      if (first.process.isAlive) settledBefore++
      first.kill()
      await w.until(() => second.owner.role === 'acting', 31_000)
      await second.settled()
      assert.deepEqual(second.host.messages, [], `at ${operations}`)
      assert.deepEqual(second.told, ['scout'], `at ${operations}`)
      assertNothingIsLeft(w, `at ${operations}`)
      await second.quit()
    }
  })

  it('takes over everything in the end wherever the disk says no at first', async () => {
    for (let point = 0; point < 25; point++) {
      const w = world()
      const [first, second] = [await w.lead(), await w.lead()]
      for (let n = 0; n < 3; n++) await first.delegate(completes('x', { workMs: 90_000 }))
      first.kill()
      const { fs } = second.process
      fs.failAt(fs.operations + point, 'EIO', 'once')
      await w.until(() => second.told.length === 3)
      await second.settled()
      assertNothingIsLeft(w)
      await second.quit()
    }
  })

  it('that is closed while it takes over neither acts nor keeps the lease', async () => {
    for (let operations = 0; operations < 20; operations++) {
      const w = world()
      const [first, second] = [await w.lead(), await w.lead()]
      await first.delegate(hangs())
      first.kill()
      const { fs, clock } = second.process
      const end = fs.operations + operations
      let stopped: Promise<void> | undefined
      const sync = fs.syncDirectory.bind(fs)
      const create = fs.createSynced.bind(fs)
      const stopAtEnd = () => {
        if (fs.operations >= end) stopped ??= second.owner.stop()
      }
      fs.syncDirectory = (path) => sync(path).finally(stopAtEnd)
      fs.createSynced = (path, bytes) => create(path, bytes).finally(stopAtEnd)
      await w.advance(31_000)
      await w.run(stopped ?? second.owner.stop())
      await w.advance(0)
      assert.equal(second.owner.role, 'stopped')
      assert.deepEqual([clock.pending, second.process.watches], [0, 0], `at ${operations}`)
      assert.equal((await w.lead()).owner.role, 'acting', `at ${operations}`)
    }
  })
})

describe('a window that may not act', () => {
  it('because another one does says so, and what to do', async () => {
    const w = world()
    await w.lead()
    const second = await w.lead()
    await assertMayNotAct(second, /^Another window has this session open/, /^Use the other window/)
  })

  it('because nobody can read who acts says so, names the place, and acts once that is mended', async () => {
    const w = world()
    const first = await w.lead()
    await first.delegate(hangs())
    first.kill()
    const { lease } = ownerPaths(w.root, 'lead')
    const [name] = w.disk.list(lease) ?? []
    assert.ok(name)
    const whole = w.disk.read(`${lease}/${name}`, 100_000)
    assert.ok('bytes' in whole)
    w.disk.plant(`${lease}/${name}`, 'loose-file', whole.bytes)
    const second = await w.lead()
    const message = new RegExp(`^Who acts for this session cannot be read: a file in ${lease} `)
    await assertMayNotAct(second, message, /^Set its mode to 600, or remove it/)
    w.disk.plant(`${lease}/${name}`, 'file', whole.bytes)
    await w.until(() => second.owner.role === 'acting', 31_000)
    assert.deepEqual(await second.states(), { scout: 'working' })
  })

  it('because it is being closed says so', async () => {
    const w = world()
    const lead = await w.lead()
    await lead.delegate(hangs())
    await w.run(lead.owner.stop())
    await assertMayNotAct(lead, /^This session is being closed/, /^Open it again/)
  })
})

async function assertMayNotAct(lead: Lead, message: RegExp, nextAction: RegExp): Promise<void> {
  const { owner, world: w } = lead
  for (const refused of [
    () => lead.start(),
    () => owner.close('scout'),
    () => owner.inspect('scout'),
    () => owner.tell('scout', { kind: 'steer', text: 'faster' }),
  ]) {
    const failure = await refusal(w, refused())
    assert.equal(failure.category, 'agent_busy')
    assert.match(failure.message, message)
    assert.match(failure.nextAction, nextAction)
  }
  assert.deepEqual(w.machine.signals, [])
}

function refusedAs(category: string) {
  return (error: unknown) => error instanceof OperationError && error.failure.category === category
}
