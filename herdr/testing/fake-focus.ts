import { refresh } from './fake-agents.ts'
import type { Stage } from './fake-stage.ts'
import type { Pane, Tab, Workspace } from './fake-world.ts'

/** What a person looks at changes; all three events come, even if only the pane changed. */
export function focusPane(stage: Stage, pane: Pane): void {
  const { tab, workspace } = pane
  tab.focused = pane
  workspace.active = tab
  stage.world.active = workspace
  stage.emit('workspace_focused', { workspace_id: workspace.id })
  stage.emit('tab_focused', { tab_id: tab.id, workspace_id: workspace.id })
  stage.emit('pane_focused', { pane_id: pane.id, workspace_id: workspace.id })
  for (const each of tab.panes) refresh(stage, each)
}

export function focusTab(stage: Stage, tab: Tab): void {
  if (tab.focused !== undefined) focusPane(stage, tab.focused)
}

export function focusWorkspace(stage: Stage, workspace: Workspace): void {
  if (workspace.active !== undefined) focusTab(stage, workspace.active)
}
