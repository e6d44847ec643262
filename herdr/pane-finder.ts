import type { AgentPlace, PaneView } from '../actors/index.ts'
import { isSameProcess, type Processes, type ProcessIdentity } from '../mailbox/index.ts'
import type { HerdrClient } from './client.ts'
import { HerdrError, isUnsupported } from './errors.ts'
import type { Inventory } from './inventory.ts'
import type { PaneInfo } from './records.ts'
import type { PaneWatch } from './watch.ts'

/**
 * What an inventory says of an agent's pane. `absent`: it is complete and has none. `contradictory`: there is a pane
 * in its place that is not proven to be its. `unseen`: herdr cannot be asked now.
 */
export type Found = PaneInfo | 'absent' | 'contradictory' | 'unseen'

/**
 * Finds the panes of agents again. A person may move them, which keeps their terminal; a live handoff of the server
 * gives each a new terminal, and then only the agent's process in it proves which one it is.
 */
export class PaneFinder {
  readonly #client: HerdrClient
  readonly #watch: PaneWatch
  readonly #processes: Processes
  /** Which process was proven to be in which terminal. */
  readonly #proven = new Map<string, ProcessIdentity>()
  #latest: Inventory | undefined

  constructor(client: HerdrClient, watch: PaneWatch, processes: Processes) {
    this.#client = client
    this.#watch = watch
    this.#processes = processes
  }

  /** @param maxAgeMs how old the inventory may be */
  async find(place: AgentPlace, maxAgeMs: number): Promise<Found> {
    const { pane: placed } = place.placement
    if (placed === undefined) return 'absent'
    if (placed.server !== this.#client.socketPath) return 'unseen' // another herdr has it
    try {
      const inventory = await this.#watch.panes(maxAgeMs)
      if (inventory !== this.#latest) this.#forgetAllBut(inventory) // many agents share one inventory
      this.#latest = inventory
      const { pane, isIts } = candidate(place, inventory, this.#proven)
      if (pane === undefined) return 'absent'
      if (isIts && place.placement.process === undefined) return pane
      return (await this.#holds(pane, place, isIts)) ? pane : 'contradictory'
    } catch (error) {
      if (error instanceof HerdrError) return 'unseen'
      throw error
    }
  }

  /** The pane of an agent in the latest inventory. */
  seen(place: AgentPlace): PaneView | undefined {
    const inventory = this.#latest
    const placed = place.placement.pane
    if (inventory === undefined || placed?.server !== this.#client.socketPath) return undefined
    const { pane } = candidate(place, inventory, this.#proven)
    if (pane === undefined) return undefined
    const tab = inventory.tabs.find(({ tab_id }) => tab_id === pane.tab_id)
    return {
      workspace: pane.workspace_id,
      tab: pane.tab_id,
      pane: pane.pane_id,
      terminal: pane.terminal_id,
      server: placed.server,
      ...(tab && { tabLabel: tab.label }),
    }
  }

  /** Whether a pane holds the agent's process, as far as herdr tells of processes. */
  async #holds(pane: PaneInfo, place: AgentPlace, isIts: boolean): Promise<boolean> {
    const { process } = place.placement
    if (process === undefined) return false
    const proven = this.#proven.get(pane.terminal_id)
    if (proven !== undefined && isSameProcess(proven, process)) return true
    try {
      const { process_info: info } = await this.#client.request('pane.process_info', {
        pane_id: pane.pane_id,
      })
      const pids = [info.shell_pid, ...info.foreground_processes.map(({ pid }) => pid)]
      if (!pids.some((pid) => pid !== undefined && this.#isOrHolds(pid, process))) return false
    } catch (error) {
      if (!(error instanceof HerdrError)) throw error
      if (!isUnsupported(error)) throw error
      return isIts // its terminal is all there is to go by
    }
    this.#proven.set(pane.terminal_id, process)
    return true
  }

  #isOrHolds(pid: number, process: ProcessIdentity): boolean {
    const root = this.#processes.identify(pid)
    if (root === undefined) return false
    return (
      isSameProcess(root, process) ||
      this.#processes.descendants(root).some((below) => isSameProcess(below, process))
    )
  }

  #forgetAllBut({ panes }: Inventory): void {
    for (const terminal of this.#proven.keys())
      if (!panes.some(({ terminal_id }) => terminal_id === terminal)) this.#proven.delete(terminal)
  }
}

interface Candidate {
  readonly pane: PaneInfo | undefined
  /** Its terminal is the one the agent was put in. */
  readonly isIts: boolean
}

function candidate(
  { placement }: AgentPlace,
  { panes }: Inventory,
  proven: ReadonlyMap<string, ProcessIdentity>,
): Candidate {
  const { pane: placed, process } = placement
  const its = panes.filter(({ terminal_id }) => terminal_id === placed?.terminal)
  if (its.length === 1) return { pane: its[0], isIts: true }
  const known = panes.find(({ terminal_id }) => {
    const inIt = proven.get(terminal_id)
    return inIt !== undefined && process !== undefined && isSameProcess(inIt, process)
  })
  const pane = known ?? panes.find(({ pane_id }) => pane_id === placed?.pane)
  return { pane, isIts: false }
}
