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
import type { RequestOutcome } from './assignment.ts'
import { type CascadePorts, type CloseReport, closeBelow, mergeReports } from './cascade.ts'
import { Delivery } from './delivery.ts'
import { byLabel, type Descendant, descendantsOf } from './descendants.ts'
import { edgesBelow } from './edges.ts'
import type { Observation } from './observation.ts'
import { OwnedActor } from './owned-actor.ts'
import {
  type Inspection,
  OwnedAgent,
  type OwnedAgentAnswer,
  type OwnedAgentMessage,
  type OwnedAgentPorts,
  type OwnerRequest,
} from './owned-agent.ts'
import type { AgentRunner, OwnerHost } from './ports.ts'
import { type Hindrance, mayNotAct, noSuchAgent, tooManyAgents } from './refusals.ts'
import { type AgentFacts, type Row, row } from './row.ts'
import { startAgent } from './start.ts'
import type { Delegated, DelegateOrder } from './start-ports.ts'
import { survey } from './survey.ts'
import { ActorSystem } from './system.ts'

/** Everything an owner needs; `pi/compose.ts` alone puts it together. */
export interface OwnerPorts<Launch> extends Omit<CascadePorts, 'signal'> {
  readonly host: OwnerHost
  /** The runner that new agents are started with. */
  readonly runner: AgentRunner<Launch>
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

/** What became of a steer or reply. */
export interface Told {
  readonly id: string
  readonly outcome: RequestOutcome
  readonly facts: AgentFacts
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
  /** Why this process does not act. */
  #hindrance: Hindrance | undefined
  #unreadable: readonly string[] = []
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
    return byLabel(rows)
  }

  /** Whether some agent of this session is not settled. One that cannot be read may be at work. */
  get hasUnsettled(): boolean {
    return this.#agents.size + this.#starting + this.#unreadable.length > 0
  }

  /** Mailboxes that cannot be trusted, by generation: kept, shown, and left alone. */
  get unreadable(): readonly string[] {
    return this.#unreadable
  }

  /** Whether each agent that is not settled waits for an answer of this owner. */
  get areAllAsking(): boolean {
    return [...this.#agents.values()].every(({ facts }) => facts.assignment.ask !== undefined)
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
      throw tooManyAgents(liveAgentsMax)
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
    const direct = this.#direct(label)
    if (direct !== undefined) return direct.close()
    const orphan = (await this.below()).find(({ row, isOrphan }) => isOrphan && row.agent === label)
    if (orphan === undefined) return (await this.#find('close', label)).close()
    const { identity } = orphan.row.facts.generation
    const ports = { ...this.#ports, signal: this.#abort.signal }
    return closeBelow(ports, identity.owner, identity.generation)
  }

  /**
   * The agents of this owner's agents, as their files tell it. They are their owners' to act on; only one whose owner
   * is proven gone, an orphan, may be closed from the top of the tree.
   */
  async below(): Promise<readonly Descendant[]> {
    return descendantsOf(this.#ports, await this.rows(), this.#ports.depth === 0)
  }

  /**
   * Changes the direction of an agent at work, or answers its question.
   *
   * @returns what became of it; see `OwnedActor.request`
   * @throws OperationError - not possible now, or not admitted
   */
  async tell(label: string, request: Omit<OwnerRequest, 'id'>): Promise<Told> {
    const agent = await this.#find(request.kind, label)
    const id = this.#ports.ids.next()
    return { id, outcome: await agent.request({ ...request, id }), facts: agent.facts }
  }

  /**
   * Looks at an agent: what its process says, and which processes there are. Changes nothing.
   *
   * @throws OperationError - it is not there, or cannot be seen now
   */
  async inspect(label: string): Promise<Inspection> {
    return (await this.#find('inspect', label)).inspect()
  }

  #direct(label: string): OwnedActor | undefined {
    return [...this.#agents.values()].find((agent) => agent.label === label)
  }

  async #find(operation: string, label: string): Promise<OwnedActor> {
    this.#requireActing(operation)
    const found = this.#direct(label)
    if (found !== undefined) return found
    const rows = await this.rows()
    throw noSuchAgent(
      operation,
      label,
      rows.map(({ agent }) => agent),
    )
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
    this.#hindrance = answer.outcome === 'held' ? undefined : answer.outcome
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
    const { fs, ids, root, clock, observation, host, runner, liveAgentsMax } = this.#ports
    sweepStarting(fs, this.#paths)
    finishSettled(fs, root, this.#paths)
    // Agents fail independently: only when they fail faster than one each in five seconds something is wrong here.
    this.#system = await ActorSystem.start({ clock, observation, intensity: liveAgentsMax })
    this.#abort.signal.throwIfAborted()
    this.#delivery = new Delivery({
      fs,
      clock,
      ids,
      root,
      host,
      observation,
      onDelivered: ({ generation, ask }) => {
        if (ask === undefined) this.#agents.get(generation)?.tell({ type: 'delivered' })
      },
    })
    this.#ends.push(runner.onChange(() => this.refresh()))
    this.#role = 'acting'
    const unreadable: string[] = []
    this.#unreadable = unreadable
    for (const name of ownNames(fs, this.#paths.directory)) {
      const generation = readGeneration(fs, generationPaths(this.#paths.directory, name))
      if (typeof generation === 'object' && generation.identity.owner === this.#ports.session)
        await this.#adopt(generation)
      else if (generation !== 'absent') unreadable.push(name)
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
        void this.#ports.clock.yield().then(() => this.#agents.get(name)?.tell({ type: 'look' }))
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
      offer: (generation, reports) => this.#delivery?.offer(generation, reports),
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
    const { runner, session, rootSession, depth, build, recordBytesMax } = this.#ports
    return startAgent(
      {
        ...this.#agentPorts(),
        runner,
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
    const hindrance = this.#role === 'stopped' ? 'stopped' : (this.#hindrance ?? 'failed')
    throw mayNotAct(operation, hindrance, this.#paths.lease)
  }
}
