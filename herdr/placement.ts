import type { PaneInfo } from './records.ts'

/** Panes that a tab with agents holds at most, the person's own counted: more are too small to be read. */
export const panesPerTabMax = 4

/** Where an agent's pane is opened. */
export type Spot =
  | { readonly at: 'new-tab'; readonly workspace: string }
  | {
      readonly at: 'split'
      readonly workspace: string
      readonly target: string
      readonly direction: 'right' | 'down'
    }

export interface Surroundings {
  /** `tab`: with the other agents of this process, in tabs of their own. `split`: beside the owner. */
  readonly placement: 'tab' | 'split'
  /** The owner's own pane. */
  readonly own: PaneInfo
  /** All panes there are, as a complete inventory has them. */
  readonly panes: readonly PaneInfo[]
  /** Tabs this process has opened for its agents, by the ids it was given; some may be gone. */
  readonly tabs: readonly string[]
  /** Terminals this process has opened. */
  readonly terminals: ReadonlySet<string>
}

/** Where the next agent goes. A full tab is left alone; what does not fit goes into another tab of the same workspace. */
export function chooseSpot(surroundings: Surroundings): Spot {
  const { placement, own, panes, tabs, terminals } = surroundings
  const beside = panes.filter(({ tab_id }) => tab_id === own.tab_id)
  if (placement === 'split' && beside.length < panesPerTabMax) {
    const last = beside.findLast(({ terminal_id }) => terminals.has(terminal_id))
    return last === undefined ? split(own, 'right') : split(last, 'down')
  }
  for (const tab of tabs) {
    const inTab = panes.filter(({ tab_id }) => tab_id === tab)
    const target = inTab[inTab.length === 3 ? 1 : 0] // two columns, then two rows in each
    if (target === undefined || inTab.length >= panesPerTabMax) continue
    if (target.workspace_id !== own.workspace_id) continue
    return split(target, inTab.length === 1 ? 'right' : 'down')
  }
  return { at: 'new-tab', workspace: own.workspace_id }
}

const split = ({ workspace_id, pane_id }: PaneInfo, direction: 'right' | 'down'): Spot => ({
  at: 'split',
  workspace: workspace_id,
  target: pane_id,
  direction,
})
