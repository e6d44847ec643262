/**
 * Fields of one record and their kinds: a plain kind, `=constant`, the name of a word list or of a record,
 * `map` of texts, and `[]` after any for a list of it.
 */
export interface Shape {
  readonly required: Readonly<Record<string, string>>
  readonly optional: Readonly<Record<string, string>>
}

export type Shapes = Readonly<Record<string, Shape>>

export const words: Readonly<Record<string, readonly string[]>> = {
  AgentSessionRefKind: ['id', 'path'],
  AgentStatus: ['idle', 'working', 'blocked', 'done', 'unknown'],
  NotificationShowReason: ['shown', 'disabled', 'rate_limited', 'no_foreground_client', 'busy'],
  PaneMoveReason: ['same_tab', 'zoomed_tab'],
  ReadFormat: ['text', 'ansi'],
  ReadSource: ['visible', 'recent', 'recent_unwrapped', 'detection'],
  SplitDirection: ['right', 'down'],
}

/** By their `type`. */
export const resultShapes: Shapes = {
  pong: {
    required: { protocol: 'integer', type: '=pong', version: 'string' },
    optional: { capabilities: 'ServerCapabilities' },
  },
  session_snapshot: {
    required: { snapshot: 'SessionSnapshot', type: '=session_snapshot' },
    optional: {},
  },
  workspace_info: {
    required: { type: '=workspace_info', workspace: 'WorkspaceInfo' },
    optional: {},
  },
  workspace_created: {
    required: {
      root_pane: 'PaneInfo',
      tab: 'TabInfo',
      type: '=workspace_created',
      workspace: 'WorkspaceInfo',
    },
    optional: {},
  },
  workspace_list: {
    required: { type: '=workspace_list', workspaces: 'WorkspaceInfo[]' },
    optional: {},
  },
  tab_info: { required: { tab: 'TabInfo', type: '=tab_info' }, optional: {} },
  tab_created: {
    required: { root_pane: 'PaneInfo', tab: 'TabInfo', type: '=tab_created' },
    optional: {},
  },
  tab_list: { required: { tabs: 'TabInfo[]', type: '=tab_list' }, optional: {} },
  agent_info: { required: { agent: 'AgentInfo', type: '=agent_info' }, optional: {} },
  agent_started: {
    required: { agent: 'AgentInfo', argv: 'string[]', type: '=agent_started' },
    optional: {},
  },
  agent_prompted: { required: { agent: 'AgentInfo', type: '=agent_prompted' }, optional: {} },
  agent_list: { required: { agents: 'AgentInfo[]', type: '=agent_list' }, optional: {} },
  pane_info: { required: { pane: 'PaneInfo', type: '=pane_info' }, optional: {} },
  pane_list: { required: { panes: 'PaneInfo[]', type: '=pane_list' }, optional: {} },
  pane_current: { required: { pane: 'PaneInfo', type: '=pane_current' }, optional: {} },
  pane_move: { required: { move_result: 'PaneMoveResult', type: '=pane_move' }, optional: {} },
  pane_layout: { required: { layout: 'PaneLayoutSnapshot', type: '=pane_layout' }, optional: {} },
  pane_process_info: {
    required: { process_info: 'PaneProcessInfo', type: '=pane_process_info' },
    optional: {},
  },
  layout_export: {
    required: { layout: 'LayoutDescription', type: '=layout_export' },
    optional: {},
  },
  layout_apply: { required: { layout: 'LayoutDescription', type: '=layout_apply' }, optional: {} },
  pane_read: { required: { read: 'PaneReadResult', type: '=pane_read' }, optional: {} },
  subscription_started: { required: { type: '=subscription_started' }, optional: {} },
  wait_matched: { required: { event: 'EventEnvelope', type: '=wait_matched' }, optional: {} },
  output_matched: {
    required: {
      pane_id: 'string',
      read: 'PaneReadResult',
      revision: 'integer',
      type: '=output_matched',
    },
    optional: { matched_line: 'string' },
  },
  notification_show: {
    required: { reason: 'NotificationShowReason', shown: 'boolean', type: '=notification_show' },
    optional: {},
  },
  ok: { required: { type: '=ok' }, optional: {} },
}

/** By their `event`, as on the wire. */
export const eventShapes: Shapes = {
  workspace_created: {
    required: { type: '=workspace_created', workspace: 'WorkspaceInfo' },
    optional: {},
  },
  workspace_metadata_updated: {
    required: { type: '=workspace_metadata_updated', workspace: 'WorkspaceInfo' },
    optional: {},
  },
  workspace_closed: {
    required: { type: '=workspace_closed', workspace_id: 'string' },
    optional: { workspace: 'WorkspaceInfo' },
  },
  workspace_renamed: {
    required: { label: 'string', type: '=workspace_renamed', workspace_id: 'string' },
    optional: {},
  },
  workspace_focused: {
    required: { type: '=workspace_focused', workspace_id: 'string' },
    optional: {},
  },
  tab_created: { required: { tab: 'TabInfo', type: '=tab_created' }, optional: {} },
  tab_closed: {
    required: { tab_id: 'string', type: '=tab_closed', workspace_id: 'string' },
    optional: {},
  },
  tab_renamed: {
    required: { label: 'string', tab_id: 'string', type: '=tab_renamed', workspace_id: 'string' },
    optional: {},
  },
  tab_focused: {
    required: { tab_id: 'string', type: '=tab_focused', workspace_id: 'string' },
    optional: {},
  },
  pane_created: { required: { pane: 'PaneInfo', type: '=pane_created' }, optional: {} },
  pane_closed: {
    required: { pane_id: 'string', type: '=pane_closed', workspace_id: 'string' },
    optional: {},
  },
  pane_updated: { required: { pane: 'PaneInfo', type: '=pane_updated' }, optional: {} },
  pane_focused: {
    required: { pane_id: 'string', type: '=pane_focused', workspace_id: 'string' },
    optional: {},
  },
  pane_moved: {
    required: {
      pane: 'PaneInfo',
      previous_pane_id: 'string',
      previous_tab_id: 'string',
      previous_workspace_id: 'string',
      type: '=pane_moved',
    },
    optional: {
      closed_tab_id: 'string',
      closed_workspace_id: 'string',
      created_tab: 'TabInfo',
      created_workspace: 'WorkspaceInfo',
    },
  },
  pane_exited: {
    required: { pane_id: 'string', type: '=pane_exited', workspace_id: 'string' },
    optional: {},
  },
  pane_agent_detected: {
    required: { pane_id: 'string', type: '=pane_agent_detected', workspace_id: 'string' },
    optional: { agent: 'string', final_status: 'AgentStatus', released: 'boolean' },
  },
  pane_agent_status_changed: {
    required: {
      agent_status: 'AgentStatus',
      pane_id: 'string',
      type: '=pane_agent_status_changed',
      workspace_id: 'string',
    },
    optional: { agent: 'string', display_agent: 'string', state_labels: 'map', title: 'string' },
  },
  layout_updated: {
    required: { layout: 'PaneLayoutSnapshot', type: '=layout_updated' },
    optional: {},
  },
  'pane.output_matched': {
    required: { matched_line: 'string', pane_id: 'string', read: 'PaneReadResult' },
    optional: {},
  },
  'pane.agent_status_changed': {
    required: { agent_status: 'AgentStatus', pane_id: 'string', workspace_id: 'string' },
    optional: { agent: 'string', display_agent: 'string', state_labels: 'map', title: 'string' },
  },
  'pane.scroll_changed': {
    required: { pane_id: 'string', scroll: 'PaneScrollInfo', workspace_id: 'string' },
    optional: {},
  },
}

export const recordShapes: Shapes = {
  AgentInfo: {
    required: {
      agent_status: 'AgentStatus',
      focused: 'boolean',
      pane_id: 'string',
      revision: 'integer',
      tab_id: 'string',
      terminal_id: 'string',
      workspace_id: 'string',
    },
    optional: {
      agent: 'string',
      agent_session: 'AgentSessionInfo',
      cwd: 'string',
      display_agent: 'string',
      foreground_cwd: 'string',
      interactive_ready: 'boolean',
      launch_pending: 'boolean',
      name: 'string',
      screen_detection_skipped: 'boolean',
      state_change_seq: 'integer',
      state_labels: 'map',
      terminal_title: 'string',
      terminal_title_stripped: 'string',
      title: 'string',
      tokens: 'map',
    },
  },
  AgentSessionInfo: {
    required: { agent: 'string', kind: 'AgentSessionRefKind', source: 'string', value: 'string' },
    optional: {},
  },
  LayoutDescription: {
    required: {
      focused_pane_id: 'string',
      root: 'LayoutNode',
      tab_id: 'string',
      workspace_id: 'string',
      zoomed: 'boolean',
    },
    optional: {},
  },
  'LayoutNode pane': {
    required: { type: '=pane' },
    optional: {
      command: 'string[]',
      cwd: 'string',
      env: 'map',
      label: 'string',
      pane_id: 'string',
    },
  },
  'LayoutNode split': {
    required: {
      direction: 'SplitDirection',
      first: 'LayoutNode',
      ratio: 'number',
      second: 'LayoutNode',
      type: '=split',
    },
    optional: {},
  },
  PaneInfo: {
    required: {
      agent_status: 'AgentStatus',
      focused: 'boolean',
      pane_id: 'string',
      revision: 'integer',
      tab_id: 'string',
      terminal_id: 'string',
      workspace_id: 'string',
    },
    optional: {
      agent: 'string',
      agent_session: 'AgentSessionInfo',
      cwd: 'string',
      display_agent: 'string',
      foreground_cwd: 'string',
      label: 'string',
      scroll: 'PaneScrollInfo',
      state_labels: 'map',
      terminal_title: 'string',
      terminal_title_stripped: 'string',
      title: 'string',
      tokens: 'map',
    },
  },
  PaneLayoutPane: {
    required: { focused: 'boolean', pane_id: 'string', rect: 'PaneLayoutRect' },
    optional: {},
  },
  PaneLayoutRect: {
    required: { height: 'integer', width: 'integer', x: 'integer', y: 'integer' },
    optional: {},
  },
  PaneLayoutSnapshot: {
    required: {
      area: 'PaneLayoutRect',
      focused_pane_id: 'string',
      panes: 'PaneLayoutPane[]',
      splits: 'PaneLayoutSplit[]',
      tab_id: 'string',
      workspace_id: 'string',
      zoomed: 'boolean',
    },
    optional: {},
  },
  PaneLayoutSplit: {
    required: {
      direction: 'SplitDirection',
      id: 'string',
      ratio: 'number',
      rect: 'PaneLayoutRect',
    },
    optional: {},
  },
  PaneMoveResult: {
    required: {
      changed: 'boolean',
      focused_pane_id: 'string',
      pane: 'PaneInfo',
      previous_pane_id: 'string',
      previous_tab_id: 'string',
      previous_workspace_id: 'string',
      target_layout: 'PaneLayoutSnapshot',
    },
    optional: {
      closed_tab_id: 'string',
      closed_workspace_id: 'string',
      created_tab: 'TabInfo',
      created_workspace: 'WorkspaceInfo',
      reason: 'PaneMoveReason',
      source_layout: 'PaneLayoutSnapshot',
    },
  },
  PaneProcessInfo: {
    required: { pane_id: 'string' },
    optional: {
      foreground_process_group_id: 'integer',
      foreground_processes: 'PaneProcessInfoProcess[]',
      shell_pid: 'integer',
      tty: 'string',
    },
  },
  PaneProcessInfoProcess: {
    required: { name: 'string', pid: 'integer' },
    optional: { argv: 'string[]', argv0: 'string', cmdline: 'string', cwd: 'string' },
  },
  PaneReadResult: {
    required: {
      format: 'ReadFormat',
      pane_id: 'string',
      revision: 'integer',
      source: 'ReadSource',
      tab_id: 'string',
      text: 'string',
      truncated: 'boolean',
      workspace_id: 'string',
    },
    optional: {},
  },
  PaneScrollInfo: {
    required: {
      max_offset_from_bottom: 'integer',
      offset_from_bottom: 'integer',
      viewport_rows: 'integer',
    },
    optional: {},
  },
  ServerCapabilities: {
    required: { live_handoff: 'boolean' },
    optional: { detached_server_daemon: 'boolean' },
  },
  SessionSnapshot: {
    required: {
      agents: 'AgentInfo[]',
      layouts: 'PaneLayoutSnapshot[]',
      panes: 'PaneInfo[]',
      protocol: 'integer',
      tabs: 'TabInfo[]',
      version: 'string',
      workspaces: 'WorkspaceInfo[]',
    },
    optional: {
      focused_pane_id: 'string',
      focused_tab_id: 'string',
      focused_workspace_id: 'string',
    },
  },
  TabInfo: {
    required: {
      agent_status: 'AgentStatus',
      focused: 'boolean',
      label: 'string',
      number: 'integer',
      pane_count: 'integer',
      tab_id: 'string',
      workspace_id: 'string',
    },
    optional: {},
  },
  WorkspaceInfo: {
    required: {
      active_tab_id: 'string',
      agent_status: 'AgentStatus',
      focused: 'boolean',
      label: 'string',
      number: 'integer',
      pane_count: 'integer',
      tab_count: 'integer',
      workspace_id: 'string',
    },
    optional: { tokens: 'map', worktree: 'WorkspaceWorktreeInfo' },
  },
  WorkspaceWorktreeInfo: {
    required: {
      checkout_path: 'string',
      is_linked_worktree: 'boolean',
      repo_key: 'string',
      repo_name: 'string',
      repo_root: 'string',
    },
    optional: {},
  },
}
