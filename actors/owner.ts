import PQueue from 'p-queue'
import {
  finishSettled,
  type GenerationFile,
  generationPaths,
  type LeasePlace,
  limits,
  type OwnerPaths,
  ownerPaths,
  ownNames,
  prepareOwner,
  prepareRoot,
  readGeneration,
  releaseLease,
  sweepStarting,
  takeLease,
} from '../mailbox/index.ts'
import { type CascadePorts, type CloseReport, mergeReports } from './cascade.ts'
import { Delivery } from './delivery.ts'
import { edgesBelow } from './edges.ts'
import type { Observation } from './observation.ts'
import { OperationError } from './operation-error.ts'
import { OwnedActor } from './owned-actor.ts'
import {
  OwnedAgent,
  type OwnedAgentAnswer,
  type OwnedAgentMessage,
  type OwnedAgentPorts,
} from './owned-agent.ts'
import type { AgentRunner, OwnerHost, SessionStore } from './ports.ts'
import { type AgentFacts, type Row, row } from './row.ts'
import { type Delegated, type DelegateOrder, startAgent } from './start.ts'
import { survey } from './survey.ts'
import { ActorSystem } from './system.ts'

/** Everything an owner needs; `pi/compose.ts` alone puts it together. */
export interface OwnerPorts<Launch> extends Omit<CascadePorts, 'signal'> {
  readonly host: OwnerHost
  /** The runner that new agents are started with. */
  readonly runner: AgentRunner<Launch>
  readonly sessions: SessionStore
  /** The session that owns. */
  readonly session: string
  /** Session of the lead at the root of the tree; the same for the lead itself. */
  readonly rootSession: string
  /** Levels of this session below that lead. */
  readonly depth: number
  readonly build: string
  readonly recordBytesMax: number
  readonly liveAgentsMax: number
  readonly startsAtOnce: number
  readonly observation: Observation
}

/** `observing`: another process acts for this session; here it is only shown. */
export type OwnerRole = 'acting' | 'observing' | 'stopped'

/**
 * All agents of one session: starts them, brings their results, closes them.
 *
 * One process acts for a session, by its lease. A second one sees the same rows from the same files, and takes
 * over when the first is proven dead.
 */
export class Owner<Launch> {
  readonly #ports: OwnerPorts<Launch>
  readonly #paths: OwnerPaths
  readonly #abort = new AbortController()
  readonly #starts: PQueue
  readonly #agents = new Map<string, OwnedActor>()
  readonly #listeners = new Set<() => void>()
  #role: OwnerRole = 'observing'
  #lease = 0
  #system: ActorSystem | undefined
  #delivery: Delivery | undefined
  #ends: (() => void)[] = []
  #cancelRescan: () => void = () => {}
  #rescanning: Promise<void> | undefined
  #starting = 0

  private constructor(ports: OwnerPorts<Launch>) {
    this.#ports = ports
    this.#paths = ownerPaths(ports.root, ports.session)
    this.#starts = new PQueue({ concurrency: ports.startsAtOnce })
  }

  /** @throws MailboxError - the directories are not ours and private, or cannot be made */
  static async open<Launch>(ports: OwnerPorts<Launch>): Promise<Owner<Launch>> {
    const owner = new Owner(ports)
    prepareRoot(ports.fs, ports.root)
    prepareOwner(ports.fs, owner.#paths)
    await owner.#tryToAct()
    owner.#scheduleRescan()
    return owner
  }

  get role(): OwnerRole {
    return this.#role
  }

  /** The actors of this owner, for whoever looks inside. */
  get system(): ActorSystem | undefined {
    return this.#system
  }

  /** The direct agents, by label, each looked at now. Every action checks again. */
  async rows(): Promise<readonly Row[]> {
    if (this.#role === 'acting')
      await Promise.all([...this.#agents.values()].map((agent) => agent.look()))
    const rows =
      this.#role === 'acting'
        ? [...this.#agents.values()].map(({ facts }) => row(facts))
        : await survey(this.#ports, this.#paths)
    return [...rows].sort((a, b) => (a.agent < b.agent ? -1 : 1))
  }

  /** Whether some agent of this session is not settled. */
  get hasUnsettled(): boolean {
    return this.#agents.size > 0 || this.#starting > 0
  }

  /** Calls back when a row may have changed. Returns its end. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** @throws OperationError - see `startAgent` */
  async delegate(order: DelegateOrder<Launch>, signal: AbortSignal): Promise<Delegated> {
    this.#requireActing('delegate')
    const { fs, root, rootSession, liveAgentsMax } = this.#ports
    if (edgesBelow(fs, root, rootSession).length + this.#starting >= liveAgentsMax)
      throw new OperationError({
        category: 'agent_busy',
        operation: 'delegate',
        stage: 'validation',
        message: `${liveAgentsMax} agents live already in this tree, which is the limit.`,
        nextAction: 'Wait for a result, or close an agent that is no longer needed.',
        rollbackOccurred: false,
      })
    let isCounted = true
    this.#starting++
    // From the moment its generation exists an agent is counted by its edge.
    const uncount = () => {
      if (isCounted) this.#starting--
      isCounted = false
    }
    try {
      return await this.#starts.add(() => {
        this.#requireActing('delegate') // it may have waited for its turn
        return this.#start(order, signal, uncount)
      })
    } finally {
      uncount()
    }
  }

  /**
   * Closes one direct agent and all below it.
   *
   * @throws OperationError - it is not there, or may not be closed now, or did not come to an end
   */
  async close(label: string): Promise<CloseReport> {
    this.#requireActing('close')
    const found = [...this.#agents.values()].find((agent) => agent.label === label)
    if (found === undefined)
      throw noSuchAgent(
        label,
        (await this.rows()).map(({ agent }) => agent),
      )
    return found.close()
  }

  /**
   * Closes all agents, whatever they have not told yet: their owner is being closed, so nobody would read it.
   * Results are kept as files. No agent is started any more.
   */
  async closeAll(): Promise<CloseReport> {
    this.#starts.pause()
    return mergeReports(await Promise.all([...this.#agents.values()].map((agent) => agent.end())))
  }

  /** Looks at everything now. */
  refresh(): void {
    for (const agent of this.#agents.values()) agent.tell({ type: 'look' })
    this.#delivery?.pump()
  }

  /** Lets go of everything: agents work on, and whoever opens this session next finds them. */
  async stop(): Promise<void> {
    if (this.#role === 'stopped') return
    this.#role = 'stopped'
    this.#abort.abort()
    this.#cancelRescan()
    this.#starts.start() // what waits to start is told so
    await this.#rescanning // it may be taking over right now
    await this.#disband()
    await releaseLease(this.#leasePlace(), this.#ports.runtime)
  }

  async #disband(): Promise<void> {
    for (const end of this.#ends) end()
    this.#ends = []
    for (const agent of this.#agents.values()) agent.release()
    this.#agents.clear()
    await this.#delivery?.stop()
    await this.#system?.stop()
  }

  #leasePlace(): LeasePlace {
    const { fs, ids, processes, session } = this.#ports
    const { lease, drafts } = this.#paths
    return { fs, ids, processes, directory: lease, drafts, subject: session }
  }

  async #tryToAct(): Promise<void> {
    const answer = await takeLease(this.#leasePlace(), this.#ports.runtime)
    if (answer.outcome !== 'held') return
    this.#lease = answer.number
    await this.#act()
  }

  /** Takes up everything there is, or nothing: half of it would never be looked for again. */
  async #act(): Promise<void> {
    try {
      await this.#takeUp()
    } catch (error) {
      if (this.#role === 'acting') this.#role = 'observing'
      await this.#disband()
      throw error
    }
  }

  /** Takes up everything there is, from the mailboxes alone. */
  async #takeUp(): Promise<void> {
    const { fs, root, clock, observation, host, runner, liveAgentsMax } = this.#ports
    sweepStarting(fs, this.#paths)
    finishSettled(fs, root, this.#paths)
    // Agents fail independently: only when they fail faster than one each in five seconds something is wrong here.
    this.#system = await ActorSystem.start({ clock, observation, intensity: liveAgentsMax })
    this.#abort.signal.throwIfAborted()
    this.#delivery = new Delivery({
      fs,
      clock,
      root,
      host,
      observation,
      onDelivered: (generation) => this.#agents.get(generation)?.tell({ type: 'delivered' }),
    })
    this.#ends.push(runner.onChange(() => this.refresh()))
    this.#role = 'acting'
    for (const name of ownNames(fs, this.#paths.directory)) {
      const generation = readGeneration(fs, generationPaths(this.#paths.directory, name))
      if (typeof generation === 'object' && generation.identity.owner === this.#ports.session)
        await this.#adopt(generation)
    }
  }

  async #adopt(generation: GenerationFile): Promise<OwnedActor> {
    const name = generation.identity.generation
    const ports = this.#agentPorts()
    const ref = await this.#system?.spawn<OwnedAgentMessage, OwnedAgentAnswer>({
      name,
      restart: 'transient',
      stop: 'drop',
      build: async () => {
        const agent = await OwnedAgent.open(ports, generation)
        return (message) => agent.handle(message)
      },
    })
    this.#abort.signal.throwIfAborted() // its system is gone, and nobody would end its watch
    if (ref === undefined) throw new Error(`agent ${name} is adopted already`)
    const { agent } = generationPaths(this.#paths.directory, name)
    const actor = new OwnedActor(this.#ports, ref, generation, agent)
    this.#agents.set(name, actor)
    return actor
  }

  #agentPorts(): OwnedAgentPorts {
    const { signal } = this.#abort
    return {
      ...this.#ports,
      owner: this.#paths,
      lease: this.#lease,
      signal,
      offer: (report) => this.#delivery?.offer(report),
      changed: (generation, facts) => this.#changed(generation, facts),
    }
  }

  #changed(name: string, facts: AgentFacts | 'settled'): void {
    const actor = this.#agents.get(name)
    actor?.update(facts)
    if (facts === 'settled') {
      this.#agents.delete(name)
      actor?.release()
      void this.#system?.stopActor(name)
    }
    for (const listener of this.#listeners) listener()
  }

  #start(
    order: DelegateOrder<Launch>,
    signal: AbortSignal,
    exists: () => void,
  ): Promise<Delegated> {
    const { runner, sessions, session, rootSession, depth, build, recordBytesMax } = this.#ports
    return startAgent(
      {
        ...this.#agentPorts(),
        runner,
        sessions,
        ownerSession: session,
        rootSession,
        depth: depth + 1,
        build,
        recordBytesMax,
        adopt: (generation) => {
          exists()
          return this.#adopt(generation)
        },
      },
      order,
      AbortSignal.any([signal, this.#abort.signal]),
    )
  }

  #scheduleRescan(): void {
    const delayMs = this.#role === 'acting' ? limits.rescanMs : limits.leaseRescanMs
    this.#cancelRescan = this.#ports.clock.background(delayMs, () => {
      this.#rescanning = this.#rescan()
    })
  }

  /** What no hint told. Also where a tree of actors that gave up is built again. */
  async #rescan(): Promise<void> {
    try {
      if (this.#role === 'observing') await this.#tryToAct()
      else if (await this.#hasGivenUp()) {
        await this.#disband()
        await this.#act()
      } else {
        for (const actor of this.#agents.values()) actor.watch()
        this.refresh()
      }
    } catch {
      // The file system said no; it is asked again at the next rescan.
    }
    if (this.#role !== 'stopped') this.#scheduleRescan()
  }

  #hasGivenUp(): Promise<boolean> {
    return Promise.race([
      this.#system?.exited.then(() => true) ?? Promise.resolve(false),
      this.#ports.clock.yield().then(() => false),
    ])
  }

  #requireActing(operation: string): void {
    if (this.#role === 'acting') return
    throw new OperationError({
      category: 'agent_busy',
      operation,
      stage: 'lease',
      message:
        'Another window has this session open and acts for it; here its agents are only shown.',
      nextAction: 'Use the other window, or close it: this one takes over by itself soon after.',
      rollbackOccurred: false,
    })
  }
}

/** A label nobody here has, with those that somebody has. */
export function noSuchAgent(label: string, labels: readonly string[]): OperationError {
  const none = 'This session has no agents now.'
  return new OperationError({
    category: 'target_not_found',
    operation: 'close',
    stage: 'target',
    message: `There is no agent called ${label} here.`,
    nextAction: labels.length === 0 ? none : `Use one of: ${labels.join(', ')}.`,
    agent: label,
    rollbackOccurred: false,
  })
}
