import assert from 'node:assert/strict'
import {
  type AgentRecord,
  type AgentStatus,
  createGeneration,
  type GenerationFile,
  type GenerationPaths,
  generationPaths,
  Outbox,
  type OwnerPaths,
  type OwnerRecord,
  ownerPaths,
  prepareOwner,
  prepareRoot,
  type Runtime,
  reserveAt,
  startRuntime,
} from '../../mailbox/index.ts'
import { AgentMailbox } from '../agent-mailbox.ts'
import { type CloseReport, ManagedAgent, type OwnAgents } from '../index.ts'
import { FakeAgentHost } from './agent-host.ts'
import type { VirtualProcess } from './machine.ts'
import { aGeneration, aTask } from './records.ts'
import { World } from './world.ts'

/** One generation on disk, and the process that is to be its agent. */
export class AgentBench {
  readonly world: World
  readonly process: VirtualProcess
  readonly host: FakeAgentHost
  readonly generation: GenerationFile = aGeneration('a')
  readonly owner: OwnerPaths
  readonly paths: GenerationPaths
  readonly runtime: Runtime
  /** What the agent said it waits for, in order. */
  readonly statuses: AgentStatus[] = []

  private constructor(world: World = new World()) {
    this.world = world
    this.process = this.world.machine.spawn()
    this.host = new FakeAgentHost(this.process)
    this.owner = ownerPaths(this.world.root, 'lead')
    this.paths = generationPaths(this.owner.directory, this.generation.identity.generation)
    this.runtime = startRuntime(this.process.processes, this.world.machine.ids).runtime
  }

  static async of(...more: readonly OwnerRecord[]): Promise<AgentBench> {
    const bench = new AgentBench()
    const { disk, root } = bench.world
    prepareRoot(disk, root)
    prepareOwner(disk, bench.owner)
    await createGeneration(disk, bench.owner, bench.generation, aTask('dig'))
    for (const record of more) await bench.write(record)
    return bench
  }

  /** Another process that takes itself for the same agent. */
  twin(): AgentBench {
    return new AgentBench(this.world)
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
        onStatus: (status) => this.statuses.push(status),
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

/** Agents of an agent, as its assignment sees them. */
export class FakeOwnAgents implements OwnAgents {
  areAllAsking = false
  hasUnsettled = false
  #listener: () => void = () => {}

  async closeAll(): Promise<CloseReport> {
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
