/**
 * What herdr tells, as far as Drover needs it. Fields have herdr's own names. Nothing else is read: what a newer server
 * adds or leaves out elsewhere must not matter. Words from a closed list are `string`.
 */

/** One pane. Its `terminal_id` alone survives a move; a restart of the server gives every pane a new one. */
export interface PaneInfo {
  readonly pane_id: string
  readonly terminal_id: string
  readonly workspace_id: string
  readonly tab_id: string
  readonly focused: boolean
}

export interface TabInfo {
  readonly tab_id: string
  readonly workspace_id: string
  readonly label: string
}

export interface AgentInfo {
  /** idle, working, blocked, done, unknown: a hint for people, never a fact. */
  readonly agent_status: string
  /** Who says which session it is. */
  readonly agent_session?: { readonly source: string } | undefined
}

/** What runs in a pane. `shell_pid` is the process herdr started there, a shell or not. */
export interface ProcessInfo {
  readonly shell_pid?: number | undefined
  readonly foreground_processes: readonly { readonly pid: number }[]
}

/** A tab as it was laid out. */
export interface AppliedLayout {
  readonly tab_id: string
  readonly focused_pane_id: string
}

/** Everything there is in a session, at one moment. */
export interface Snapshot {
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
