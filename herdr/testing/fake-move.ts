import { focusPane } from './fake-focus.ts'
import { fitPanes, layoutInfo, paneInfo, tabInfo, workspaceInfo } from './fake-info.ts'
import { type Direction, Refusal } from './fake-records.ts'
import { detach, tellLayout, tellWorkspaceClosed } from './fake-shut.ts'
import type { Stage } from './fake-stage.ts'
import { divided } from './fake-tree.ts'
import type { Pane, Tab, Workspace } from './fake-world.ts'

export type Destination =
  | {
      readonly type: 'tab'
      readonly tab: Tab
      readonly split: Direction
      readonly target?: Pane | undefined
      readonly ratio?: number | undefined
    }
  | {
      readonly type: 'new_tab'
      readonly workspace: Workspace
      readonly label?: string | undefined
    }
  | {
      readonly type: 'new_workspace'
      readonly label?: string | undefined
      readonly tabLabel?: string | undefined
    }

interface Goal {
  readonly tab: Tab
  readonly createdTab: boolean
  readonly createdWorkspace: boolean
}

/** Moves a pane; in another workspace it gets another id, and keeps the old one as an alias. */
export function movePane(stage: Stage, pane: Pane, to: Destination, focus: boolean): object {
  const { world } = stage
  const source = pane.tab
  const previous = {
    previous_pane_id: pane.id,
    previous_workspace_id: source.workspace.id,
    previous_tab_id: source.id,
  }
  if (to.type === 'tab' && to.tab === source)
    return {
      changed: false,
      reason: 'same_tab',
      ...previous,
      pane: paneInfo(world, pane),
      focused_pane_id: source.focused?.id ?? '',
      target_layout: layoutInfo(world, source),
    }
  const sourceBefore = workspaceInfo(world, source.workspace)
  const goal = goalOf(stage, to)
  detach(pane)
  world.dropEmpty(source)
  settleIn(stage, pane, goal.tab, to)
  const changes = told(stage, source, sourceBefore, goal)
  stage.emit('pane_moved', { ...previous, pane: paneInfo(world, pane), ...changes })
  tellLayout(stage, source)
  tellLayout(stage, goal.tab)
  if (focus) focusPane(stage, pane)
  return {
    changed: true,
    ...previous,
    pane: paneInfo(world, pane),
    ...changes,
    focused_pane_id: goal.tab.focused?.id ?? '',
    ...(world.has(source) && { source_layout: layoutInfo(world, source) }),
    target_layout: layoutInfo(world, goal.tab),
  }
}

function goalOf({ world }: Stage, to: Destination): Goal {
  switch (to.type) {
    case 'tab':
      if (to.target !== undefined && to.target.tab !== to.tab)
        throw new Refusal('target_pane_not_found', 'the target pane is not in that tab')
      return { tab: to.tab, createdTab: false, createdWorkspace: false }
    case 'new_tab':
      return { tab: to.workspace.newTab(to.label), createdTab: true, createdWorkspace: false }
    case 'new_workspace': {
      const workspace = world.newWorkspace(to.label ?? 'workspace')
      return { tab: workspace.newTab(to.tabLabel), createdTab: true, createdWorkspace: true }
    }
  }
}

function settleIn({ world }: Stage, pane: Pane, tab: Tab, to: Destination): void {
  const source = pane.tab
  if (source.workspace !== tab.workspace) {
    const old = pane.id
    pane.id = tab.workspace.newPaneId()
    world.addAlias(old, pane)
  }
  pane.tab = tab
  const target = (to.type === 'tab' ? to.target : undefined) ?? tab.focused
  tab.tree =
    tab.tree === undefined || target === undefined || to.type !== 'tab'
      ? pane
      : divided(tab.tree, target, pane, to.split, to.ratio ?? 0.5)
  tab.focused ??= pane
  fitPanes(world, tab)
  if (world.has(source)) fitPanes(world, source)
}

function told(stage: Stage, source: Tab, sourceBefore: object, goal: Goal): object {
  const { world } = stage
  const { workspace } = source
  const isTabGone = !world.has(source)
  const isWorkspaceGone = workspace.tabs.length === 0
  const createdWorkspace = goal.createdWorkspace && workspaceInfo(world, goal.tab.workspace)
  const createdTab = goal.createdTab && tabInfo(world, goal.tab)
  if (isTabGone) stage.emit('tab_closed', { tab_id: source.id, workspace_id: workspace.id })
  if (isWorkspaceGone) tellWorkspaceClosed(stage, workspace, sourceBefore)
  if (createdWorkspace) stage.emit('workspace_created', { workspace: createdWorkspace })
  if (createdTab) stage.emit('tab_created', { tab: createdTab })
  return {
    ...(isTabGone && { closed_tab_id: source.id }),
    ...(isWorkspaceGone && { closed_workspace_id: workspace.id }),
    ...(createdWorkspace && { created_workspace: createdWorkspace }),
    ...(createdTab && { created_tab: createdTab }),
  }
}
