import { statSync } from 'node:fs'
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
import type { Clock, Ids, MailboxFs, Pane, Placement, Processes } from '../mailbox/index.ts'
import type { HerdrClient } from './client.ts'
import { HerdrError, isNotFound } from './errors.ts'
import { Launcher, withdrawLaunch } from './launcher.ts'
import { OwnPane } from './own-pane.ts'
import { type Found, PaneFinder } from './pane-finder.ts'
import { PaneOpener } from './pane-opener.ts'
import type { PaneInfo } from './records.ts'
import { PaneWatch } from './watch.ts'

export interface HerdrRunnerPorts {
  readonly fs: MailboxFs
  readonly processes: Processes
  readonly clock: Clock
  readonly ids: Ids
  /** Absent outside herdr: agents of an earlier life are still seen by their processes. */
  readonly herdr?: { readonly client: HerdrClient; readonly pane: string }
  /** Whether a pane stays for the person once its agent's result is delivered. */
  readonly keepsPanes: () => boolean
}

/** How old an inventory may be by which an agent is seen, ms; what acts on one takes a new one. */
const inventoryMs = 1_000
/** herdr ends the processes of a pane one after another before it answers, ms. */
const closeMs = 10_000
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

  async start({ generation, paths, launch }: StartOrder<Launch>): Promise<Placement> {
    const { own, opener } = this.#inside()
    const command = launch(generation, paths, 'terminal')
    // herdr itself would silently take the home directory instead.
    if (!statSync(command.cwd, { throwIfNoEntry: false })?.isDirectory())
      throw new Error(`its directory ${command.cwd} does not exist`)
    const surroundings = { own: await own.find(), placement: command.placement }
    const launcher = new Launcher(paths, command)
    try {
      const pane = await opener.open(launcher, generation.identity, surroundings)
      const { workspace_id: workspace, tab_id: tab, pane_id, terminal_id: terminal } = pane
      return { runner: this.name, pane: { workspace, tab, pane: pane_id, terminal } }
    } catch (error) {
      // herdr may have done what it did not answer to, or do it yet.
      if (!launcher.withdraw()) await this.#endUntold(generation.identity.generation, error)
      throw error
    }
  }

  /** Ends what runs although its start is not known to have succeeded. */
  async #endUntold(generation: string, error: unknown): Promise<void> {
    if (error instanceof HerdrError && error.outcome === 'unknown')
      await this.#marked(generation, markMs)
    await this.#agents.endMarked(generation)
  }

  async observe(place: AgentPlace): Promise<Presence> {
    const { process, pane } = place.placement
    if (process === undefined) return this.#observePane(place)
    const presence = presenceIn(this.#ports.processes, process)
    // Whoever put it into a pane may have died before it could say into which.
    if (presence !== 'live' || pane === undefined || this.#session === undefined) return presence
    const found = await this.#session.finder.find(place, inventoryMs)
    // Its process is proof enough where herdr says nothing; a pane that is not there contradicts it.
    return found === 'unseen' || typeof found === 'object' ? 'live' : 'unknown'
  }

  /** Before an agent has named its process. */
  async #observePane(place: AgentPlace): Promise<Presence> {
    const { generation } = place.generation.identity
    const found = (await this.#session?.finder.find(place, inventoryMs)) ?? 'unseen'
    const isThere = typeof found === 'object'
    if (isThere || found === 'unseen' || this.#agents.isMarked(generation)) {
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
    const found = placement && (await this.#session?.finder.find({ ...place, placement }, 0))
    const screen = typeof found === 'object' ? await this.#session?.screen(found) : undefined
    return screen === undefined ? notedAndSaid(this.#ports.fs, paths) : shownAndSaid(screen, paths)
  }

  async processes(place: AgentPlace): Promise<readonly AgentProcess[]> {
    return this.#agents.of(place)
  }

  /** @throws HerdrError - its pane is not proven to be its pane, or herdr says no */
  async focus(place: AgentPlace, where?: Pane): Promise<'focused' | 'changed'> {
    const { client, finder } = this.#inside()
    const found = await finder.find(place, 0)
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
    await client.request('pane.focus', { pane_id: found.pane_id })
    return 'focused'
  }

  async stop(place: AgentPlace, reason: StopReason): Promise<Stopped> {
    const found = (await this.#session?.finder.find(place, 0)) ?? 'unseen'
    const isShown = typeof found === 'object'
    if (isShown && reason === 'delivered' && (this.#ports.keepsPanes() || found.focused))
      return { outcome: 'kept' }
    if (place.placement.process === undefined) return this.#stopUnnamed(place, found)
    const ended = await this.#agents.end(place)
    if (ended.outcome !== 'gone' || !isShown) return ended
    const left = await this.#session?.close(found)
    return left === undefined ? ended : { outcome: 'unproven', why: left }
  }

  /**
   * One that has not named its process: what was opened for it is closed, where it is found; and what bears its mark is
   * ended, wherever it runs.
   */
  async #stopUnnamed({ generation, paths }: AgentPlace, found: Found): Promise<Stopped> {
    const name = generation.identity.generation
    const isRun = !withdrawLaunch(paths)
    const left = typeof found === 'object' ? await this.#session?.close(found) : undefined
    if (left !== undefined) return { outcome: 'unproven', why: left }
    if (isRun && found !== 'absent') await this.#marked(name, inventoryMs)
    return this.#agents.endMarked(name)
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
    return this.#session?.watch.onChange(listener) ?? (() => {})
  }

  /** Lets go of the server. Agents and their panes stay. */
  close(): void {
    this.#session?.watch.close()
  }

  #inside(): HerdrSession {
    if (this.#session === undefined) throw new Error('this Pi does not run inside herdr')
    return this.#session
  }
}

/** The herdr this process lives in. */
class HerdrSession {
  readonly client: HerdrClient
  readonly watch: PaneWatch
  readonly own: OwnPane
  readonly finder: PaneFinder
  readonly opener: PaneOpener

  constructor({ processes, clock, ids }: HerdrRunnerPorts, client: HerdrClient, pane: string) {
    this.client = client
    this.watch = new PaneWatch(client, clock)
    this.own = new OwnPane(client, processes, clock, pane)
    this.finder = new PaneFinder(client, this.watch, processes)
    this.opener = new PaneOpener(client, this.watch, { clock, ids, processes })
  }

  /** What a pane shows; undefined where that cannot be had now. */
  async screen({ pane_id }: PaneInfo): Promise<readonly string[] | undefined> {
    try {
      for (const source of ['recent_unwrapped', 'visible'] as const) {
        const { read } = await this.client.request('pane.read', { pane_id, source, lines: 80 })
        const text = read.text.trimEnd()
        if (text !== '') return text.split('\n').map((line) => line.trimEnd())
      }
    } catch {
      // It went away, or herdr does not answer.
    }
    return undefined
  }

  /**
   * Closes a pane that was just seen to be ours. Its terminal may be another one by now: where a live handoff took it
   * over, a shell follows what ran in it. Says why it is left, if it is.
   */
  async close({ pane_id }: PaneInfo): Promise<string | undefined> {
    try {
      await this.client.request('pane.close', { pane_id }, closeMs)
    } catch (error) {
      if (!(error instanceof HerdrError)) throw error
      if (isNotFound(error) || error.code === 'not_running') return undefined
      if (error.code === 'confirmation_required') return undefined // herdr asks the person now
      return `its pane ${pane_id} could not be closed: ${error.message}`
    }
    return undefined
  }
}
