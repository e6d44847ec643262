import type { AgentInfo, AppliedLayout, PaneInfo, Pong, ProcessInfo, Snapshot } from './records.ts'

/** The oldest protocol whose methods and events Drover relies on. Newer ones are tried: they are meant to be additive. */
export const protocolMin = 19

/** Longest request line a herdr reads, in bytes. More, and it hangs up without a word. */
export const requestBytesMax = 1_048_576

type Nothing = Readonly<Record<never, never>>

interface Call<Params, Result> {
  readonly params: Params
  readonly result: Result
}

interface OnPane {
  readonly pane_id: string
}

/** What opens a pane, and leaves the focus of the person where it is. */
interface Opening {
  readonly focus: false
  readonly env?: Readonly<Record<string, string>>
}

/** Who says something about a pane; `seq` must rise within one source, or the server drops the report, with an ok. */
interface Reporter extends OnPane {
  readonly source: string
  readonly agent: string
  readonly seq: number
}

/** Every method Drover calls. Ids are always given: left out, they mean whatever the person has focused. */
export interface Methods {
  readonly ping: Call<Nothing, Pong>
  readonly 'session.snapshot': Call<Nothing, { readonly snapshot: Snapshot }>
  /** Runs a shell. */
  readonly 'tab.create': Call<
    Opening & { readonly workspace_id: string; readonly label: string },
    { readonly root_pane: PaneInfo }
  >
  readonly 'pane.get': Call<OnPane, { readonly pane: PaneInfo }>
  /** Runs a shell in the new pane. */
  readonly 'pane.split': Call<
    Opening & { readonly target_pane_id: string; readonly direction: 'right' | 'down' },
    { readonly pane: PaneInfo }
  >
  /** Changes what the person looks at. */
  readonly 'pane.focus': Call<OnPane, Nothing>
  readonly 'pane.rename': Call<OnPane & { readonly label: string }, Nothing>
  readonly 'pane.close': Call<OnPane, Nothing>
  readonly 'pane.read': Call<
    OnPane & { readonly source: 'visible' | 'recent_unwrapped'; readonly lines: number },
    { readonly read: { readonly text: string } }
  >
  readonly 'pane.process_info': Call<OnPane, { readonly process_info: ProcessInfo }>
  /** Typed into whatever is in the foreground; an ok says that it is queued, not that it was read. */
  readonly 'pane.send_input': Call<
    OnPane & { readonly text: string; readonly keys: readonly string[] },
    Nothing
  >
  /** The only way to run an exact argv: always in a new tab. */
  readonly 'layout.apply': Call<
    {
      readonly workspace_id: string
      readonly tab_label: string
      readonly focus: false
      readonly root: {
        readonly type: 'pane'
        readonly label: string
        readonly command: readonly string[]
      }
    },
    { readonly layout: AppliedLayout }
  >
  /** `target` is a pane's current id. */
  readonly 'agent.get': Call<{ readonly target: string }, { readonly agent: AgentInfo }>
  readonly 'pane.report_agent': Call<
    Reporter & { readonly state: 'blocked'; readonly message: string },
    Nothing
  >
  readonly 'pane.release_agent': Call<Reporter, Nothing>
  readonly 'pane.report_metadata': Call<
    OnPane & { readonly source: string; readonly tokens: Readonly<Record<string, string>> },
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
