import type PQueue from 'p-queue'
import type { Clock, Identity } from '../mailbox/index.ts'
import type { HerdrClient } from './client.ts'
import { HerdrError, isNotFound, isUnsupported } from './errors.ts'
import type { Launcher } from './launcher.ts'
import { chooseSpot, type Spot } from './placement.ts'
import type { PaneInfo } from './protocol.ts'
import { runTyped } from './typed-start.ts'
import type { PaneWatch } from './watch.ts'

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
  readonly #oneByOne: PQueue
  readonly #opened: Opened
  /** Whether this server runs exact commands, as far as is known. */
  #runsCommands = true

  constructor(client: HerdrClient, watch: PaneWatch, clock: Clock, oneByOne: PQueue) {
    this.#client = client
    this.#watch = watch
    this.#clock = clock
    this.#oneByOne = oneByOne
    this.#opened = openedIn(client.socketPath)
  }

  /**
   * @returns the pane, in which the launcher has been run
   * @throws Error - it was not; what was opened for it is closed again
   */
  async open(
    launcher: Launcher,
    { label }: Identity,
    { own, placement }: { readonly own: PaneInfo; readonly placement: 'tab' | 'split' },
  ): Promise<PaneInfo> {
    // Two at once would choose the same place.
    const opened = await this.#oneByOne.add(async () => {
      const { panes } = await this.#watch.panes(0)
      const spot = chooseSpot({ ...{ own, placement, panes }, ...this.#opened })
      const pane = await this.#openAt(spot, launcher, label)
      this.#opened.terminals.add(pane.pane.terminal_id)
      return pane
    })
    try {
      if (opened.isShell) await runTyped(this.#client, this.#clock, opened.pane, launcher)
    } catch (error) {
      throw withCleanup(error as Error, await this.#takeBack(opened.pane))
    }
    void this.#dress(opened.pane, label)
    return opened.pane
  }

  async #openAt(
    spot: Spot,
    launcher: Launcher,
    label: string,
  ): Promise<{ readonly pane: PaneInfo; readonly isShell: boolean }> {
    const focus = false
    if (spot.at === 'split') {
      const { target: target_pane_id, direction } = spot
      const { pane } = await this.#client.request('pane.split', {
        ...{ target_pane_id, direction, focus },
      })
      return { pane, isShell: true }
    }
    if (this.#runsCommands)
      try {
        const { layout } = await this.#client.request('layout.apply', {
          workspace_id: spot.workspace,
          tab_label: tabLabel,
          focus,
          root: { type: 'pane', label, command: launcher.argv },
        })
        this.#opened.tabs.push(layout.tab_id)
        return { pane: await this.#paneOf(layout.root.pane_id), isShell: false }
      } catch (error) {
        if (!(error instanceof HerdrError && isUnsupported(error))) throw error
        this.#runsCommands = false
      }
    const { root_pane: pane } = await this.#client.request('tab.create', {
      workspace_id: spot.workspace,
      focus,
      label: tabLabel,
    })
    this.#opened.tabs.push(pane.tab_id)
    return { pane, isShell: true }
  }

  async #paneOf(pane_id: string): Promise<PaneInfo> {
    try {
      return (await this.#client.request('pane.get', { pane_id })).pane
    } catch (error) {
      if (error instanceof HerdrError && isNotFound(error))
        throw new Error('its process ended at once')
      throw error
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

  /** Why the pane is left, where it is. */
  async #takeBack({ pane_id, terminal_id }: PaneInfo): Promise<string | undefined> {
    try {
      const { pane } = await this.#client.request('pane.get', { pane_id })
      if (pane.terminal_id === terminal_id) await this.#client.request('pane.close', { pane_id })
      return undefined
    } catch (error) {
      if (!(error instanceof HerdrError)) throw error
      return isNotFound(error) ? undefined : error.message
    }
  }
}

const withCleanup = (error: Error, left: string | undefined): Error =>
  left === undefined ? error : new Error(`${error.message}; its pane may be left: ${left}`)

const registry = Symbol.for('drover.herdr.opened')

/** By the server: a process has one as a rule. */
function openedIn(socketPath: string): Opened {
  const global = globalThis as { [registry]?: Map<string, Opened> }
  global[registry] ??= new Map()
  const known = global[registry].get(socketPath) ?? { tabs: [], terminals: new Set() }
  global[registry].set(socketPath, known)
  return known
}
