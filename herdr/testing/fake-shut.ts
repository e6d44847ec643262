import { paneEnvironment } from './fake-environment.ts'
import { fitPanes, layoutInfo, workspaceInfo } from './fake-info.ts'
import type { Stage } from './fake-stage.ts'
import { Terminal } from './fake-terminal.ts'
import { without } from './fake-tree.ts'
import type { Pane, Tab, Workspace } from './fake-world.ts'

/** Hears of the end of a pane's process, in its turn. */
export function watchExit(stage: Stage, pane: Pane): void {
  const { terminal } = pane
  terminal.gone.then(() =>
    stage.run(() => {
      if (pane.terminal === terminal && !pane.isGone && !stage.isStopping) exited(stage, pane)
    }),
  )
}

export async function closePane(stage: Stage, pane: Pane): Promise<void> {
  await pane.terminal.end()
  const { workspace, tab } = pane
  const before = workspaceInfo(stage.world, workspace)
  takeOut(stage, pane)
  stage.emit('pane_closed', { pane_id: pane.id, workspace_id: workspace.id })
  tellLayout(stage, tab)
  if (workspace.tabs.length === 0) tellWorkspaceClosed(stage, workspace, before)
}

export async function closeTab(stage: Stage, tab: Tab): Promise<void> {
  await endPanes(tab.panes)
  const { workspace } = tab
  const before = workspaceInfo(stage.world, workspace)
  forgetTab(stage, tab)
  stage.emit('tab_closed', { tab_id: tab.id, workspace_id: workspace.id })
  if (workspace.tabs.length === 0) tellWorkspaceClosed(stage, workspace, before)
}

export async function closeWorkspace(stage: Stage, workspace: Workspace): Promise<void> {
  await endPanes(workspace.panes)
  const before = workspaceInfo(stage.world, workspace)
  for (const tab of [...workspace.tabs]) forgetTab(stage, tab)
  tellWorkspaceClosed(stage, workspace, before)
}

/** Takes a pane out of its tab without a word, and what is empty then. */
export function takeOut(stage: Stage, pane: Pane): void {
  detach(pane)
  stage.world.remove(pane)
  if (stage.world.has(pane.tab)) fitPanes(stage.world, pane.tab)
}

/** Takes a pane out of its tab; it lives on. */
export function detach(pane: Pane): void {
  const { tab } = pane
  tab.tree = tab.tree === undefined ? undefined : without(tab.tree, pane)
  if (tab.focused === pane) tab.focused = tab.panes[0]
}

export function tellLayout(stage: Stage, tab: Tab): void {
  if (stage.world.has(tab)) stage.emit('layout_updated', { layout: layoutInfo(stage.world, tab) })
}

export function tellWorkspaceClosed(stage: Stage, { id }: Workspace, before: object): void {
  stage.emit('workspace_closed', { workspace_id: id, workspace: before })
}

async function endPanes(panes: readonly Pane[]): Promise<void> {
  for (const pane of panes) await pane.terminal.end()
}

function forgetTab(stage: Stage, tab: Tab): void {
  for (const pane of tab.panes) pane.isGone = true
  tab.tree = undefined
  stage.world.removeTab(tab)
}

function exited(stage: Stage, pane: Pane): void {
  if (pane.isHandedOver && pane.argv !== undefined) {
    becomeShell(stage, pane)
    return
  }
  const workspace_id = pane.workspace.id
  const { agent, tab } = pane
  if (agent.shownLabel !== undefined)
    stage.emit('pane_agent_detected', {
      pane_id: pane.id,
      workspace_id,
      agent: agent.shownLabel,
      released: true,
      final_status: agent.status,
    })
  takeOut(stage, pane)
  stage.emit('pane_exited', { pane_id: pane.id, workspace_id })
  tellLayout(stage, tab)
}

/** A plain shell in a new terminal takes the place of what ran in the pane. */
export function becomeShell(stage: Stage, pane: Pane): void {
  const { setting, world } = stage
  pane.argv = undefined
  pane.isHandedOver = false
  pane.terminal = Terminal.start({
    argv: [setting.shell],
    cwd: pane.cwd,
    env: paneEnvironment(setting, pane, {}),
    cols: setting.cols,
    rows: setting.rows,
  })
  fitPanes(world, pane.tab)
  watchExit(stage, pane)
}
