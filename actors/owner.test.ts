import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { limits, ownerPaths } from '../mailbox/index.ts'
import type { MemoryFs } from '../mailbox/testing/index.ts'
import { OperationError } from './index.ts'
import {
  asks,
  assertNothingIsLeft,
  completes,
  dies,
  fails,
  hangs,
  longText,
  type Machine,
  neverReady,
  refusal,
  resultsIn,
  world,
} from './testing/index.ts'

describe('an owner', () => {
  it('is told a result, and nothing of its agent is left', async () => {
    const lead = await world().lead()
    await lead.delegate(completes('found it'))
    await lead.settled()
    assert.deepEqual(lead.told, ['scout'])
    const [report] = resultsIn(lead.host.messages.flat())
    assert.equal(report?.conclusion.kind === 'result' && report.conclusion.text, 'found it')
    assertNothingIsLeft(lead.world)
  })

  it('is told a failure in the same way', async () => {
    const lead = await world().lead()
    await lead.delegate(fails('no such model'))
    await lead.settled()
    const [report] = resultsIn(lead.host.messages.flat())
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
    const [report] = resultsIn(lead.host.messages.flat())
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
    assert.deepEqual(lead.world.livingAgents(), [])
    assert.equal((await lead.rows()).length, 8, 'nothing is cleared away before it is told')
    lead.host.end()
    await lead.settled()
    assert.equal(lead.host.messages.length, 1)
    assert.equal(new Set(lead.told).size, 8)
    assertNothingIsLeft(lead.world)
  })

  it('is told nothing of the agents of another session in the same directory', async () => {
    const w = world()
    const [one, other] = [await w.lead('one'), await w.lead('other')]
    const { generation } = await one.delegate(completes(), { cwd: '/project' })
    await w.advance(10_000)
    assert.equal(generation.identity.cwd, '/project')
    assert.deepEqual([one.told, other.told, other.host.messages], [['scout'], [], []])
    assertNothingIsLeft(w)
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

  for (const lasts of ['once', 'forever'] as const)
    it(`settles an agent whole wherever the disk says no ${lasts === 'once' ? 'once' : 'for a while'}`, async () => {
      for (let point = 0; point < 40; point++) {
        const lead = await world().lead()
        await lead.delegate(completes())
        await lead.world.until(() => lead.told.length === 1)
        const { fs } = lead.process
        fs.failAt(fs.operations + point, 'EIO', lasts)
        await lead.world.advance(12_000)
        fs.heal()
        await lead.settled()
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

describe('an owner that closes many at once', () => {
  it('says nothing on the error output of its process', async () => {
    const lead = await world().lead('lead', { liveAgentsMax: 40 })
    for (let count = 0; count < 20; count++) await lead.delegate(hangs({ isDeaf: true }))
    const warnings: string[] = []
    const hear = ({ name }: Error) => warnings.push(name)
    process.on('warning', hear)
    await lead.world.run(lead.owner.closeAll())
    await new Promise((resolve) => setImmediate(resolve)) // warnings come a turn later
    process.off('warning', hear)
    assert.deepEqual(warnings, [])
  })
})

describe('an owner with nothing to do', () => {
  it('waits with one timer after twenty agents as before the first, watches nothing and reads nothing', async () => {
    const w = world()
    const runnerListeners = countListeners(w.machine)
    const lead = await w.lead()
    const { fs, clock } = lead.process
    const holds = () => [
      clock.pending,
      lead.process.watches,
      lead.host.listeners,
      runnerListeners(),
    ]
    const before = holds()
    for (let n = 0; n < 20; n++) {
      await lead.delegate(completes())
      await lead.settled()
    }
    await w.advance(60_000)
    assert.equal(lead.told.length, 20)
    assert.deepEqual(holds(), before)
    assert.deepEqual(holds().slice(0, 2), [1, 0])
    const calls = countCalls(fs)
    await w.advance(limits.rescanMs - 1)
    assert.deepEqual(calls, [])
    assertNothingIsLeft(w)
  })

  it('has no directory left of an agent that owned agents', async () => {
    const w = world()
    const lead = await w.lead()
    await lead.delegate(completes('together', { owns: [completes(), fails()], workMs: 10_000 }))
    const { session } = w.agent('scout').order.generation.identity
    const { directory } = ownerPaths(w.root, session)
    assert.equal(w.disk.entry(directory), 'directory')
    await lead.settled()
    assert.equal(w.disk.entry(directory), undefined)
    assert.equal(w.session(session).entries.length, 2, 'it was told what its agents came to')
    assertNothingIsLeft(w)
  })
})

describe('an agent that asks', () => {
  it('is shown with its question by the very next list, whatever hints got lost', async () => {
    const lead = await world().lead()
    lead.process.fs.loseHints = true
    await lead.delegate(hangs())
    await asks(lead, 'which?')
    const [row] = await lead.rows()
    assert.deepEqual([row?.state, row?.facts.assignment.ask?.text], ['blocked', 'which?'])
  })

  it('wakes an idle owner, once, and is not told again when its question was answered', async () => {
    const lead = await world().lead()
    await lead.delegate(hangs())
    await asks(lead, 'which?')
    await lead.world.until(() => lead.host.session.entries.length === 1)
    await lead.world.run(lead.owner.tell('scout', { kind: 'reply', text: 'that' }))
    await lead.world.advance(20_000)
    assert.equal(lead.host.messages.length, 1)
    const again = lead.owner.tell('scout', { kind: 'reply', text: 'that' })
    assert.match((await refusal(lead.world, again)).message, /asks nothing now/)
  })
})

describe('an owner that is closed itself', () => {
  it('is told nothing any more, although it becomes idle before its agents are ended', async () => {
    const lead = await world().lead()
    lead.host.begin()
    await lead.delegate(completes('late', { workMs: 0 }))
    await lead.delegate(hangs({ isDeaf: true }))
    await lead.world.advance(1_000)
    const closing = lead.owner.closeAll()
    lead.host.end()
    const { closed, kept } = await lead.world.run(closing)
    assert.deepEqual([[...closed].sort(), kept.length], [['scout', 'scout-2'], 1])
    assert.deepEqual(lead.host.messages, [])
    assertNothingIsLeft(lead.world)
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

  it('holds nothing wherever in a start it stops, and says so in our words', async () => {
    for (let operations = 0; operations < 60; operations++) {
      const lead = await world().lead()
      const { fs, clock } = lead.process
      const end = fs.operations + operations
      let stopped: Promise<void> | undefined
      for (const method of ['syncDirectory', 'createSynced'] as const) {
        const call = fs[method].bind(fs) as (...args: readonly unknown[]) => Promise<void>
        const calling = (...args: readonly unknown[]) =>
          call(...args).finally(() => {
            if (fs.operations >= end) stopped ??= lead.owner.stop()
          })
        Object.assign(fs, { [method]: calling })
      }
      const outcome = await lead.world.run(lead.start(hangs()).catch((error: Error) => error))
      await lead.world.run(stopped ?? lead.owner.stop())
      await lead.world.advance(0)
      assert.deepEqual([clock.pending, lead.process.watches], [0, 0], `at ${operations}`)
      if (outcome instanceof Error) assert.ok(outcome instanceof OperationError, `${outcome}`)
    }
  })

  it('writes nothing for a start that waited for its turn', async () => {
    const lead = await world().lead('lead', { startsAtOnce: 1 })
    const first = lead.start(neverReady()).catch((error: unknown) => error)
    const second = lead.start(hangs(), { label: 'second' })
    const { fs } = lead.process
    const link = fs.link.bind(fs)
    fs.link = (from, to) => {
      assert.doesNotMatch(to, /second/)
      return link(from, to)
    }
    await lead.world.advance(50)
    const refused = assert.rejects(second, refusedAs('agent_busy'))
    await lead.world.run(lead.owner.stop())
    await lead.world.run(Promise.all([first, refused]))
    assert.equal(lead.world.agents.size, 1)
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

/** Counts who waits to be told that a process of this machine has ended. */
function countListeners(machine: Machine): () => number {
  const onEnd = machine.onEnd.bind(machine)
  let count = 0
  machine.onEnd = (listener) => {
    const end = onEnd(listener)
    count++
    return () => {
      count--
      end()
    }
  }
  return () => count
}

/** Notes every later call of this process to its file system. */
function countCalls(fs: MemoryFs): string[] {
  const calls: string[] = []
  for (const name of [
    'list',
    'entry',
    'read',
    'verifyDirectory',
    'watch',
    'link',
    'rename',
  ] as const) {
    const call = fs[name].bind(fs) as (...args: readonly unknown[]) => unknown
    const counted = (...args: readonly unknown[]) => {
      calls.push(`${name} ${args.join(' ')}`)
      return call(...args)
    }
    Object.assign(fs, { [name]: counted })
  }
  return calls
}

function refusedAs(category: string) {
  return (error: unknown) => error instanceof OperationError && error.failure.category === category
}

function fail(): never {
  throw new Error('it does not run')
}
