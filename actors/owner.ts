import { setMaxListeners } from 'node:events'
import PQueue from 'p-queue'
import {
  type LeasePlace,
  limits,
  type OwnerPaths,
  ownerPaths,
  ownNames,
  prepareOwner,
  prepareRoot,
  releaseLease,
  takeLease,
} from '../mailbox/index.ts'
import type { RequestOutcome } from './assignment.ts'
import {
  type CloseReport,
  closeBelow,
  mergeReports,
  notAllClosed,
  nothingClosed,
} from './cascade.ts'
import { byLabel, type Descendant, descendantsOf } from './descendants.ts'
import { edgesBelow } from './edges.ts'
import { focusAgent } from './focus.ts'
import type { OwnedActor } from './owned-actor.ts'
import type { Inspection, OwnerRequest } from './owned-agent.ts'
import {
  type Hindrance,
  mayNotAct,
  noSuchAgent,
  orphanStays,
  tooDeep,
  tooManyAgents,
} from './refusals.ts'
import { type AgentFacts, mayCloseOrphan, openQuestion, type Row, row } from './row.ts'
import type { Delegated, DelegateOrder } from './start-ports.ts'
import { survey, untrusted } from './survey.ts'
import { Tenure, type TenurePorts } from './tenure.ts'

/** Everything an owner needs; `pi/compose.ts` alone puts it together. */
export interface OwnerPorts extends Omit<TenurePorts, 'signal' | 'changed' | 'stirred'> {
  readonly startsAtOnce: number
  /** Levels of agents a tree may have below its lead. */
  readonly treeDepthMax: number
}

/** What became of a steer or reply. */
export interface Told {
  readonly id: string
  readonly outcome: RequestOutcome
  readonly facts: AgentFacts
}

/** All agents of a tree as they were last seen. */
export interface Seen {
  readonly rows: readonly Row[]
  readonly below: readonly Descendant[]
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
  readonly #ports: OwnerPorts
  readonly #paths: OwnerPaths
  readonly #abort = new AbortController()
  readonly #starts: PQueue
  readonly #listeners = new Set<() => void>()
  readonly #activityListeners = new Set<() => void>()
  /** What there is only while this process acts. */
  #tenure: Tenure<Launch> | undefined
  /** Why this process does not act. */
  #hindrance: Hindrance | undefined
  #cancelRescan: () => void = () => {}
  #rescanning: Promise<void> | undefined
  #starting = 0
  readonly #startsUnderWay = new Set<Promise<unknown>>()
  #stopStarts = new AbortController()

  private constructor(ports: OwnerPorts) {
    this.#ports = ports
    this.#paths = ownerPaths(ports.root, ports.session)
    this.#starts = new PQueue({ concurrency: ports.startsAtOnce })
    setMaxListeners(0, this.#abort.signal) // each agent that is waited for listens to it
  }

  /** @throws MailboxError - the directories are not ours and private, or cannot be made */
  static async open<Launch>(ports: OwnerPorts): Promise<Owner<Launch>> {
    const owner = new Owner(ports)
    prepareRoot(ports.fs, ports.root)
    prepareOwner(ports.fs, owner.#paths)
    await owner.#tryToAct()
    owner.#scheduleRescan()
    return owner
  }

  get role(): OwnerRole {
    if (this.#abort.signal.aborted) return 'stopped'
    return this.#tenure === undefined ? 'observing' : 'acting'
  }

  /** The direct agents, by label, each looked at now. Every action checks again. */
  async rows(): Promise<readonly Row[]> {
    await Promise.all(this.#agents.map((agent) => agent.look()))
    const rows =
      this.#tenure === undefined
        ? await survey(this.#ports, this.#paths)
        : this.#agents.map(({ facts }) => row(facts))
    return byLabel(rows)
  }

  /**
   * All agents as they were last seen, with what each says now that it does. None is looked at, so whoever shows a
   * change causes none.
   */
  async lastSeen(): Promise<Seen> {
    const rows = byLabel(
      this.#tenure === undefined
        ? await survey(this.#ports, this.#paths)
        : this.#agents.map(({ lastSeen }) => row(lastSeen)),
    )
    return { rows, below: await this.#below(rows) }
  }

  /** Whether some agent of this session is not settled, whoever acts for it. One that cannot be read may be at work. */
  get hasUnsettled(): boolean {
    if (this.#tenure === undefined) return this.#hasMailboxes()
    return this.#agents.length + this.#starting + this.unreadable.length > 0
  }

  /** Mailboxes that cannot be trusted, by generation: kept, shown, and left alone. */
  get unreadable(): readonly string[] {
    return this.#tenure?.unreadable ?? untrusted(this.#ports, this.#paths)
  }

  #hasMailboxes(): boolean {
    try {
      return ownNames(this.#ports.fs, this.#paths.directory).length > 0
    } catch {
      return true
    }
  }

  /** Whether each agent that is not settled is known to wait for an answer of this owner. */
  get areAllAsking(): boolean {
    return (
      this.#tenure !== undefined &&
      this.#starting + this.unreadable.length === 0 &&
      this.#agents.every(({ facts }) => openQuestion(facts) !== undefined)
    )
  }

  /** Calls back when a row may have changed. Returns its end. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Calls back when an agent may have said anew what it does. Returns its end. */
  onActivity(listener: () => void): () => void {
    this.#activityListeners.add(listener)
    return () => this.#activityListeners.delete(listener)
  }

  /** @throws OperationError - see `startAgent` */
  async delegate(order: DelegateOrder<Launch>, signal: AbortSignal): Promise<Delegated> {
    this.#acting('delegate')
    const { fs, root, rootSession, depth, liveAgentsMax, treeDepthMax } = this.#ports
    if (depth >= treeDepthMax) throw tooDeep(treeDepthMax)
    if (edgesBelow(fs, root, rootSession).length + this.#starting >= liveAgentsMax)
      throw tooManyAgents(liveAgentsMax)
    let isCounted = true
    this.#starting++
    // From the moment its generation exists an agent is counted by its edge.
    const uncount = () => {
      if (isCounted) this.#starting--
      isCounted = false
    }
    const until = AbortSignal.any([signal, this.#stopStarts.signal])
    // Asked again: it may have waited for its turn.
    const start = this.#starts.add(() => this.#acting('delegate').start(order, until, uncount))
    this.#startsUnderWay.add(start)
    try {
      return await start
    } finally {
      this.#startsUnderWay.delete(start)
      uncount()
    }
  }

  /**
   * Closes one direct agent and all below it.
   *
   * @throws OperationError - it is not there, or may not be closed now, or did not come to an end
   */
  async close(label: string): Promise<CloseReport> {
    this.#acting('close')
    const direct = this.#direct(label)
    if (direct !== undefined) return direct.close()
    const orphan = (await this.below()).find(({ row, isOrphan }) => isOrphan && row.agent === label)
    if (orphan === undefined) return (await this.#find('close', label)).close()
    return this.#closeOrphan(orphan.row.facts)
  }

  async #closeOrphan(facts: AgentFacts): Promise<CloseReport> {
    const verdict = mayCloseOrphan(facts)
    if (verdict !== true) throw orphanStays(facts, verdict)
    const { identity } = facts.generation
    const ports = { ...this.#ports, signal: this.#abort.signal }
    const report = await closeBelow(ports, identity.owner, identity.generation)
    if (report.notClosed.length > 0) throw orphanStays(facts, notAllClosed(report))
    return report
  }

  /**
   * The agents of this owner's agents, as their files tell it. They are their owners' to act on; only one whose owner
   * is proven gone, an orphan, may be closed from the top of the tree.
   */
  async below(): Promise<readonly Descendant[]> {
    return this.#below(await this.rows())
  }

  #below(rows: readonly Row[]): Promise<readonly Descendant[]> {
    const isTop = this.#ports.depth === 0 && this.role === 'acting'
    return descendantsOf(this.#ports, rows, isTop)
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
    return this.#agents.find((agent) => agent.label === label)
  }

  async #find(operation: string, label: string): Promise<OwnedActor> {
    this.#acting(operation)
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
    await this.#tenure?.stopTelling() // what is told starts a run, and this session is to have none any more
    return mergeReports(await Promise.all(this.#agents.map((agent) => agent.end())))
  }

  /**
   * Ends every agent of this session now, whatever it has not told yet, and takes back what is being started. The
   * session goes on and may delegate again. Results nobody has read are kept as files.
   *
   * @returns what was closed, what was not and why, and those files
   * @throws OperationError - this process does not act for the session now
   */
  async stopAll(): Promise<CloseReport> {
    const tell = this.#acting('stop').holdTelling()
    try {
      this.#stopStarts.abort()
      this.#stopStarts = new AbortController()
      const starts = Promise.allSettled(this.#startsUnderWay)
      // One that is being started has no process that could be proven gone before its start is over.
      const atWork = this.#agents.filter(({ facts }) => facts.assignment.phase !== 'offered')
      const [reports] = await Promise.all([Promise.all(atWork.map((agent) => agent.end())), starts])
      const rest = this.#agents.filter((agent) => !atWork.includes(agent))
      const untouched = this.unreadable.map((label) => ({
        label,
        why: 'its mailbox cannot be trusted, so nothing is done with it',
      }))
      return mergeReports([
        ...reports,
        ...(await Promise.all(rest.map((agent) => agent.end()))),
        { ...nothingClosed, notClosed: untouched },
      ])
    } finally {
      tell()
    }
  }

  /**
   * Shows an agent of this tree to the person, if it still is where it was seen: by the same label, session and pane.
   *
   * @returns `changed`: it is not, and nothing was sent; `unsupported`: there is no pane to show
   * @throws Error - its pane could not be found or shown
   */
  async focus(seen: Row): Promise<'focused' | 'unsupported' | 'changed'> {
    const rows = [...(await this.rows()), ...(await this.below()).map((each) => each.row)]
    return focusAgent(this.#ports, rows, seen)
  }

  /** Looks at everything now. */
  refresh(): void {
    this.#tenure?.refresh()
  }

  /** Lets go of everything: agents work on, and whoever opens this session next finds them. */
  async stop(): Promise<void> {
    if (this.#abort.signal.aborted) return
    this.#abort.abort()
    this.#cancelRescan()
    this.#starts.start() // what waits to start is told so
    await this.#rescanning // it may be taking over right now
    const tenure = this.#tenure
    this.#tenure = undefined
    await tenure?.end()
    await releaseLease(this.#leasePlace(), this.#ports.runtime)
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
    await this.#act(answer.number)
  }

  async #act(lease: number): Promise<void> {
    const stirred = () => {
      for (const listener of this.#activityListeners) listener()
    }
    const changed = () => this.#changed()
    const ports = { ...this.#ports, signal: this.#abort.signal, changed, stirred }
    this.#tenure = await Tenure.begin(ports, this.#paths, lease)
    changed() // its rows are seen from here now
  }

  #changed(): void {
    for (const listener of this.#listeners) listener()
  }

  #scheduleRescan(): void {
    const delayMs = this.role === 'acting' ? limits.rescanMs : limits.leaseRescanMs
    this.#cancelRescan = this.#ports.clock.background(delayMs, () => {
      this.#rescanning = this.#rescan()
    })
  }

  /** What no hint told. Also where a tree of actors that gave up is built again. */
  async #rescan(): Promise<void> {
    try {
      const tenure = this.#tenure
      if (tenure === undefined) {
        await this.#tryToAct()
        if (this.role === 'observing') this.#changed() // nobody tells it what the one that acts has done
      } else if (await tenure.hasGivenUp()) {
        this.#tenure = undefined
        await tenure.end()
        await this.#act(tenure.lease)
      } else {
        tenure.watch()
        tenure.refresh()
      }
    } catch {
      // The file system said no; it is asked again at the next rescan.
    }
    if (this.role !== 'stopped') this.#scheduleRescan()
  }

  get #agents(): readonly OwnedActor[] {
    return this.#tenure?.agents ?? []
  }

  /** @throws OperationError - this process does not act for the session now */
  #acting(operation: string): Tenure<Launch> {
    if (this.role === 'acting' && this.#tenure !== undefined) return this.#tenure
    const hindrance = this.role === 'stopped' ? 'stopped' : (this.#hindrance ?? 'failed')
    throw mayNotAct(operation, hindrance, this.#paths.lease)
  }
}
