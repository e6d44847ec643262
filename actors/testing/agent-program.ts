import {
  type Activity,
  type AgentRecord,
  type AgentStatus,
  Outbox,
  protocol,
  type RootPaths,
  reserveAt,
  startRuntime,
} from '../../mailbox/index.ts'
import { Crashed } from '../../mailbox/testing/index.ts'
import { ManagedAgent, type OwnAgents, type StartOrder } from '../index.ts'
import { FakeAgentHost } from './agent-host.ts'
import type { Fate } from './fates.ts'
import type { Machine, VirtualProcess } from './machine.ts'

/** Time from the start of an agent's process to its first look, and from its last word to its end, ms. */
const bootMs = 100
const leaveMs = 20

/** What an agent's program needs of the world it runs in. */
export interface AgentWorld {
  readonly machine: Machine
  readonly root: RootPaths
  readonly build: string
  readonly say: (generation: string, line: string) => void
  /** Makes the agent an owner of agents itself. */
  readonly own: (process: VirtualProcess, order: StartOrder<Fate>) => Promise<OwnAgents>
}

/** The program of an agent: the real agent side of the protocol, over a host with a fate. */
export class AgentProgram {
  readonly process: VirtualProcess
  readonly host: FakeAgentHost
  readonly order: StartOrder<Fate>
  readonly #world: AgentWorld
  managed: ManagedAgent | undefined

  constructor(world: AgentWorld, process: VirtualProcess, order: StartOrder<Fate>) {
    this.#world = world
    this.process = process
    this.order = order
    this.host = new FakeAgentHost(process, () =>
      process.hostClock.after(leaveMs, () => process.end()),
    )
    this.#followFate()
    process.hostClock.after(bootMs, () => void this.#boot().catch((error) => this.#fail(error)))
  }

  #followFate(): void {
    const { work, workMs } = this.order.launch
    if (work.ends === 'answered')
      this.host.next = { end: { outcome: 'answered', text: work.text }, afterMs: workMs }
    if (work.ends === 'failed')
      this.host.next = { end: { outcome: 'failed', message: work.message }, afterMs: workMs }
  }

  async #boot(): Promise<void> {
    const { process, order, host } = this
    const { launch, generation, paths } = order
    if (launch.diesAt === 'before-ready') return process.end()
    if (launch.start === 'never-ready') return
    this.#dieWhereFateSays()
    const { machine, root, build } = this.#world
    const { fs, clock, processes } = process
    const { ids } = machine
    const ownAgents = launch.owns && (await this.#world.own(process, order))
    const managed = await ManagedAgent.open({
      onStatus: (status) => this.note(status),
      fs,
      clock,
      ids,
      root,
      reserve: reserveAt(fs, root.ballast),
      runtime: startRuntime(processes, ids).runtime,
      build,
      paths,
      generation,
      host: this.#listening(host),
      ...(ownAgents && { ownAgents }),
    })
    if (managed === 'leave') return host.leave()
    this.managed = managed
    if (launch.floods !== undefined) await this.#flood(launch.floods)
  }

  /** It notes what it does, as a real agent does, whatever the file system of its process says to records. */
  note(status: AgentStatus = {}): void {
    const { disk } = this.#world.machine
    const { activity, activityFile } = this.order.paths
    if (!this.process.isAlive || disk.entry(activity) === undefined) return
    disk.remove(activityFile)
    const noted: Activity = { at: this.process.clock.now(), lines: [], ...status }
    disk.plant(activityFile, 'file', Buffer.from(JSON.stringify(noted)))
  }

  /** A process that hangs in its work hears nothing any more. */
  #listening(host: FakeAgentHost): FakeAgentHost {
    if (!this.order.launch.isDeaf) return host
    const tryStart = host.tryStart.bind(host)
    host.tryStart = (text, request) => {
      void this.managed?.stop()
      return tryStart(text, request)
    }
    return host
  }

  #dieWhereFateSays(): void {
    const { diesAt, workMs } = this.order.launch
    const { process, host } = this
    const { agent } = this.order.paths
    if (diesAt === undefined) return
    if (diesAt === 'mid-work') {
      const begin = host.begin.bind(host)
      host.begin = () => {
        process.hostClock.after(workMs / 2, () => process.end())
        begin()
      }
      return
    }
    const last = { 'after-ready': 'ready', 'after-accepting': '-ack-', 'after-result': '-result-' }
    const name = last[diesAt as keyof typeof last]
    const { disk } = this.#world.machine
    const unwatch = disk.watch(agent, () => {
      if (!disk.list(agent)?.some((each) => each.includes(name))) return
      unwatch()
      process.end()
    })
  }

  async #flood(count: number): Promise<void> {
    const { fs, clock } = this.process
    const { paths, generation } = this.order
    const { ids } = this.#world.machine
    const options = { fs, directory: paths.agent, drafts: paths.agentDrafts }
    const outbox = await Outbox.open<AgentRecord>(options)
    for (let i = 0; i < count; i++)
      await outbox.admit({
        protocol,
        kind: 'ask',
        id: ids.next(),
        identity: generation.identity,
        at: clock.now(),
        request: ids.next(),
        text: `question ${i}`,
      })
  }

  #fail(error: unknown): void {
    if (error instanceof Crashed) return
    const { generation } = this.order.generation.identity
    this.#world.say(generation, String(error))
    this.process.end()
  }
}
