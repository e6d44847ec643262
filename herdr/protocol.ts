import type {
  AgentInfo,
  AppliedLayout,
  LayoutNode,
  PaneInfo,
  PaneLayout,
  Pong,
  ProcessInfo,
  ReadInfo,
  Snapshot,
  TabInfo,
  WorkspaceInfo,
} from './records.ts'

/** The oldest protocol whose methods and events Drover relies on. */
export const protocolMin = 19
/** The newest that was tested. Newer ones are used too: they are announced to be additive. */
export const protocolTested = 22

/** Longest request line a herdr reads, in bytes. More, and it hangs up without a word. */
export const requestBytesMax = 1_048_576

type Nothing = Readonly<Record<never, never>>
type Env = Readonly<Record<string, string>>

interface Call<Params, Result> {
  readonly params: Params
  readonly result: Result
}

interface OnPane {
  readonly pane_id: string
}

/** Who says something about a pane; `seq` must rise within one source, or the server drops the report, with an ok. */
interface Reporter extends OnPane {
  readonly source: string
  readonly seq?: number
}

/** Every method Drover calls. Ids are always given: left out, they mean whatever the person has focused. */
export interface Methods {
  readonly ping: Call<Nothing, Pong>
  readonly 'session.snapshot': Call<Nothing, { readonly snapshot: Snapshot }>
  readonly 'workspace.get': Call<
    { readonly workspace_id: string },
    { readonly workspace: WorkspaceInfo }
  >
  /** Runs a shell. A `cwd` that is no directory becomes the home directory, silently. */
  readonly 'tab.create': Call<
    {
      readonly workspace_id: string
      readonly cwd?: string
      readonly focus?: boolean
      readonly label?: string
      readonly env?: Env
    },
    { readonly tab: TabInfo; readonly root_pane: PaneInfo }
  >
  readonly 'tab.get': Call<{ readonly tab_id: string }, { readonly tab: TabInfo }>
  readonly 'tab.list': Call<
    { readonly workspace_id?: string },
    { readonly tabs: readonly TabInfo[] }
  >
  readonly 'tab.rename': Call<{ readonly tab_id: string; readonly label: string }, Nothing>
  readonly 'pane.list': Call<
    { readonly workspace_id?: string },
    { readonly panes: readonly PaneInfo[] }
  >
  readonly 'pane.get': Call<OnPane, { readonly pane: PaneInfo }>
  /** Runs a shell in the new pane. */
  readonly 'pane.split': Call<
    {
      readonly target_pane_id: string
      readonly direction: 'right' | 'down'
      readonly ratio?: number
      readonly cwd?: string
      readonly env?: Env
      readonly focus?: boolean
    },
    { readonly pane: PaneInfo }
  >
  /** Changes what the person looks at. */
  readonly 'pane.focus': Call<OnPane, Nothing>
  /** Without a label, clears it. */
  readonly 'pane.rename': Call<OnPane & { readonly label?: string }, Nothing>
  readonly 'pane.close': Call<OnPane, Nothing>
  readonly 'pane.read': Call<
    OnPane & {
      readonly source: 'visible' | 'recent' | 'recent_unwrapped' | 'detection'
      readonly lines?: number
      readonly format?: 'text' | 'ansi'
    },
    { readonly read: ReadInfo }
  >
  readonly 'pane.process_info': Call<OnPane, { readonly process_info: ProcessInfo }>
  /** Typed into whatever is in the foreground; an ok says that it is queued, not that it was read. */
  readonly 'pane.send_input': Call<
    OnPane & { readonly text?: string; readonly keys?: readonly string[] },
    Nothing
  >
  readonly 'pane.layout': Call<OnPane, { readonly layout: PaneLayout }>
  /** The only way to run an exact argv: always in a new tab. */
  readonly 'layout.apply': Call<
    {
      readonly workspace_id: string
      readonly tab_label?: string
      readonly focus?: boolean
      readonly root: LayoutNode
    },
    { readonly layout: AppliedLayout }
  >
  /** `target` is a pane's current id, or an agent's name. */
  readonly 'agent.get': Call<{ readonly target: string }, { readonly agent: AgentInfo }>
  readonly 'pane.report_agent': Call<
    Reporter & {
      readonly agent: string
      readonly state: 'idle' | 'working' | 'blocked' | 'unknown'
      readonly message?: string
      readonly agent_session_id?: string
      readonly agent_session_path?: string
    },
    Nothing
  >
  readonly 'pane.release_agent': Call<Reporter & { readonly agent: string }, Nothing>
  readonly 'pane.report_metadata': Call<
    Reporter & {
      readonly agent?: string
      readonly applies_to_source?: string
      readonly title?: string
      readonly display_agent?: string
      readonly state_labels?: Env
      /** A patch: null or blank clears a token, absent keeps it. */
      readonly tokens?: Readonly<Record<string, string | null>>
      readonly clear_title?: boolean
      readonly clear_display_agent?: boolean
      readonly clear_state_labels?: boolean
      readonly ttl_ms?: number
    },
    Nothing
  >
}

export type Method = keyof Methods
export type Params<M extends Method> = Methods[M]['params']
export type Result<M extends Method> = Methods[M]['result']

export interface Subscription {
  /** A kind of event, such as `pane.exited`. */
  readonly type: string
  /** Only for kinds that are about one pane. */
  readonly pane_id?: string
}
