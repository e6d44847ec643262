/** Which herdr is played: 0.8 replays and drips events, 0.9.2 starts live and keeps request ids in errors. */
export type Profile = '0.8' | '0.9.2'

export type AgentStatus = 'idle' | 'working' | 'blocked' | 'done' | 'unknown'

export type Direction = 'right' | 'down'

export interface AgentSession {
  readonly source: string
  readonly agent: string
  readonly kind: 'id' | 'path'
  readonly value: string
}

/** What panes and agents show of themselves. */
export interface Appearance {
  readonly pane_id: string
  readonly terminal_id: string
  readonly workspace_id: string
  readonly tab_id: string
  readonly focused: boolean
  readonly agent_status: AgentStatus
  readonly revision: number
  readonly cwd?: string
  readonly foreground_cwd?: string
  readonly agent?: string
  readonly title?: string
  readonly terminal_title?: string
  readonly terminal_title_stripped?: string
  readonly display_agent?: string
  readonly state_labels?: Readonly<Record<string, string>>
  readonly tokens?: Readonly<Record<string, string>>
  readonly agent_session?: AgentSession
}

export interface Scroll {
  readonly offset_from_bottom: number
  readonly max_offset_from_bottom: number
  readonly viewport_rows: number
}

export interface PaneInfo extends Appearance {
  readonly label?: string
  readonly scroll?: Scroll
}

export interface AgentInfo extends Appearance {
  readonly name?: string
  readonly screen_detection_skipped?: boolean
  readonly launch_pending?: boolean
  readonly interactive_ready?: boolean
  readonly state_change_seq: number
}

export interface TabInfo {
  readonly tab_id: string
  readonly workspace_id: string
  readonly number: number
  readonly label: string
  readonly focused: boolean
  readonly pane_count: number
  readonly agent_status: AgentStatus
}

export interface WorkspaceInfo {
  readonly workspace_id: string
  readonly number: number
  readonly label: string
  readonly focused: boolean
  readonly pane_count: number
  readonly tab_count: number
  readonly active_tab_id: string
  readonly agent_status: AgentStatus
  readonly tokens?: Readonly<Record<string, string>>
}

/** A coded error that answers a request. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

/** How the server was set up; fixed for its life. */
export interface Setting {
  readonly socketPath: string
  readonly profile: Profile
  readonly shell: string
  readonly env: NodeJS.ProcessEnv
  readonly cwd: string
  readonly withoutLayout: boolean
  readonly tickMs: number
  readonly ringMax: number
  /** How long `agent.start` stays pending at least. */
  readonly launchReadyMs: number
  readonly cols: number
  readonly rows: number
}
