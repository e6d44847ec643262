import { statSync } from 'node:fs'
import PQueue from 'p-queue'
import {
  type AgentPlace,
  type AgentProcess,
  AgentProcesses,
  type AgentRunner,
  type AgentTrace,
  type Capture,
  type Launch,
  notedAndSaid,
  type PaneView,
  type Presence,
  presenceIn,
  type StartOrder,
  type Stopped,
  type StopReason,
  shownAndSaid,
} from '../actors/index.ts'
import type { Clock, MailboxFs, Pane, Placement, Processes } from '../mailbox/index.ts'
import type { HerdrClient } from './client.ts'
import { HerdrError } from './errors.ts'
import { HerdrSession } from './herdr-session.ts'
import { Launcher, withdrawLaunch } from './launcher.ts'
import type { Found } from './pane-finder.ts'
import { endShells } from './pane-opener.ts'
import type { PaneInfo } from './records.ts'

export interface HerdrRunnerPorts {
  readonly fs: MailboxFs
  readonly processes: Processes
  readonly clock: Clock
  /** Absent outside herdr: agents of an earlier life are still seen by their processes. */
  readonly herdr?: { readonly client: HerdrClient; readonly pane: string }
  /** Whether a pane stays for the person once its agent's result is delivered. */
  readonly keepsPanes: () => boolean
}

/** How old an inventory may be by which an agent is seen, ms; what acts on one takes a new one. */
const inventoryMs = 1_000
/** Between the launcher and the program it becomes, ms. */
const markMs = 5_000

/**
 * Agents in panes of herdr, which a person can enter, watch and type into.
 *
 * A pane is a view of an agent, never the way to it: what proves that it lives is its own process, and what proves that
 * it has ended is that this process is gone, or, before it has named itself, that its pane is in no inventory.
 */
export class HerdrRunner implements AgentRunner<Launch> {
  readonly name = 'herdr'
  readonly agentsLeave = false
  readonly #ports: HerdrRunnerPorts
  readonly #agents: AgentProcesses
  readonly #session: HerdrSession | undefined
  /** When an agent that has not named itself was first found without a pane, by generation. */
  readonly #missing = new Map<string, number>()
  readonly #ends: PQueue = new PQueue({ concurrency: 1 })

  constructor(ports: HerdrRunnerPorts) {
    const { processes, clock, herdr } = ports
    this.#ports = ports
    this.#agents = new AgentProcesses(processes, clock)
    this.#session = herdr && new HerdrSession(ports, herdr.client, herdr.pane)
  }

  /** Where this process itself is shown, proven. @throws HerdrError - see `OwnPane` */
  async ownPane(): Promise<PaneInfo> {
    return this.#inside().own.find()
  }

  async start({ generation, paths, launch, signal }: StartOrder<Launch>): Promise<Placement> {
    const session = this.#inside()
    const { own, opener } = session
    session.use()
    const command = launch(generation, paths, 'terminal')
    // herdr itself would silently take the home directory instead.
    if (!statSync(command.cwd, { throwIfNoEntry: false })?.isDirectory())
      throw new Error(`its directory ${command.cwd} does not exist`)
    const surroundings = { own: await own.find(), placement: command.placement }
    const launcher = new Launcher(paths, command)
    try {
      const pane = await opener.open(launcher, generation.identity, surroundings, signal)
      const { workspace_id: workspace, tab_id: tab, pane_id, terminal_id: terminal } = pane
      const server = this.#inside().client.socketPath
      return { runner: this.name, pane: { workspace, tab, pane: pane_id, terminal, server } }
    } catch (error) {
      // herdr may have done what it did not answer to, or do it yet.
      if (!launcher.withdraw()) await this.#endUntold(generation.identity.generation, error)
      throw error
    }
  }

  /** Ends what was run although its start is not known to have succeeded. */
  async #endUntold(generation: string, error: unknown): Promise<void> {
    const isUnknown = error instanceof HerdrError && error.outcome === 'unknown'
    await this.#marked(generation, isUnknown ? markMs : inventoryMs)
    await this.#agents.endMarked(generation)
  }

  async observe(place: AgentPlace): Promise<Presence> {
    const { process, pane } = place.placement
    if (process === undefined) return this.#observePane(place)
    const presence = presenceIn(this.#ports.processes, process)
    // Whoever put it into a pane may have died before it could say into which.
    if (presence !== 'live' || pane === undefined || this.#session === undefined) return presence
    const found = await this.#session.find(place, inventoryMs)
    // Its process is proof enough where herdr says nothing; a pane that is not there contradicts it.
    return found === 'unseen' || typeof found === 'object' ? 'live' : 'unknown'
  }

  /** Before an agent has named its process. */
  async #observePane(place: AgentPlace): Promise<Presence> {
    const { generation } = place.generation.identity
    const found = (await this.#session?.find(place, inventoryMs)) ?? 'unseen'
    const isThere = typeof found === 'object'
    const isProof = found === 'absent' || (found === 'contradictory' && this.#agents.seesMarks)
    if (!isProof || this.#agents.isMarked(generation)) {
      this.#missing.delete(generation)
      return isThere ? 'live' : 'unknown'
    }
    // A list may lag behind what was just opened, and a mark comes with the program that the launcher becomes.
    const now = this.#ports.clock.monotonic()
    const since = this.#missing.get(generation) ?? now
    this.#missing.set(generation, since)
    return now - since > inventoryMs ? 'lost' : 'unknown'
  }

  /** Its screen, and what it said on its error output; of one without a pane, what it noted of its own work. */
  async capture(place: AgentTrace): Promise<Capture> {
    const { placement, paths } = place
    const found = placement && (await this.#session?.find({ ...place, placement }, 0))
    const screen = typeof found === 'object' ? await this.#session?.screen(found) : undefined
    return screen === undefined ? notedAndSaid(this.#ports.fs, paths) : shownAndSaid(screen, paths)
  }

  async processes(place: AgentPlace): Promise<readonly AgentProcess[]> {
    return this.#agents.of(place)
  }

  /** @throws HerdrError - its pane is not proven to be its pane, or herdr says no */
  async focus(place: AgentPlace, where?: Pane): Promise<'focused' | 'changed'> {
    const session = this.#inside()
    const found = await session.find(place, 0)
    if (typeof found !== 'object')
      throw new HerdrError({
        code: 'pane_not_found',
        method: 'pane.focus',
        outcome: 'refused',
        message: 'Its pane cannot be found now. List agents again.',
      })
    const { workspace_id, tab_id, pane_id } = found
    const isThere =
      where === undefined ||
      (where.workspace === workspace_id && where.tab === tab_id && where.pane === pane_id)
    if (!isThere) return 'changed'
    await session.client.request('pane.focus', { pane_id })
    return 'focused'
  }

  async stop(place: AgentPlace, reason: StopReason): Promise<Stopped> {
    const found = (await this.#session?.find(place, 0)) ?? 'unseen'
    const kept = reason === 'delivered' ? this.#mayKeep(place, found) : undefined
    if (kept !== undefined) return kept
    // Many wait for the same inventory, and each reads the whole process table: one in a turn of the event loop.
    await this.#ends.add(() => this.#ports.clock.yield())
    if (place.placement.process === undefined) return this.#stopUnnamed(place, found)
    const ended = await this.#agents.end(place)
    if (ended.outcome !== 'gone' || typeof found !== 'object') return ended
    const left = await this.#session?.closePane(found)
    return left === undefined ? ended : { outcome: 'unproven', why: left }
  }

  /** Whether a person has what was delivered; undefined where it is to be ended. */
  #mayKeep({ placement }: AgentPlace, found: Found): Stopped | undefined {
    if (presenceIn(this.#ports.processes, placement.process) !== 'live') return undefined
    if (this.#ports.keepsPanes() || (typeof found === 'object' && found.focused))
      return { outcome: 'kept' }
    if (found !== 'unseen' || this.#session === undefined) return undefined
    return {
      outcome: 'unproven',
      why: 'herdr does not answer, so it cannot be seen whether a person is in its pane',
    }
  }

  /**
   * One that has not named its process: what was opened for it is closed, where it is found; and what bears its mark is
   * ended, wherever it runs.
   */
  async #stopUnnamed({ generation, paths, placement }: AgentPlace, found: Found): Promise<Stopped> {
    const name = generation.identity.generation
    const isRun = !withdrawLaunch(paths)
    const left = typeof found === 'object' ? await this.#session?.closePane(found) : undefined
    if (left !== undefined) return { outcome: 'unproven', why: left }
    endShells(this.#ports.processes, name)
    if (isRun && (found !== 'absent' || placement.pane === undefined))
      await this.#marked(name, inventoryMs)
    const ended = await this.#agents.endMarked(name)
    if (ended.outcome !== 'gone' || ended.ended.length > 0 || !isRun) return ended
    if (found !== 'unseen' || this.#agents.seesMarks) return ended
    return { outcome: 'unproven', why: 'herdr does not answer, and its process cannot be found' }
  }

  /** Waits a while for the mark of a launch that may have been run just now. */
  async #marked(generation: string, timeoutMs: number): Promise<void> {
    const { clock } = this.#ports
    const deadline = clock.monotonic() + timeoutMs
    while (!this.#agents.isMarked(generation) && clock.monotonic() < deadline)
      await new Promise<void>((resolve) => clock.after(inventoryMs / 20, resolve))
  }

  pane(place: AgentPlace): PaneView | undefined {
    return this.#session?.finder.seen(place)
  }

  onChange(listener: () => void): () => void {
    return this.#session?.onChange(listener) ?? (() => {})
  }

  /** Lets go of the server. Agents and their panes stay. */
  close(): void {
    this.#session?.close()
  }

  #inside(): HerdrSession {
    if (this.#session === undefined) throw new Error('this Pi does not run inside herdr')
    return this.#session
  }
}
