import { workingDirectory } from './fake-processes.ts'
import type {
  AgentInfo,
  AgentStatus,
  Appearance,
  PaneInfo,
  TabInfo,
  WorkspaceInfo,
} from './fake-records.ts'
import { isSplit, placed, type Rect, type Tree } from './fake-tree.ts'
import type { Pane, Tab, Workspace, World } from './fake-world.ts'

/** Most urgent first: what a tab or workspace shows of its panes. */
const urgency: readonly AgentStatus[] = ['blocked', 'working', 'done', 'idle', 'unknown']

export function paneInfo(world: World, pane: Pane): PaneInfo {
  return {
    ...appearance(world, pane),
    ...(pane.label !== undefined && { label: pane.label }),
    scroll: pane.terminal.screen.scroll,
  }
}

export function agentInfo(world: World, pane: Pane): AgentInfo {
  const { agent } = pane
  return {
    ...appearance(world, pane),
    ...(agent.name !== undefined && { name: agent.name }),
    ...(agent.isOfficial && { screen_detection_skipped: true }),
    ...(agent.launch?.isReady === false && { launch_pending: true }),
    ...(agent.launch?.isReady === true && { interactive_ready: true }),
    state_change_seq: agent.stateChangeSeq,
  }
}

export function tabInfo(world: World, tab: Tab): TabInfo {
  const { workspace, panes, number } = tab
  return {
    tab_id: tab.id,
    workspace_id: workspace.id,
    number,
    label: tab.label ?? String(workspace.tabs.indexOf(tab) + 1),
    focused: world.isInView(tab),
    pane_count: panes.length,
    agent_status: mostUrgent(panes),
  }
}

export function workspaceInfo(world: World, workspace: Workspace): WorkspaceInfo {
  const { tokens } = workspace.metadata
  return {
    workspace_id: workspace.id,
    number: world.workspaces.indexOf(workspace) + 1,
    label: workspace.label,
    focused: workspace === world.active,
    pane_count: workspace.panes.length,
    tab_count: workspace.tabs.length,
    active_tab_id: workspace.active?.id ?? '',
    agent_status: mostUrgent(workspace.panes),
    ...(Object.keys(tokens).length > 0 && { tokens }),
  }
}

export interface LayoutSnapshot {
  readonly workspace_id: string
  readonly tab_id: string
  readonly zoomed: boolean
  readonly area: Rect
  readonly focused_pane_id: string
  readonly panes: readonly {
    readonly pane_id: string
    readonly focused: boolean
    readonly rect: Rect
  }[]
  readonly splits: readonly object[]
}

export function layoutInfo(world: World, tab: Tab): LayoutSnapshot {
  const area = areaOf(world)
  const places = tab.tree === undefined ? undefined : placed(tab.tree, area)
  return {
    workspace_id: tab.workspace.id,
    tab_id: tab.id,
    zoomed: false,
    area,
    focused_pane_id: tab.focused?.id ?? '',
    panes: [...(places?.leaves ?? [])].map(([pane, rect]) => ({
      pane_id: pane.id,
      focused: pane === tab.focused,
      rect,
    })),
    splits: places?.splits ?? [],
  }
}

/** A tab as `layout.apply` and `layout.export` describe it. */
export function layoutDescription(tab: Tab): object {
  return {
    workspace_id: tab.workspace.id,
    tab_id: tab.id,
    zoomed: false,
    focused_pane_id: tab.focused?.id ?? '',
    root: tab.tree === undefined ? {} : layoutNode(tab.tree),
  }
}

/** Gives every pane of a tab the size it has in it. */
export function fitPanes(world: World, tab: Tab): void {
  if (tab.tree === undefined) return
  for (const [pane, rect] of placed(tab.tree, areaOf(world)).leaves)
    pane.terminal.resize(Math.max(2, rect.width), Math.max(1, rect.height))
}

function layoutNode(tree: Tree<Pane>): object {
  if (isSplit(tree)) {
    const { direction, ratio, first, second } = tree
    return {
      type: 'split',
      direction,
      ratio,
      first: layoutNode(first),
      second: layoutNode(second),
    }
  }
  const { id, label, cwd, argv } = tree
  return {
    type: 'pane',
    pane_id: id,
    ...(label !== undefined && { label }),
    cwd,
    ...(argv !== undefined && { command: argv }),
  }
}

const areaOf = (world: World): Rect => ({
  x: 0,
  y: 0,
  width: world.setting.cols,
  height: world.setting.rows,
})

function mostUrgent(panes: readonly Pane[]): AgentStatus {
  return urgency.find((status) => panes.some(({ agent }) => agent.status === status)) ?? 'unknown'
}

function appearance(world: World, pane: Pane): Appearance {
  const { agent, metadata, terminal } = pane
  const { pid } = terminal
  const foregroundCwd = pid === undefined ? undefined : workingDirectory(pid)
  const terminalTitle = terminal.screen.title
  return {
    pane_id: pane.id,
    terminal_id: terminal.id,
    workspace_id: pane.workspace.id,
    tab_id: pane.tab.id,
    focused: pane === world.focused,
    agent_status: agent.status,
    revision: pane.revision,
    cwd: pane.cwd,
    ...(foregroundCwd !== undefined && { foreground_cwd: foregroundCwd }),
    ...(agent.label !== undefined && { agent: agent.label }),
    ...(metadata.title !== undefined && { title: metadata.title }),
    ...(terminalTitle !== '' && {
      terminal_title: terminalTitle,
      terminal_title_stripped: strippedTitle(terminalTitle),
    }),
    ...(metadata.displayAgent !== undefined && { display_agent: metadata.displayAgent }),
    ...(Object.keys(metadata.stateLabels).length > 0 && { state_labels: metadata.stateLabels }),
    ...(Object.keys(metadata.tokens).length > 0 && { tokens: metadata.tokens }),
    ...(agent.session !== undefined && { agent_session: agent.session }),
  }
}

/** A title without the spinner before it. */
export function strippedTitle(title: string): string {
  return title.replace(/^[^\p{L}\p{N}/~([]+/u, '')
}
