import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { limits, ownerPaths } from '../mailbox/index.ts'
import type { MemoryFs } from '../mailbox/testing/index.ts'
import { OperationError } from './index.ts'
import {
  AgentBench,
  assertNothingIsLeft,
  completes,
  dies,
  fails,
  hangs,
  type Lead,
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

describe('an agent whose mailbox cannot be trusted', () => {
  const whole = (text: string) => text
  for (const [how, what, spoil] of [
    ['is open to others', 'loose-file', whole],
    ['belongs to somebody else', 'foreign-file', whole],
    ['is a link', 'symlink', whole],
    ['is damaged', 'file', (text: string) => text.slice(0, 40)],
    ['names no owner', 'file', (text: string) => text.replace('"owner":"lead",', '')],
    [
      'names another owner',
      'file',
      (text: string) => text.replace('"owner":"lead"', '"owner":"x"'),
    ],
  ] as const)
    it(`because its generation.json ${how} is named, counts as unsettled, and is left alone`, async () => {
      const w = world()
      const first = await w.lead()
      await first.delegate(completes('secret', { workMs: 2_000 }))
      first.kill()
      const { paths, generation } = w.agent('scout').order
      const name = generation.identity.generation
      const sound = w.disk.read(paths.file, 100_000)
      assert.ok('bytes' in sound)
      const text = Buffer.from(sound.bytes).toString()
      assert.equal(spoil(text) === text, what !== 'file')
      w.disk.plant(paths.file, what, Buffer.from(spoil(text)))
      const second = await w.lead()
      await w.advance(120_000)
      assert.deepEqual(second.owner.unreadable, [name])
      assert.equal(second.owner.areAllAsking, false)
      const observer = await w.lead()
      assert.deepEqual([observer.owner.role, observer.owner.unreadable], ['observing', [name]])
      await observer.quit()
      assert.equal(second.owner.hasUnsettled, true)
      assert.deepEqual(await second.states(), {})
      assert.deepEqual((await refusal(w, second.owner.close('scout'))).category, 'target_not_found')
      assert.deepEqual([second.told, w.machine.signals], [[], []])
      assert.equal(w.disk.entry(paths.file), what === 'symlink' ? 'other' : 'file')
      assert.equal(w.ledger.count(name, 'close'), 0)
      assert.equal(w.ledger.count(name, 'result'), 1, 'it worked on')
      await second.quit()
      w.disk.plant(paths.file, 'file', sound.bytes)
      const third = await w.lead()
      await third.settled()
      assert.deepEqual([third.owner.unreadable, third.told], [[], ['scout']])
      assertNothingIsLeft(w)
    })

  it('keeps its owner from concluding, if that is an agent itself', async () => {
    const bench = await AgentBench.of()
    const { session } = bench.generation.identity
    const earlier = await bench.world.lead(session)
    await earlier.delegate(hangs())
    earlier.kill()
    const { paths } = bench.world.agent('scout').order
    const sound = bench.world.disk.read(paths.file, 100_000)
    assert.ok('bytes' in sound)
    bench.world.disk.plant(paths.file, 'loose-file', sound.bytes)
    const own = bench.world.leadIn(bench.process, session)
    await bench.world.run(own.open())
    await bench.open(own.owner)
    bench.host.end({ outcome: 'answered', text: 'all is done' })
    await bench.advance(120_000)
    assert.deepEqual(bench.kinds, ['ack'])
    assert.equal(bench.host.hasLeft, false)
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

  it('is shown as lost by the very next list, whatever hints got lost and whenever it is scanned', async () => {
    const lead = await world().lead()
    lead.process.fs.loseHints = true
    lead.runner.onChange = () => () => {}
    await lead.delegate(hangs())
    lead.world.agent('scout').process.end()
    assert.deepEqual(await lead.states(), { scout: 'lost' })
  })

  it('asks nothing any more: its question is neither told nor counted as one that waits', async () => {
    const lead = await world().lead()
    await lead.delegate(hangs())
    lead.host.begin()
    await asks(lead, 'which?')
    await lead.world.until(() => lead.owner.areAllAsking)
    lead.world.agent('scout').process.end()
    await lead.world.advance(0)
    assert.equal(lead.owner.areAllAsking, false)
    lead.host.end()
    await lead.world.advance(10_000)
    const told = lead.host.messages.flat()
    assert.deepEqual(
      told.map((report) => 'notice' in report && report.notice.condition),
      ['lost'],
    )
    const late = lead.owner.tell('scout', { kind: 'reply', text: 'that' })
    const { message, nextAction } = await refusal(lead.world, late)
    assert.match(`${message} ${nextAction}`, /process of scout is gone.* Close it/)
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

  it('is every agent of another boot, also where its pid and start time come again; a result of before is told once', async () => {
    const w = world()
    const first = await w.lead()
    first.host.begin()
    const { placement } = await first.delegate(hangs(), { label: 'idler' })
    await first.delegate(completes(), { label: 'finisher' })
    await first.delegate(hangs(), { label: 'asker' })
    const { managed } = w.agent('asker')
    assert.ok(managed)
    await w.run(managed.ask({ text: 'which?' }))
    await w.advance(2_000)
    assert.deepEqual(await first.states(), {
      asker: 'blocked',
      finisher: 'settling',
      idler: 'working',
    })
    w.machine.reboot()
    w.machine.spawn()
    const innocent = w.machine.spawn()
    assert.deepEqual({ ...innocent.identity, boot: first.process.identity.boot }, placement.process)
    const second = await w.lead()
    await w.until(() => second.told.length > 0)
    await w.until(async () => !('finisher' in (await second.states())))
    assert.deepEqual(await second.states(), { asker: 'lost', idler: 'lost' })
    for (const label of ['asker', 'idler'])
      assert.deepEqual((await second.close(label)).closed, [label])
    await w.advance(60_000)
    assert.deepEqual(second.told, ['finisher'])
    assert.ok(innocent.isAlive)
    assert.deepEqual(w.machine.signals, [])
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

/** The agent asks its owner, and the question is durable. */
async function asks({ world: w }: Lead, text: string): Promise<void> {
  const answer = await w.run(w.agent('scout').managed?.ask({ text }) ?? fail())
  assert.equal(answer.outcome, 'asked')
}

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
