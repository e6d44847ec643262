import type { HerdrEvent, PaneInfo, TabInfo } from './records.ts'

/** All panes and tabs of a session, as one look showed them. */
export interface Inventory {
  /** When the look began, on the clock that never jumps, ms: all that is here was so then or later. */
  readonly at: number
  readonly panes: readonly PaneInfo[]
  readonly tabs: readonly TabInfo[]
}

/** Whether two looks show the same panes, by their terminals, in the same places. Titles and states may differ. */
export function isSamePlacement(one: Inventory, other: Inventory): boolean {
  return placement(one) === placement(other)
}

/** Whether an event says that something is gone which this inventory has. */
export function isAboutLoss(event: HerdrEvent, { panes, tabs }: Inventory): boolean {
  switch (event.kind) {
    case 'pane.exited':
    case 'pane.closed':
      return panes.some(({ pane_id }) => pane_id === event.pane_id)
    case 'tab.closed':
      return tabs.some(({ tab_id }) => tab_id === event.tab_id)
    case 'workspace.closed':
      return tabs.some(({ workspace_id }) => workspace_id === event.workspace_id)
    default:
      return false
  }
}

function placement({ panes, tabs }: Inventory): string {
  const paneKeys = panes.map((pane) =>
    JSON.stringify([pane.pane_id, pane.terminal_id, pane.tab_id, pane.workspace_id]),
  )
  const tabKeys = tabs.map((tab) => JSON.stringify([tab.tab_id, tab.workspace_id]))
  return JSON.stringify([paneKeys.sort(), tabKeys.sort()])
}
