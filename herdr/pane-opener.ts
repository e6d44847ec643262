import PQueue from 'p-queue'
import { LeftBehind } from '../actors/index.ts'
import type { Clock, Identity, Processes } from '../mailbox/index.ts'
import type { HerdrClient } from './client.ts'
import { HerdrError, isNotFound, isUnsupported } from './errors.ts'
import type { Launcher } from './launcher.ts'
import { chooseSpot, type Spot } from './placement.ts'
import type { PaneInfo } from './records.ts'
import { runTyped } from './typed-start.ts'
import type { PaneWatch } from './watch.ts'

interface OpenedPane {
  readonly pane: PaneInfo
  readonly isShell: boolean
}

/** What a pane is opened for. */
type Named = Pick<Identity, 'label' | 'generation'>

/** In the environment of a shell that was opened for an agent: whose it is can be told by that. */
const markVariable = 'DROVER_PANE'

/** What herdr did not answer to may be done a moment later: so often it is looked for, ms apart. */
const untoldLooksMax = 8
const untoldLookMs = 250

/** A server that is just being replaced answers again soon. */
const closeAttemptsMax = 3

/** What tabs for agents are called, for the person. */
const tabLabel = 'agents'

/** What this process has opened, whatever life of its extension opened it. */
interface Opened {
  readonly tabs: string[]
  readonly terminals: Set<string>
}

/** Opens panes, each in its place, and has a launcher run in it. */
export class PaneOpener {
  readonly #client: HerdrClient
  readonly #watch: PaneWatch
  readonly #clock: Clock
  readonly #processes: Processes
  readonly #oneByOne: PQueue = new PQueue({ concurrency: 1 })
  readonly #opened: Opened
  /** What this server can do, as far as is known. */
  readonly #can = { runCommands: true, setEnvironment: true }

  constructor(
    client: HerdrClient,
    watch: PaneWatch,
    { clock, processes }: { clock: Clock; processes: Processes },
  ) {
    this.#client = client
    this.#watch = watch
    this.#clock = clock
    this.#processes = processes
    this.#opened = openedIn(client.socketPath)
  }

  /**
   * @returns the pane, in which the launcher has been run
   * @throws Error - it was not; what was opened for it is closed again
   */
  async open(
    launcher: Launcher,
    { label, generation }: Identity,
    { own, placement }: { readonly own: PaneInfo; readonly placement: 'tab' | 'split' },
    signal?: AbortSignal,
  ): Promise<PaneInfo> {
    // Two at once would choose the same place.
    const opened = await this.#oneByOne.add(async () => {
      signal?.throwIfAborted()
      const { panes } = await this.#watch.panes(0)
      const spot = chooseSpot({ ...{ own, placement, panes }, ...this.#opened })
      const pane = await this.#openAt(spot, launcher, { label, generation })
      this.#opened.terminals.add(pane.pane.terminal_id)
      this.#watch.doubt()
      return pane
    })
    try {
      if (opened.isShell) await runTyped(this.#client, this.#clock, opened.pane, launcher, signal)
    } catch (error) {
      throw withCleanup(error, await this.#takeBack(opened.pane.pane_id))
    }
    void this.#dress(opened.pane, label)
    return opened.pane
  }

  async #openAt(spot: Spot, launcher: Launcher, { label, generation }: Named): Promise<OpenedPane> {
    const { workspace, at } = spot
    if (at === 'new-tab' && this.#can.runCommands) {
      const pane = await this.#openCommand(workspace, launcher, label)
      if (pane !== undefined) return { pane, isShell: false }
    }
    const pane = await this.#openShell(spot, generation)
    if (at === 'new-tab') this.#opened.tabs.push(pane.tab_id)
    return { pane, isShell: true }
  }

  /** @returns undefined where this server runs no exact commands */
  async #openCommand(
    workspace_id: string,
    launcher: Launcher,
    label: string,
  ): Promise<PaneInfo | undefined> {
    const root = { type: 'pane', label, command: launcher.argv } as const
    try {
      const { layout } = await this.#client.request('layout.apply', {
        ...{ workspace_id, tab_label: tabLabel, focus: false, root },
      })
      this.#opened.tabs.push(layout.tab_id)
      return await this.#paneOf(layout.focused_pane_id)
    } catch (error) {
      if (!isUnsupported(error)) throw error
      this.#can.runCommands = false
      return undefined
    }
  }

  /** A shell of which it can be told afterwards that it is ours, should herdr not answer. */
  async #openShell(spot: Spot, generation: string): Promise<PaneInfo> {
    const env = this.#can.setEnvironment ? { env: { [markVariable]: generation } } : {}
    try {
      if (spot.at === 'new-tab') {
        const { workspace: workspace_id } = spot
        const place = { workspace_id, label: tabLabel, focus: false } as const
        return (await this.#client.request('tab.create', { ...place, ...env })).root_pane
      }
      const { target: target_pane_id, direction } = spot
      const place = { target_pane_id, direction, focus: false } as const
      return (await this.#client.request('pane.split', { ...place, ...env })).pane
    } catch (error) {
      if (this.#can.setEnvironment && isUnsupported(error)) {
        this.#can.setEnvironment = false
        return this.#openShell(spot, generation)
      }
      if (error instanceof HerdrError && error.outcome === 'unknown')
        await this.#endUntold(generation)
      throw error
    }
  }

  /** Ends a shell that herdr opened, or opens yet, without telling us; its pane goes with it. */
  async #endUntold(generation: string): Promise<void> {
    for (let look = 1; look <= untoldLooksMax; look++) {
      endShells(this.#processes, generation)
      await new Promise<void>((resolve) => this.#clock.after(untoldLookMs, resolve))
    }
  }

  async #paneOf(pane_id: string): Promise<PaneInfo> {
    try {
      return (await this.#client.request('pane.get', { pane_id })).pane
    } catch (error) {
      // It has ended, or is not listed yet.
      const left = await this.#takeBack(pane_id)
      throw withCleanup(isNotFound(error) ? new Error('its process ended at once') : error, left)
    }
  }

  /** Names it for the person. Display only: nothing depends on it. */
  async #dress({ pane_id }: PaneInfo, label: string): Promise<void> {
    try {
      await this.#client.request('pane.rename', { pane_id, label })
      const tokens = { drover: label }
      await this.#client.request('pane.report_metadata', { pane_id, source: 'drover', tokens })
    } catch (error) {
      if (!(error instanceof HerdrError)) throw error
    }
  }

  /** Closes a pane that was just opened. Says why it is left, where it is. */
  async #takeBack(pane_id: string): Promise<string | undefined> {
    let left = ''
    for (let attempt = 1; attempt <= closeAttemptsMax; attempt++)
      try {
        await this.#client.request('pane.close', { pane_id })
        return undefined
      } catch (error) {
        if (!(error instanceof HerdrError)) throw error
        if (isNotFound(error)) return undefined
        left = error.message
      }
    return left
  }
}

const withCleanup = (error: unknown, left: string | undefined): unknown =>
  left === undefined ? error : new LeftBehind((error as Error).message, left, error)

/** Ends shells that were opened for an agent and never became it. */
export function endShells(processes: Processes, generation: string): void {
  for (const shell of processes.marked({ variable: markVariable, value: generation }))
    processes.signal(shell, 'SIGKILL') // an interactive shell ignores what asks it to end
}

const registry = Symbol.for('drover.herdr.opened')

/** By the server: a process has one as a rule. */
function openedIn(socketPath: string): Opened {
  const global = globalThis as { [registry]?: Map<string, Opened> }
  global[registry] ??= new Map()
  const known = global[registry].get(socketPath) ?? { tabs: [], terminals: new Set() }
  global[registry].set(socketPath, known)
  return known
}
