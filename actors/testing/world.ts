import {
  limits,
  type RootPaths,
  reserveAt,
  rootPaths,
  sessionClaimPath,
  startRuntime,
} from '../../mailbox/index.ts'
import type { MemoryFs } from '../../mailbox/testing/index.ts'
import {
  type CloseReport,
  type Delegated,
  type DelegateOrder,
  Observation,
  type OwnAgents,
  Owner,
  type OwnerPorts,
  type Row,
  type StartOrder,
} from '../index.ts'
import { AgentProgram } from './agent-program.ts'
import { completes, type Fate } from './fates.ts'
import { Ledger } from './ledger.ts'
import { Machine, type VirtualProcess } from './machine.ts'
import { FakeOwnerHost } from './owner-host.ts'
import { FakeRunner } from './runner.ts'
import { FakeSessionFile } from './session-file.ts'
import { agentSessions, fakeSession } from './session-store.ts'

export type OwnerTwist = Partial<OwnerPorts>
export type OrderTwist = Partial<Omit<DelegateOrder<Fate>, 'launch'>>

/** A machine on which sessions own agents, all of it in memory and in virtual time. */
export class World {
  readonly machine: Machine
  readonly root: RootPaths = rootPaths('/agent')
  readonly build: string = 'test'
  readonly screens: Map<string, string[]> = new Map()
  /** Levels of agents below a lead. */
  treeDepthMax: number = limits.treeDepthMax
  /** Agents that were started, by generation. */
  readonly agents: Map<string, AgentProgram> = new Map()
  /** Agents as owners of agents, by session. */
  readonly owners: Map<string, Lead> = new Map()
  /** What was ever written in the mailboxes of agents that were started. */
  readonly ledger: Ledger = new Ledger()
  readonly #sessions = new Map<string, FakeSessionFile>()

  /** @param machine a new one; or one that comes up again, with what survived on its disk */
  constructor(machine: Machine = new Machine()) {
    this.machine = machine
    this.disk.makeDirectory('/agent')
    this.disk.syncAll()
  }

  get disk(): MemoryFs {
    return this.machine.disk
  }

  /** The durable file of an owner's session. */
  session(id: string): FakeSessionFile {
    const known = this.#sessions.get(id) ?? new FakeSessionFile()
    this.#sessions.set(id, known)
    return known
  }

  /** Puts a session's file in place, as an earlier boot left it. */
  keepSession(id: string, file: FakeSessionFile): void {
    this.#sessions.set(id, file)
  }

  /** Opens a session in a new process: another window, or the next life of the first. */
  async lead(session = 'lead', twist: OwnerTwist = {}): Promise<Lead> {
    const lead = this.leadIn(this.machine.spawn(), session, twist)
    await this.run(lead.open())
    return lead
  }

  /** A process that is going to open a session. */
  leadIn(process: VirtualProcess, session = 'lead', twist: OwnerTwist = {}): Lead {
    return new Lead(this, process, session, twist)
  }

  /** The agent of that label that was started last. */
  agent(label: string): AgentProgram {
    const found = [...this.agents.values()].findLast(
      ({ order }) => order.generation.identity.label === label,
    )
    if (found === undefined) throw new Error(`no agent ${label} was started`)
    return found
  }

  /** Lets time pass until a promise is settled. */
  run<T>(promise: Promise<T>, withinMs?: number): Promise<T> {
    return this.machine.clock.run(promise, withinMs)
  }

  until(isTrue: () => boolean | Promise<boolean>, withinMs?: number): Promise<void> {
    return this.machine.clock.until(isTrue, withinMs)
  }

  advance(durationMs: number): Promise<void> {
    return this.machine.clock.advance(durationMs)
  }

  /** What is left of agents on disk: generations, claims, half-written things. Nothing, if all is settled. */
  remains(): readonly string[] {
    const { disk, root } = this
    const below = (path: string) => (disk.list(path) ?? []).map((name) => `${path}/${name}`)
    return below(root.mailboxes).flatMap((path) => {
      if (path === root.takeover) return below(path).filter((each) => !/\/\d+$/.test(each))
      if (path === root.sessions) return below(path)
      return below(path).flatMap((each) => {
        if (each.endsWith('/lease')) return below(each).filter((name) => !/\/\d+$/.test(name))
        return /\/(labels|drafts|starting|settled)$/.test(each) ? below(each) : [each]
      })
    })
  }

  /** Sessions of agents that exist on disk. */
  agentSessions(): readonly string[] {
    return agentSessions(this.disk)
  }

  hasSessionClaim(session: string): boolean {
    return this.disk.entry(sessionClaimPath(this.root, session)) !== undefined
  }

  /** Processes of agents that are alive, and what they started. */
  livingAgents(): readonly VirtualProcess[] {
    return this.machine.living.filter(({ env }) => env['DROVER_AGENT'] !== undefined)
  }

  /** @internal for `FakeRunner` */
  play(process: VirtualProcess, order: StartOrder<Fate>): void {
    const program = new AgentProgram(
      {
        machine: this.machine,
        root: this.root,
        build: this.build,
        say: (generation, line) => this.screens.get(generation)?.push(line),
        own: (of, with_) => this.#own(of, with_),
      },
      process,
      order,
    )
    const { generation } = order.generation.identity
    this.agents.set(generation, program)
    this.ledger.follow(this.disk, generation, order.paths)
  }

  /** An agent opens its own session as an owner, and delegates. */
  async #own(
    process: VirtualProcess,
    { generation, launch }: StartOrder<Fate>,
  ): Promise<OwnAgents> {
    const { session } = generation.identity
    const { root: rootSession, depth } = generation
    const lead = new Lead(this, process, session, { rootSession, depth })
    this.owners.set(session, lead)
    if (launch.isBusyOwner) lead.host.begin()
    await lead.open()
    for (const fate of launch.owns ?? []) void lead.start(fate).catch(() => {})
    return lead.owner
  }
}

/** One process that has an owner's session open. */
export class Lead {
  readonly world: World
  readonly process: VirtualProcess
  readonly session: string
  readonly host: FakeOwnerHost
  readonly runner: FakeRunner
  readonly #twist: OwnerTwist
  #owner: Owner<Fate> | undefined
  #endRuntime: () => void = () => {}

  constructor(world: World, process: VirtualProcess, session: string, twist: OwnerTwist) {
    this.world = world
    this.process = process
    this.session = session
    this.host = new FakeOwnerHost(process, world.session(session))
    this.runner = new FakeRunner(world, process)
    this.#twist = twist
  }

  get owner(): Owner<Fate> {
    if (this.#owner === undefined) throw new Error('not open')
    return this.#owner
  }

  async open(): Promise<void> {
    this.#owner = await Owner.open(this.ports())
  }

  ports(): OwnerPorts {
    const { world, process, session, runner } = this
    const { fs, clock, processes } = process
    const { ids } = world.machine
    const { runtime, end } = startRuntime(processes, ids)
    this.#endRuntime = end
    return {
      fs,
      clock,
      ids,
      processes,
      root: world.root,
      runtime,
      reserve: reserveAt(fs, world.root.ballast),
      runners: new Map([[runner.name, runner]]),
      host: this.host,
      session,
      rootSession: session,
      depth: 0,
      build: world.build,
      recordBytesMax: 131_072,
      liveAgentsMax: 16,
      startsAtOnce: 2,
      observation: new Observation(),
      treeDepthMax: world.treeDepthMax,
      ...this.#twist,
    }
  }

  /** Starts an agent; time is the caller's. */
  start(
    fate: Fate = completes(),
    order: OrderTwist = {},
    signal: AbortSignal = new AbortController().signal,
  ): Promise<Delegated> {
    return this.owner.delegate(
      {
        definition: 'scout',
        task: 'look around',
        cwd: '/project',
        timeoutMs: 60_000,
        runner: this.runner,
        session: fakeSession(
          this.process,
          `session-${this.world.machine.ids.next()}`,
          order.cwd ?? '/project',
        ),
        ...order,
        launch: fate,
      },
      signal,
    )
  }

  /** Starts an agent and lets time pass until it has accepted its task. */
  delegate(fate?: Fate, order?: OrderTwist): Promise<Delegated> {
    return this.world.run(this.start(fate, order))
  }

  close(label: string): Promise<CloseReport> {
    return this.world.run(this.owner.close(label))
  }

  rows(): Promise<readonly Row[]> {
    return this.world.run(this.owner.rows())
  }

  /** Each agent with its state, in short. */
  async states(): Promise<Readonly<Record<string, string>>> {
    return Object.fromEntries((await this.rows()).map(({ agent, state }) => [agent, state]))
  }

  /** Labels whose results were told, in order. */
  get told(): readonly string[] {
    return this.host.session.results.map(({ label }) => label)
  }

  /** Lets time pass until no agent is left. */
  settled(withinMs?: number): Promise<void> {
    return this.world.until(() => !this.owner.hasUnsettled, withinMs)
  }

  /** The process dies, as by SIGKILL. */
  kill(): void {
    this.process.end()
  }

  /** The session is closed in good order, and its process ends. */
  quit(): Promise<void> {
    return this.world.run(this.quitting())
  }

  /** The same process lets go of everything and takes it up again, as `/reload` does. */
  reload(): Promise<void> {
    return this.world.run(this.reloading())
  }

  /** As `quit`; time is the caller's. */
  async quitting(): Promise<void> {
    await this.owner.stop()
    this.#endRuntime()
    this.process.end()
  }

  /** As `reload`; time is the caller's. */
  async reloading(): Promise<void> {
    await this.owner.stop()
    this.#endRuntime()
    await this.open()
  }
}

export function world(): World {
  return new World()
}
