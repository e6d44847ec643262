import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  type AgentRecord,
  createGeneration,
  type GenerationFile,
  type GenerationPaths,
  generationPaths,
  limits,
  Outbox,
  type OwnerPaths,
  type OwnerRecord,
  ownerPaths,
  prepareOwner,
  prepareRoot,
  type Runtime,
  readReady,
  reserveAt,
  resultPath,
  settleGeneration,
  startRuntime,
} from '../mailbox/index.ts'
import { AgentMailbox } from './agent-mailbox.ts'
import { ManagedAgent, type OwnAgents } from './index.ts'
import {
  aClose,
  aGeneration,
  aSteer,
  aTask,
  FakeAgentHost,
  longText,
  type VirtualProcess,
  World,
} from './testing/index.ts'

/** One generation on disk, and the process that is to be its agent. */
class Bench {
  readonly world: World
  readonly process: VirtualProcess
  readonly host: FakeAgentHost
  readonly generation: GenerationFile = aGeneration('a')
  readonly owner: OwnerPaths
  readonly paths: GenerationPaths
  readonly runtime: Runtime

  private constructor(world: World = new World()) {
    this.world = world
    this.process = this.world.machine.spawn()
    this.host = new FakeAgentHost(this.process)
    this.owner = ownerPaths(this.world.root, 'lead')
    this.paths = generationPaths(this.owner.directory, this.generation.identity.generation)
    this.runtime = startRuntime(this.process.processes, this.world.machine.ids).runtime
  }

  static async of(...more: readonly OwnerRecord[]): Promise<Bench> {
    const bench = new Bench()
    const { disk, root } = bench.world
    prepareRoot(disk, root)
    prepareOwner(disk, bench.owner)
    await createGeneration(disk, bench.owner, bench.generation, aTask('dig'))
    for (const record of more) await bench.write(record)
    return bench
  }

  /** Another process that takes itself for the same agent. */
  twin(): Bench {
    return new Bench(this.world)
  }

  /** The disk says no from the moment on at which the agent writes such a record. */
  failFrom(kind: string, code: 'EIO' | 'ENOSPC'): void {
    const { fs } = this.process
    const createSynced = fs.createSynced.bind(fs)
    fs.createSynced = (path, bytes) => {
      const isIt = Buffer.from(bytes).includes(`"kind":"${kind}"`)
      if (isIt) fs.failAt(fs.operations, code, 'forever')
      if (isIt) fs.createSynced = createSynced
      return createSynced(path, bytes)
    }
  }

  /** The owner writes. */
  async write(record: OwnerRecord): Promise<void> {
    const { paths, world } = this
    const options = { fs: world.disk, directory: paths.owner, drafts: paths.ownerDrafts }
    const admission = await (await Outbox.open<OwnerRecord>(options)).admit(record)
    assert.equal(admission.outcome, 'admitted')
  }

  open(ownAgents?: OwnAgents): Promise<ManagedAgent | 'leave'> {
    const { process, world, paths, generation, host, runtime } = this
    return world.run(
      ManagedAgent.open({
        fs: process.fs,
        clock: process.clock,
        ids: world.machine.ids,
        root: world.root,
        reserve: reserveAt(process.fs, world.root.ballast),
        runtime,
        build: 'test',
        paths,
        generation,
        host,
        ...(ownAgents && { ownAgents }),
      }),
    )
  }

  /** All the agent wrote, as its owner reads it. */
  get records(): readonly AgentRecord[] {
    return this.mailbox.records.agent
  }

  get kinds(): readonly string[] {
    return this.records.map(({ kind }) => kind)
  }

  get mailbox(): AgentMailbox {
    const { disk, machine } = this.world
    const mailbox = new AgentMailbox(disk, machine.ids, this.paths, this.generation, 'leave')
    mailbox.look()
    assert.equal(mailbox.diagnostic, undefined)
    return mailbox
  }

  advance(durationMs: number): Promise<void> {
    return this.world.advance(durationMs)
  }
}

describe('a managed agent', () => {
  it('is ready before it accepts, accepts once, and works on the task', async () => {
    const bench = await Bench.of()
    await bench.open()
    await bench.advance(30_000)
    const ready = readReady(bench.world.disk, bench.paths)
    assert.ok(typeof ready === 'object')
    assert.deepEqual(ready.runtime, bench.runtime)
    assert.deepEqual(bench.kinds, ['ack'])
    assert.equal(bench.mailbox.assignment.phase, 'active')
    assert.deepEqual(bench.host.texts, ['dig'])
  })

  it('waits with its turn as long as the host is busy', async () => {
    const bench = await Bench.of()
    bench.host.block(true)
    await bench.open()
    await bench.advance(10_000)
    assert.deepEqual([bench.kinds, bench.host.texts], [['ack'], []])
    bench.host.block(false)
    await bench.advance(1_000)
    assert.deepEqual(bench.host.texts, ['dig'])
  })

  it('refuses requests it does not know, each once, and works on', async () => {
    const bench = await Bench.of()
    await bench.open()
    await bench.write(aSteer('left'))
    await bench.advance(20_000)
    const { requests, phase } = bench.mailbox.assignment
    assert.deepEqual([...requests.values()], ['accepted', 'rejected'])
    assert.equal(phase, 'active')
    assert.deepEqual(bench.kinds, ['ack', 'ack'])
  })

  it('finds a request by looking where hints get lost', async () => {
    const bench = await Bench.of()
    bench.process.fs.loseHints = true
    await bench.open()
    await bench.write(aClose())
    await bench.advance(limits.rescanMs)
    assert.equal(bench.mailbox.assignment.phase, 'closed')
  })

  it('holds no timer, watch or listener when it is stopped', async () => {
    const bench = await Bench.of()
    const agent = await bench.open()
    assert.ok(agent !== 'leave')
    await bench.advance(12_000)
    await bench.world.run(agent.stop())
    const { clock, watches } = bench.process
    assert.deepEqual([clock.pending, watches, bench.host.listeners], [0, 0, 0])
  })
})

describe('a managed agent leaves at once', () => {
  it('where its assignment was closed before it began', async () => {
    const bench = await Bench.of(aClose('withdrawn'))
    assert.equal(await bench.open(), 'leave')
    await bench.advance(10_000)
    assert.deepEqual(bench.kinds, [])
    assert.equal(readReady(bench.world.disk, bench.paths), 'absent')
    assert.deepEqual(bench.host.texts, [])
  })

  it('where another process is this agent', async () => {
    const bench = await Bench.of()
    await bench.open()
    const usurper = bench.twin()
    assert.equal(await usurper.open(), 'leave')
    await bench.advance(10_000)
    assert.deepEqual(usurper.host.texts, [])
    assert.deepEqual(bench.kinds, ['ack'])
  })

  it('where two processes are started at once for one agent: one of them', async () => {
    const bench = await Bench.of()
    const opened = await Promise.all([bench.open(), bench.twin().open()])
    assert.equal(opened.filter((each) => each === 'leave').length, 1)
    await bench.advance(10_000)
    assert.deepEqual(bench.kinds, ['ack'])
  })

  it('where its generation is settled, before or while it works', async () => {
    const settled = await Bench.of()
    await settleGeneration(
      settled.world.disk,
      settled.owner,
      settled.generation.identity.generation,
    )
    await assert.rejects(settled.open(), { code: 'DROVER_MAILBOX_GONE' })

    const bench = await Bench.of()
    const agent = await bench.open()
    await bench.advance(1_000)
    await settleGeneration(bench.world.disk, bench.owner, bench.generation.identity.generation)
    await bench.advance(limits.rescanMs)
    assert.ok(agent !== 'leave' && agent.isOver && bench.host.hasLeft)
  })
})

describe('the end of a run', () => {
  it('with an answer is a result, and then the agent leaves', async () => {
    const bench = await Bench.of()
    const agent = await bench.open()
    await bench.advance(1_000)
    bench.host.end({ outcome: 'answered', text: 'found it' })
    await bench.advance(1)
    const result = bench.records.at(-1)
    assert.ok(result?.kind === 'result')
    assert.deepEqual([result.text, result.whole], ['found it', undefined])
    assert.equal(result.request, bench.mailbox.assignment.task?.id)
    assert.deepEqual(result.usage, { elapsedMs: 1_000, turns: 1 })
    assert.ok(agent !== 'leave' && agent.isOver && bench.host.hasLeft)
  })

  for (const text of ['', ' \n\t '])
    it(`with ${JSON.stringify(text)} is a failure: an empty result`, async () => {
      const bench = await Bench.of()
      await bench.open()
      bench.host.end({ outcome: 'answered', text })
      await bench.advance(1)
      const failure = bench.records.at(-1)
      assert.equal(failure?.kind === 'failure' && failure.code, 'empty_result')
    })

  it('with an error is a failure with its message', async () => {
    const bench = await Bench.of()
    await bench.open()
    bench.host.end({ outcome: 'failed', message: 'the model said no' })
    await bench.advance(1)
    const failure = bench.records.at(-1)
    assert.ok(failure?.kind === 'failure')
    assert.deepEqual([failure.code, failure.message], ['model_error', 'the model said no'])
  })

  for (const message of ['', 'e'.repeat(100_000)])
    it(`with an error of ${message.length} characters is a failure too`, async () => {
      const bench = await Bench.of()
      await bench.open()
      bench.host.end({ outcome: 'failed', message })
      await bench.advance(1)
      const failure = bench.records.at(-1)
      assert.ok(failure?.kind === 'failure' && /\S/.test(failure.message))
      assert.ok(Buffer.byteLength(failure.message) <= limits.resultInlineBytesMax)
    })

  it('with a long answer is its head and a file with the whole, written first', async () => {
    const bench = await Bench.of()
    const text = longText(2_000_000)
    await bench.open()
    const { fs } = bench.process
    const file = resultPath(bench.world.root, bench.generation.identity.generation)
    const link = fs.link.bind(fs)
    fs.link = (from, to) => {
      if (to.includes('-result-')) assert.equal(fs.entry(file), 'file')
      return link(from, to)
    }
    bench.host.end({ outcome: 'answered', text })
    await bench.advance(1)
    const result = bench.records.at(-1)
    assert.ok(result?.kind === 'result')
    assert.deepEqual(result.whole, { file, bytes: 2_000_000 })
    assert.equal(result.text, text.slice(0, limits.resultInlineBytesMax))
    const kept = fs.read(file, 3_000_000)
    assert.equal('bytes' in kept && Buffer.from(kept.bytes).toString(), text)
  })

  it('by a person is no end: the next run may end it', async () => {
    const bench = await Bench.of()
    const agent = await bench.open()
    bench.host.end({ outcome: 'aborted' })
    await bench.advance(60_000)
    assert.deepEqual(bench.kinds, ['ack'])
    assert.ok(agent !== 'leave' && !agent.isOver)
    bench.host.begin()
    bench.host.end({ outcome: 'answered', text: 'after all' })
    await bench.advance(1)
    assert.deepEqual(bench.kinds, ['ack', 'result'])
  })

  it('is none as long as the host is at it again', async () => {
    const bench = await Bench.of()
    await bench.open()
    bench.host.end({ outcome: 'answered', text: 'first' })
    bench.host.begin()
    await bench.advance(10_000)
    assert.deepEqual(bench.kinds, ['ack'])
    bench.host.end({ outcome: 'answered', text: 'second' })
    await bench.advance(1)
    const result = bench.records.at(-1)
    assert.equal(result?.kind === 'result' && result.text, 'second')
  })

  it('waits for agents of its own, and comes when they have settled', async () => {
    const bench = await Bench.of()
    const own = new FakeOwnAgents()
    own.hasUnsettled = true
    await bench.open(own)
    bench.host.end({ outcome: 'answered', text: 'together' })
    await bench.advance(60_000)
    assert.deepEqual(bench.kinds, ['ack'])
    own.hasUnsettled = false
    own.change()
    await bench.advance(1)
    assert.deepEqual(bench.kinds, ['ack', 'result'])
  })

  it('in another session is a failure: the session was replaced', async () => {
    const bench = await Bench.of()
    const agent = await bench.open()
    await bench.advance(1_000)
    assert.ok(agent !== 'leave')
    await bench.world.run(agent.replaced())
    const failure = bench.records.at(-1)
    assert.equal(failure?.kind === 'failure' && failure.code, 'session_replaced')
  })
})

describe('a result on a disk that says no', () => {
  for (const [trouble, code] of [
    ['full', 'ENOSPC'],
    ['broken', 'EIO'],
  ] as const)
    it(`is written, once, when a ${trouble} disk is well again`, async () => {
      for (let point = 0; point < 6; point++) {
        const bench = await Bench.of()
        await bench.open()
        await bench.advance(100)
        const { fs } = bench.process
        fs.failAt(fs.operations + point, code, 'forever')
        bench.host.end({ outcome: 'answered', text: 'found it' })
        await bench.advance(3 * limits.resultRetryMs)
        fs.heal()
        await bench.advance(2 * limits.resultRetryMs)
        assert.deepEqual(bench.kinds, ['ack', 'result'], `after a fault at ${point}`)
        assert.ok(bench.host.hasLeft)
      }
    })

  it('is written at once on a full disk by the room set aside', async () => {
    const bench = await Bench.of()
    await bench.world.disk.createSynced(bench.world.root.ballast, new Uint8Array(10))
    await bench.open()
    await bench.advance(100)
    const { fs } = bench.process
    fs.failAt(fs.operations, 'ENOSPC', 'forever')
    const remove = fs.remove.bind(fs)
    fs.remove = (path) => {
      if (path === bench.world.root.ballast) fs.heal()
      return remove(path)
    }
    bench.host.end({ outcome: 'answered', text: 'found it' })
    await bench.advance(1)
    assert.deepEqual(bench.kinds, ['ack', 'result'])
  })

  it('is written although the whole of a long text cannot be kept at first', async () => {
    const bench = await Bench.of()
    await bench.open()
    await bench.advance(100)
    const { fs } = bench.process
    fs.failAt(fs.operations, 'ENOSPC', 'forever')
    bench.host.end({ outcome: 'answered', text: longText() })
    await bench.advance(2 * limits.resultRetryMs)
    fs.heal()
    await bench.advance(2 * limits.rescanMs)
    const result = bench.records.at(-1)
    assert.ok(result?.kind === 'result' && result.whole !== undefined)
    assert.ok(bench.host.hasLeft)
  })

  it('is tried no more often than it may be, and the agent leaves without it', async () => {
    const bench = await Bench.of()
    await bench.open()
    await bench.advance(100)
    const { fs } = bench.process
    let attempts = 0
    const createSynced = fs.createSynced.bind(fs)
    fs.createSynced = (path, bytes) => {
      attempts++
      return createSynced(path, bytes)
    }
    fs.failAt(fs.operations, 'EIO', 'forever')
    bench.host.end({ outcome: 'answered', text: 'found it' })
    await bench.advance(60_000)
    assert.equal(attempts, limits.resultAttemptsMax)
    assert.ok(bench.host.hasLeft)
  })

  it('is an acceptance later, if that is what could not be written', async () => {
    const bench = await Bench.of()
    bench.failFrom('ack', 'EIO')
    await bench.open()
    await bench.advance(100)
    assert.deepEqual([bench.kinds, bench.host.texts], [[], []])
    bench.process.fs.heal()
    await bench.advance(2 * limits.rescanMs)
    assert.deepEqual([bench.kinds, bench.host.texts], [['ack'], ['dig']])
  })
})

describe('a close', () => {
  it('ends the run, is answered with a report of what was below, and then the agent leaves', async () => {
    const bench = await Bench.of()
    const own = new FakeOwnAgents()
    const agent = await bench.open(own)
    await bench.advance(1_000)
    await bench.write(aClose())
    await bench.advance(1)
    const { closed, requests } = bench.mailbox.assignment
    assert.deepEqual(closed?.closed, ['child'])
    assert.equal(requests.get(closed?.request ?? ''), 'accepted')
    assert.deepEqual(bench.kinds, ['ack', 'ack', 'closed'])
    assert.ok(bench.host.isIdle() && bench.host.hasLeft)
    assert.ok(agent !== 'leave' && agent.isOver)
  })

  it('makes no result of the run it aborts', async () => {
    const bench = await Bench.of()
    await bench.open()
    await bench.write(aClose())
    await bench.advance(60_000)
    assert.equal(bench.mailbox.assignment.conclusion, undefined)
  })
})

describe('a managed agent after a reload', () => {
  it('goes on with the run there is, and does not start it again', async () => {
    const bench = await Bench.of()
    const agent = await bench.open()
    await bench.advance(1_000)
    assert.ok(agent !== 'leave')
    await bench.world.run(agent.stop())
    await bench.open()
    await bench.advance(1_000)
    assert.deepEqual(bench.host.texts, ['dig'])
    bench.host.end({ outcome: 'answered', text: 'found it' })
    await bench.advance(1)
    assert.deepEqual(bench.kinds, ['ack', 'result'])
  })

  it('starts the run that it could not start before', async () => {
    const bench = await Bench.of()
    bench.failFrom('ack', 'EIO')
    const agent = await bench.open()
    assert.ok(agent !== 'leave')
    await bench.world.run(agent.stop())
    bench.process.fs.heal()
    await bench.open()
    await bench.advance(1_000)
    assert.deepEqual([bench.kinds, bench.host.texts], [['ack'], ['dig']])
  })
})

class FakeOwnAgents implements OwnAgents {
  hasUnsettled = false
  #listener: () => void = () => {}

  async closeAll() {
    return { closed: ['child'], notClosed: [], kept: [] }
  }

  onChange(listener: () => void): () => void {
    this.#listener = listener
    return () => {}
  }

  change(): void {
    this.#listener()
  }
}
