import {
  finishSettled,
  type GenerationFile,
  generationPaths,
  type OwnerPaths,
  ownNames,
  readGeneration,
  sweepStarting,
} from '../mailbox/index.ts'
import type { CascadePorts, CloseReport } from './cascade.ts'
import { Delivery } from './delivery.ts'
import { attention } from './health.ts'
import type { Observation } from './observation.ts'
import { OwnedActor } from './owned-actor.ts'
import {
  OwnedAgent,
  type OwnedAgentAnswer,
  type OwnedAgentMessage,
  type OwnedAgentPorts,
} from './owned-agent.ts'
import type { DeliveryIdentity, NoticeReport, OwnerHost } from './ports.ts'
import type { AgentFacts } from './row.ts'
import { startAgent } from './start.ts'
import type { Delegated, DelegateOrder } from './start-ports.ts'
import { ActorSystem } from './system.ts'

export interface TenurePorts extends CascadePorts {
  readonly host: OwnerHost
  /** The session that owns. */
  readonly session: string
  /** Session of the lead at the root of the tree; the same for the lead itself. */
  readonly rootSession: string
  /** Levels of this session below that lead. */
  readonly depth: number
  readonly build: string
  readonly recordBytesMax: number
  readonly liveAgentsMax: number
  readonly observation: Observation
  /** Called when a row may have changed. */
  readonly changed: () => void
  /** Called when an agent may have said anew what it does. */
  readonly stirred: () => void
}

/** Acting for a session, from having its lease to letting go: its actors, their watches, their delivery. */
export class Tenure<Launch> {
  readonly #ports: TenurePorts
  readonly #paths: OwnerPaths
  readonly #lease: number
  readonly #system: ActorSystem
  readonly #delivery: Delivery
  readonly #agents = new Map<string, OwnedActor>()
  readonly #unsubscribes: readonly (() => void)[]
  /** Agents whose silence was told, with what they did last. */
  readonly #heard = new Set<string>()
  #unreadable: readonly string[] = []

  /**
   * Takes up everything there is, from the mailboxes alone, or nothing: half of it would never be looked for again.
   *
   * @param lease the number of the lease it acts under
   * @throws MailboxError - the mailboxes cannot be read now
   */
  static async begin<Launch>(
    ports: TenurePorts,
    paths: OwnerPaths,
    lease: number,
  ): Promise<Tenure<Launch>> {
    const { fs, root, clock, observation, liveAgentsMax, signal } = ports
    sweepStarting(fs, paths)
    finishSettled(fs, root, paths)
    // Agents fail independently: only when they fail faster than one each in five seconds something is wrong here.
    const system = await ActorSystem.start({ clock, observation, intensity: liveAgentsMax })
    const tenure = new Tenure(ports, paths, lease, system)
    try {
      signal.throwIfAborted()
      await tenure.#takeUp()
    } catch (error) {
      await tenure.end()
      throw error
    }
    return tenure
  }

  private constructor(ports: TenurePorts, paths: OwnerPaths, lease: number, system: ActorSystem) {
    const { fs, clock, ids, root, host, observation, runners } = ports
    this.#ports = ports
    this.#paths = paths
    this.#lease = lease
    this.#system = system
    this.#delivery = new Delivery({
      fs,
      clock,
      ids,
      root,
      host,
      observation,
      onDelivered: (identity) => this.#delivered(identity),
      recheck: (report) => this.#recheck(report),
    })
    this.#unsubscribes = [...runners.values()].map((runner) =>
      runner.onChange(() => this.refresh()),
    )
  }

  #delivered({ generation, ask, notice }: DeliveryIdentity): void {
    const agent = this.#agents.get(generation)
    if (ask !== undefined) agent?.tell({ type: 'asked', ask })
    else if (notice === undefined) agent?.tell({ type: 'delivered' })
    else if (notice.startsWith('stale:')) this.#heard.add(generation)
  }

  /** An agent may have gone on since it was looked at. The first notice told of its silence shows what it did last. */
  async #recheck({ generation }: NoticeReport): Promise<NoticeReport | undefined> {
    const agent = this.#agents.get(generation.identity.generation)
    await agent?.look()
    const notice = agent && attention(agent.facts, this.#ports.clock.now())
    const isFirst = !this.#heard.has(generation.identity.generation)
    if (notice?.condition !== 'stale' || !isFirst) return notice && { generation, notice }
    const paths = generationPaths(this.#paths.directory, generation.identity.generation)
    const capture = await this.#ports.runners
      .get(generation.runner)
      ?.capture({ generation, paths })
      .catch(() => undefined)
    return { generation, notice: { ...notice, ...(capture && { capture }) } }
  }

  get lease(): number {
    return this.#lease
  }

  get agents(): readonly OwnedActor[] {
    return [...this.#agents.values()]
  }

  /** Mailboxes that cannot be trusted, by generation: kept, shown, and left alone. */
  get unreadable(): readonly string[] {
    return this.#unreadable
  }

  /** Looks at everything now. */
  refresh(): void {
    for (const agent of this.#agents.values()) agent.tell({ type: 'look' })
    this.#delivery.pump()
  }

  /** Arms the watches that could not be armed before. */
  watch(): void {
    for (const agent of this.#agents.values()) agent.watch()
  }

  /**
   * @param exists called when the agent is on disk, and so counted by its edge
   * @throws OperationError - see `startAgent`
   */
  start(order: DelegateOrder<Launch>, signal: AbortSignal, exists: () => void): Promise<Delegated> {
    const { session, rootSession, depth, build } = this.#ports
    return startAgent(
      {
        ...this.#agentPorts(),
        ownerSession: session,
        rootSession,
        depth: depth + 1,
        build,
        adopt: (generation) => {
          exists()
          return this.#adopt(generation)
        },
      },
      order,
      AbortSignal.any([signal, this.#ports.signal]),
    )
  }

  /** Whether its actors failed so often that none of them runs any more. */
  hasGivenUp(): Promise<boolean> {
    return Promise.race([
      this.#system.exited.then(() => true),
      this.#ports.clock.yield().then(() => false),
    ])
  }

  /** Hands nothing over any more. */
  stopTelling(): Promise<void> {
    return this.#delivery.stop()
  }

  /** Hands nothing over until the answer is called. */
  holdTelling(): () => void {
    return this.#delivery.hold()
  }

  /** Lets go of everything: agents work on. */
  async end(): Promise<void> {
    for (const unsubscribe of this.#unsubscribes) unsubscribe()
    for (const agent of this.#agents.values()) agent.release()
    this.#agents.clear()
    await this.#delivery.stop()
    await this.#system.stop()
  }

  async #takeUp(): Promise<void> {
    const { fs, session } = this.#ports
    const unreadable: string[] = []
    for (const name of ownNames(fs, this.#paths.directory)) {
      const generation = readGeneration(fs, generationPaths(this.#paths.directory, name))
      if (typeof generation === 'object' && generation.identity.owner === session)
        await this.#adopt(generation)
      else if (generation !== 'absent') unreadable.push(name)
    }
    this.#unreadable = unreadable
  }

  async #adopt(generation: GenerationFile): Promise<OwnedActor> {
    const name = generation.identity.generation
    const ports = this.#agentPorts()
    const ref = await this.#system.spawn<OwnedAgentMessage, OwnedAgentAnswer>({
      name,
      restart: 'transient',
      stop: 'drop',
      build: async () => {
        const agent = await OwnedAgent.open(ports, generation)
        void this.#ports.clock.yield().then(() => this.#agents.get(name)?.tell({ type: 'look' }))
        return (message) => agent.handle(message)
      },
    })
    this.#ports.signal.throwIfAborted() // its system is gone, and nobody would end its watch
    if (ref === undefined) throw new Error(`agent ${name} is adopted already`)
    const paths = generationPaths(this.#paths.directory, name)
    const actor = new OwnedActor(this.#ports, ref, generation, paths)
    this.#agents.set(name, actor)
    return actor
  }

  #agentPorts(): OwnedAgentPorts {
    return {
      ...this.#ports,
      owner: this.#paths,
      lease: this.#lease,
      offer: (generation, reports) => this.#delivery.offer(generation, reports),
      changed: (generation, facts) => this.#changed(generation, facts),
      settled: (generation, report) => this.#settled(generation, report),
    }
  }

  #changed(name: string, facts: AgentFacts): void {
    this.#agents.get(name)?.update(facts)
    this.#ports.changed()
  }

  #settled(name: string, report: CloseReport): void {
    const actor = this.#agents.get(name)
    actor?.settle(report)
    this.#delivery.offer(name, []) // what it had to tell is told, or is named in the report
    this.#agents.delete(name)
    this.#heard.delete(name)
    actor?.release()
    void this.#system.stopActor(name)
    this.#ports.changed()
  }
}
