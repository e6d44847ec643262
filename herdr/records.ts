/**
 * What herdr tells, as far as Drover reads it. Fields have herdr's own names; others are ignored. A field that
 * may be `null` or left out is simply not there. Words from a closed list are `string`: newer servers know more.
 */

/** One pane. Its `terminal_id` alone survives a move; a restart of the server gives every pane a new one. */
export interface PaneInfo {
  readonly pane_id: string
  readonly terminal_id: string
  readonly workspace_id: string
  readonly tab_id: string
  readonly focused: boolean
  readonly cwd?: string | undefined
  readonly foreground_cwd?: string | undefined
  readonly label?: string | undefined
  readonly agent?: string | undefined
  readonly title?: string | undefined
  /** idle, working, blocked, done, unknown: a hint for people, never a fact. */
  readonly agent_status: string
  readonly tokens?: Readonly<Record<string, string>> | undefined
  readonly agent_session?: AgentSession | undefined
}

export interface AgentSession {
  readonly source: string
  readonly agent: string
  readonly kind: string
  readonly value: string
}

export interface TabInfo {
  readonly tab_id: string
  readonly workspace_id: string
  readonly label: string
  readonly focused: boolean
  readonly pane_count?: number | undefined
}

export interface WorkspaceInfo {
  readonly workspace_id: string
  readonly label: string
  readonly focused: boolean
  readonly active_tab_id?: string | undefined
}

export interface AgentInfo {
  readonly pane_id: string
  readonly terminal_id: string
  readonly workspace_id: string
  readonly tab_id: string
  readonly name?: string | undefined
  readonly agent?: string | undefined
  readonly agent_status: string
  readonly launch_pending: boolean
  readonly interactive_ready: boolean
  readonly state_change_seq: number
  readonly tokens?: Readonly<Record<string, string>> | undefined
  readonly agent_session?: AgentSession | undefined
}

/** What runs in a pane. `shell_pid` is the process herdr started there, a shell or not. */
export interface ProcessInfo {
  readonly pane_id: string
  readonly shell_pid?: number | undefined
  readonly foreground_process_group_id?: number | undefined
  readonly foreground_processes: readonly ForegroundProcess[]
}

export interface ForegroundProcess {
  readonly pid: number
  readonly name: string
  readonly argv0?: string | undefined
  readonly argv?: readonly string[] | undefined
  readonly cmdline?: string | undefined
  readonly cwd?: string | undefined
}

export interface ReadInfo {
  readonly pane_id: string
  readonly text: string
  /** Older rows were left out. */
  readonly truncated: boolean
}

/** In cells of the terminal. */
export interface Rect {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

/** Where the panes of one tab are. */
export interface PaneLayout {
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
}

export type LayoutNode =
  | {
      readonly type: 'pane'
      readonly pane_id?: string | undefined
      readonly label?: string | undefined
      readonly cwd?: string | undefined
      readonly command?: readonly string[] | undefined
      readonly env?: Readonly<Record<string, string>> | undefined
    }
  | {
      readonly type: 'split'
      readonly direction: string
      readonly ratio: number
      readonly first: LayoutNode
      readonly second: LayoutNode
    }

/** A tab as it was laid out. */
export interface AppliedLayout {
  readonly workspace_id: string
  readonly tab_id: string
  readonly focused_pane_id: string
  readonly root: LayoutNode
}

/** Everything there is in a session, at one moment. */
export interface Snapshot {
  readonly version: string
  readonly protocol: number
  readonly focused_workspace_id?: string | undefined
  readonly focused_tab_id?: string | undefined
  readonly focused_pane_id?: string | undefined
  readonly workspaces: readonly WorkspaceInfo[]
  readonly tabs: readonly TabInfo[]
  readonly panes: readonly PaneInfo[]
}

export interface Pong {
  readonly version: string
  readonly protocol: number
  /** Set by servers that are not herdr but speak as it does. */
  readonly server?: string | undefined
}

/** Something happened, or happened long ago: old servers repeat up to 512 events to a new subscriber. */
export interface HerdrEvent {
  /** In the form of a subscription's type, with dots, however the server spells it. */
  readonly kind: string
  readonly pane_id?: string | undefined
  readonly tab_id?: string | undefined
  readonly workspace_id?: string | undefined
}
