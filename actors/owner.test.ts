import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { OperationError } from './index.ts'
import {
  completes,
  dies,
  fails,
  hangs,
  longText,
  neverReady,
  type World,
  world,
} from './testing/index.ts'

describe('an owner', () => {
  it('is told a result, and nothing of its agent is left', async () => {
    const lead = await world().lead()
    await lead.delegate(completes('found it'))
    await lead.settled()
    assert.deepEqual(lead.told, ['scout'])
    const [report] = lead.host.messages.flat()
    assert.equal(report?.conclusion.kind === 'result' && report.conclusion.text, 'found it')
    assertNothingIsLeft(lead.world)
  })

  it('is told a failure in the same way', async () => {
    const lead = await world().lead()
    await lead.delegate(fails('no such model'))
    await lead.settled()
    const [report] = lead.host.messages.flat()
    assert.equal(
      report?.conclusion.kind === 'failure' && report.conclusion.message,
      'no such model',
    )
    assertNothingIsLeft(lead.world)
  })

  it('is told of a long result its head, and the file with the whole outlives the agent', async () => {
    const lead = await world().lead()
    await lead.delegate(completes(longText()))
    await lead.settled()
    const [report] = lead.host.messages.flat()
    assert.ok(report?.conclusion.kind === 'result' && report.conclusion.whole !== undefined)
    const { file, bytes } = report.conclusion.whole
    const kept = lead.world.disk.read(file, 1_000_000)
    assert.ok('bytes' in kept)
    assert.equal(kept.bytes.length, bytes)
    assert.equal(Buffer.from(kept.bytes).toString(), longText())
    assert.ok(longText().startsWith(report.conclusion.text))
  })

  it('is told each of many results once, those that waited together in one message', async () => {
    const lead = await world().lead('lead', { startsAtOnce: 8 })
    const starts = Array.from({ length: 8 }, () => lead.start(completes()))
    await lead.world.run(Promise.all(starts))
    lead.host.begin()
    await lead.world.advance(20_000)
    lead.host.end()
    await lead.settled()
    assert.equal(lead.host.messages.length, 1)
    assert.equal(new Set(lead.told).size, 8)
    assertNothingIsLeft(lead.world)
  })

  it('is told the result of an agent that died right after writing it', async () => {
    const lead = await world().lead()
    await lead.delegate(dies('after-result'))
    await lead.settled()
    assert.deepEqual(lead.told, ['scout'])
    assertNothingIsLeft(lead.world)
  })

  it('is told a result among thousands of questions', async () => {
    const lead = await world().lead()
    await lead.delegate(completes('deep', { floods: 2_000, workMs: 10_000 }))
    await lead.settled()
    assert.deepEqual(lead.told, ['scout'])
    assertNothingIsLeft(lead.world)
  })

  it('finds everything by looking where all hints get lost', async () => {
    const lead = await world().lead()
    lead.process.fs.loseHints = true
    lead.runner.onChange = () => () => {}
    await lead.delegate(completes())
    await lead.settled(20_000)
    assert.deepEqual(lead.told, ['scout'])
  })

  it('finds everything where nothing can be watched', async () => {
    const lead = await world().lead()
    lead.process.fs.watch = () => {
      throw new Error('EMFILE')
    }
    await lead.delegate(completes())
    await lead.settled(20_000)
    assert.deepEqual(lead.told, ['scout'])
  })

  it('ends the process of an agent that does not leave after its result', async () => {
    const lead = await world().lead()
    const { placement } = await lead.delegate(completes('stuck', { ignoresTerm: true }))
    const { host } = lead.world.agent('scout')
    host.leave = () => {}
    await lead.settled()
    assert.deepEqual(lead.told, ['scout'])
    assert.equal(lead.world.machine.presence(placement.process ?? fail()), 'gone')
    assert.deepEqual(
      lead.world.machine.signals.map(({ signal }) => signal),
      ['SIGTERM', 'SIGKILL'],
    )
  })

  it('settles an agent whole wherever the disk says no once', async () => {
    for (let point = 0; point < 40; point++) {
      const lead = await world().lead()
      await lead.delegate(completes())
      await lead.world.until(() => lead.told.length === 1)
      const { fs } = lead.process
      fs.failAt(fs.operations + point, 'EIO', 'once')
      await lead.settled()
      fs.heal()
      assert.deepEqual(lead.told, ['scout'])
      assertNothingIsLeft(lead.world, `after a fault at ${point}`)
    }
  })

  it('counts agents that start as unsettled', async () => {
    const lead = await world().lead()
    const started = lead.start(hangs())
    assert.equal(lead.owner.hasUnsettled, true)
    await lead.world.run(started)
    await lead.close('scout')
    assert.equal(lead.owner.hasUnsettled, false)
  })
})

describe('a lost agent', () => {
  it('is shown as lost within two scans, and can be closed', async () => {
    const lead = await world().lead()
    lead.process.fs.loseHints = true
    lead.runner.onChange = () => () => {}
    await lead.delegate(dies('mid-work', { commands: 2 }))
    await lead.world.until(() => !lead.world.agent('scout').process.isAlive)
    await lead.world.advance(10_000)
    assert.deepEqual(await lead.states(), { scout: 'lost' })
    assert.deepEqual(await lead.close('scout'), { closed: ['scout'], notClosed: [], kept: [] })
    assertNothingIsLeft(lead.world)
    assert.deepEqual(lead.told, [])
  })

  it('is shown as lost at once where the runner says that something changed', async () => {
    const lead = await world().lead()
    await lead.delegate(hangs())
    lead.world.agent('scout').process.end()
    await lead.world.advance(0)
    assert.deepEqual(await lead.states(), { scout: 'lost' })
  })

  it('stays lost when its pid belongs to another process, which nobody touches', async () => {
    const lead = await world().lead()
    const { placement } = await lead.delegate(hangs())
    const pid = placement.process?.pid ?? 0
    lead.world.agent('scout').process.end()
    const innocent = lead.world.machine.spawn({ pid })
    await lead.world.advance(10_000)
    assert.deepEqual(await lead.states(), { scout: 'lost' })
    await lead.close('scout')
    assert.ok(innocent.isAlive)
    assert.deepEqual(lead.world.machine.signals, [])
  })

  it('is every agent of another boot', async () => {
    const w = world()
    const first = await w.lead()
    await first.delegate(hangs())
    w.machine.reboot()
    const second = await w.lead()
    await w.advance(0)
    assert.deepEqual(await second.states(), { scout: 'lost' })
    await second.close('scout')
    assertNothingIsLeft(w)
  })

  it('is none whose process is on another machine: it is unknown, and nothing is done', async () => {
    const lead = await world().lead()
    await lead.delegate(hangs())
    lead.runner.observe = async () => 'unknown'
    await lead.world.advance(10_000)
    const [row] = await lead.rows()
    assert.deepEqual([row?.state, row?.actions], ['unknown', []])
    await assert.rejects(lead.close('scout'), refusedAs('target_ambiguous'))
    assert.deepEqual(await lead.states(), { scout: 'unknown' })
    assert.deepEqual(lead.world.machine.signals, [])
  })
})

describe('an owner that stops', () => {
  it('leaves its agents at work and holds no timer, watch or listener any more', async () => {
    const lead = await world().lead()
    await lead.delegate(hangs())
    await lead.delegate(hangs())
    await lead.world.run(lead.owner.stop())
    const { clock, watches } = lead.process
    assert.deepEqual([clock.pending, watches, lead.host.listeners], [0, 0, 0])
    assert.equal(lead.owner.role, 'stopped')
    assert.equal(lead.world.livingAgents().length, 2)
    await assert.rejects(lead.start(), refusedAs('agent_busy'))
  })

  it('holds nothing either when it stops in the middle of everything', async () => {
    for (const stopMs of [0, 1, 50, 101, 1_100, 1_115, 1_160, 3_000]) {
      const lead = await world().lead()
      const work = [
        lead.start(completes()),
        lead.start(hangs()).then(() => lead.owner.close('scout-2')),
        lead.start(neverReady()),
      ].map((promise) => promise.catch((error: unknown) => error))
      await lead.world.advance(stopMs)
      await lead.world.run(lead.owner.stop())
      await lead.world.run(Promise.all(work), 1_000)
      const { clock, watches } = lead.process
      assert.deepEqual([clock.pending, watches, lead.host.listeners], [0, 0, 0], `${stopMs}`)
    }
  })

  it('may be stopped twice', async () => {
    const lead = await world().lead()
    await lead.world.run(Promise.all([lead.owner.stop(), lead.owner.stop()]))
  })

  it('lets the next runtime of the same process go on at once', async () => {
    const lead = await world().lead()
    await lead.delegate(completes())
    await lead.reload()
    assert.equal(lead.owner.role, 'acting')
    await lead.settled()
    assert.deepEqual(lead.told, ['scout'])
    assertNothingIsLeft(lead.world)
  })
})

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
    const w = world()
    const first = await w.lead()
    const { start } = first.runner
    first.runner.start = async (order) => {
      const placement = await start.call(first.runner, order)
      first.kill()
      return placement
    }
    void first.start(hangs()).catch(() => {})
    await w.until(() => !first.process.isAlive)
    const second = await w.lead()
    await second.settled()
    await w.until(() => w.livingAgents().length === 0, 1_000)
    assertNothingIsLeft(w)
  })

  it('keeps an agent that became ready although its starter died before it said where', async () => {
    const w = world()
    const first = await w.lead()
    const { start } = first.runner
    first.runner.start = async (order) => {
      const placement = await start.call(first.runner, order)
      first.kill()
      return placement
    }
    void first.start(completes()).catch(() => {})
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

function refusedAs(category: string) {
  return (error: unknown) => error instanceof OperationError && error.failure.category === category
}

function fail(): never {
  throw new Error('no process')
}

function assertNothingIsLeft(of: World, when?: string): void {
  assert.deepEqual(of.remains(), [], when)
  assert.deepEqual(of.livingAgents(), [], when)
}
