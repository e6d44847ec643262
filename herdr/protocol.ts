import { z } from 'zod'

/**
 * The part of herdr's socket API that Drover uses. Names are the server's own. What it sends beyond that is ignored, and
 * what is only shown may be any string: newer servers know more.
 */

/** Oldest protocol that is spoken with; the number counts changes of the whole API. */
export const protocolLowest = 19
/** Newest protocol that was tested. A newer one is tried. */
export const protocolTested = 22

export interface PaneInfo {
  readonly pane_id: string
  /** New for every terminal, never used again: what identifies a pane wherever it is moved. */
  readonly terminal_id: string
  readonly workspace_id: string
  readonly tab_id: string
  readonly focused: boolean
}

export interface TabInfo {
  readonly tab_id: string
  readonly label: string
}

export interface ProcessInfo {
  readonly shell_pid?: number | undefined
  readonly foreground_processes: readonly { readonly pid: number }[]
}

export interface AgentInfo {
  readonly agent_status: string
  readonly agent_session?: { readonly source: string } | undefined
}

interface OnePane {
  readonly pane: PaneInfo
}
type Ok = Readonly<Record<string, unknown>>

/** What the result of each method holds. */
interface Results {
  readonly ping: { version: string; protocol: number; server?: string | undefined }
  readonly 'session.snapshot': {
    readonly snapshot: { readonly tabs: readonly TabInfo[]; readonly panes: readonly PaneInfo[] }
  }
  readonly 'tab.create': { readonly root_pane: PaneInfo }
  readonly 'pane.get': OnePane
  readonly 'pane.split': OnePane
  readonly 'pane.focus': Ok
  readonly 'pane.rename': Ok
  readonly 'pane.close': Ok
  readonly 'pane.read': { readonly read: { readonly text: string } }
  readonly 'pane.process_info': { readonly process_info: ProcessInfo }
  readonly 'pane.send_input': Ok
  readonly 'layout.apply': {
    readonly layout: { readonly tab_id: string; readonly root: { readonly pane_id: string } }
  }
  readonly 'agent.get': { readonly agent: AgentInfo }
  readonly 'pane.report_agent': Ok
  readonly 'pane.release_agent': Ok
  readonly 'pane.report_metadata': Ok
}

export type Method = keyof Results
export type Result<M extends Method> = Results[M]

const text = z.string()
const pane: z.ZodType<PaneInfo> = z.looseObject({
  pane_id: text,
  terminal_id: text,
  workspace_id: text,
  tab_id: text,
  focused: z.boolean().default(false), // omitted where it is false
})
const tab: z.ZodType<TabInfo> = z.looseObject({ tab_id: text, label: text })
const pid = z.int().positive()
const onePane: z.ZodType<OnePane> = z.looseObject({ pane })
const ok: z.ZodType<Ok> = z.looseObject({})

/** Reads the result of each method. */
export const results: { readonly [M in Method]: z.ZodType<Results[M]> } = {
  ping: z.looseObject({ version: text, protocol: z.int(), server: text.optional() }),
  'session.snapshot': z.looseObject({
    snapshot: z.looseObject({ tabs: z.array(tab), panes: z.array(pane) }),
  }),
  'tab.create': z.looseObject({ root_pane: pane }),
  'pane.get': onePane,
  'pane.split': onePane,
  'pane.focus': ok,
  'pane.rename': ok,
  'pane.close': ok,
  'pane.read': z.looseObject({ read: z.looseObject({ text }) }),
  'pane.process_info': z.looseObject({
    process_info: z.looseObject({
      shell_pid: pid.optional(),
      foreground_processes: z.array(z.looseObject({ pid })).default([]),
    }),
  }),
  'pane.send_input': ok,
  'layout.apply': z.looseObject({
    layout: z.looseObject({ tab_id: text, root: z.looseObject({ pane_id: text }) }),
  }),
  'agent.get': z.looseObject({
    agent: z.looseObject({
      agent_status: text,
      agent_session: z.looseObject({ source: text }).optional(),
    }),
  }),
  'pane.report_agent': ok,
  'pane.release_agent': ok,
  'pane.report_metadata': ok,
}

interface OfPane {
  readonly pane_id: string
}

/** Opened without the focus: what the person looks at stays. */
interface Unfocused {
  readonly focus: false
}

/** What each method is asked with. */
export interface Params {
  readonly ping: Record<never, never>
  readonly 'session.snapshot': Record<never, never>
  readonly 'tab.create': Unfocused & { readonly workspace_id: string; readonly label: string }
  readonly 'pane.get': OfPane
  readonly 'pane.split': Unfocused & {
    readonly target_pane_id: string
    readonly direction: 'right' | 'down'
  }
  readonly 'pane.focus': OfPane
  readonly 'pane.rename': OfPane & { readonly label: string }
  readonly 'pane.close': OfPane
  readonly 'pane.read': OfPane & {
    readonly source: 'visible' | 'recent_unwrapped'
    readonly lines: number
  }
  readonly 'pane.process_info': OfPane
  readonly 'pane.send_input': OfPane & { readonly text: string; readonly keys: readonly string[] }
  readonly 'layout.apply': Unfocused & {
    readonly workspace_id: string
    readonly tab_label: string
    readonly root: {
      readonly type: 'pane'
      readonly label: string
      readonly command: readonly string[]
    }
  }
  readonly 'agent.get': { readonly target: string }
  readonly 'pane.report_agent': Reporter & { readonly state: string; readonly message: string }
  readonly 'pane.release_agent': Reporter
  readonly 'pane.report_metadata': OfPane & {
    readonly source: string
    readonly tokens: Readonly<Record<string, string>>
  }
}

interface Reporter extends OfPane {
  readonly source: string
  readonly agent: string
  /** Counts up: a report that is not newer than the last is dropped. */
  readonly seq: number
}

/** Changes of the whole session that are listened to. Each is only a hint that something may be different. */
export const hints: readonly string[] = [
  ...['pane.created', 'pane.closed', 'pane.exited', 'pane.moved'],
  ...['tab.closed', 'tab.renamed', 'workspace.closed'],
]
