import { z } from 'zod'
import type { Method, Result } from './protocol.ts'
import type {
  AgentInfo,
  AgentSession,
  AppliedLayout,
  HerdrEvent,
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

/** What comes back must have what Drover needs; anything else may be there or not. */

const id = z.string().min(1)
const text = z.string().optional()
const flag = z.boolean().default(false) // false flags are left out
const pid = z.int().min(0)
const dictionary = z.record(z.string(), z.string()).optional()

const agentSession: z.ZodType<AgentSession> = z.object({
  source: z.string(),
  agent: z.string(),
  kind: z.string(),
  value: z.string(),
})

const place = { pane_id: id, terminal_id: id, workspace_id: id, tab_id: id }

const pane: z.ZodType<PaneInfo> = z.object({
  ...place,
  focused: flag,
  cwd: text,
  foreground_cwd: text,
  label: text,
  agent: text,
  title: text,
  agent_status: z.string().default('unknown'),
  tokens: dictionary,
  agent_session: agentSession.optional(),
})

const tab: z.ZodType<TabInfo> = z.object({
  tab_id: id,
  workspace_id: id,
  label: z.string().default(''),
  focused: flag,
  pane_count: z.int().min(0).optional(),
})

const workspace: z.ZodType<WorkspaceInfo> = z.object({
  workspace_id: id,
  label: z.string().default(''),
  focused: flag,
  active_tab_id: text,
})

const agent: z.ZodType<AgentInfo> = z.object({
  ...place,
  name: text,
  agent: text,
  agent_status: z.string().default('unknown'),
  launch_pending: flag,
  interactive_ready: flag,
  state_change_seq: z.number().default(0),
  tokens: dictionary,
  agent_session: agentSession.optional(),
})

const processInfo: z.ZodType<ProcessInfo> = z.object({
  pane_id: id,
  shell_pid: pid.optional(),
  foreground_process_group_id: pid.optional(),
  foreground_processes: z
    .array(
      z.object({
        pid,
        name: z.string().default(''),
        argv0: text,
        argv: z.array(z.string()).optional(),
        cmdline: text,
        cwd: text,
      }),
    )
    .default([]),
})

const read: z.ZodType<ReadInfo> = z.object({ pane_id: id, text: z.string(), truncated: flag })

const rect = z.object({ x: z.number(), y: z.number(), width: z.number(), height: z.number() })

const paneLayout: z.ZodType<PaneLayout> = z.object({
  workspace_id: id,
  tab_id: id,
  zoomed: flag,
  area: rect,
  focused_pane_id: z.string(),
  panes: z.array(z.object({ pane_id: id, focused: flag, rect })),
})

const layoutNode: z.ZodType<LayoutNode> = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('pane'),
    pane_id: text,
    label: text,
    cwd: text,
    command: z.array(z.string()).optional(),
    env: dictionary,
  }),
  z.object({
    type: z.literal('split'),
    direction: z.string(),
    ratio: z.number(),
    first: z.lazy(() => layoutNode),
    second: z.lazy(() => layoutNode),
  }),
])

const appliedLayout: z.ZodType<AppliedLayout> = z.object({
  workspace_id: id,
  tab_id: id,
  focused_pane_id: id,
  root: layoutNode,
})

const snapshot: z.ZodType<Snapshot> = z.object({
  version: z.string().default(''),
  protocol: z.number().default(0),
  focused_workspace_id: text,
  focused_tab_id: text,
  focused_pane_id: text,
  workspaces: z.array(workspace).default([]),
  tabs: z.array(tab),
  panes: z.array(pane),
})

const pong: z.ZodType<Pong> = z.object({
  type: z.literal('pong'),
  version: z.string(),
  protocol: z.int(),
  server: text,
})

const done = z.object({})

export const results: { readonly [M in Method]: z.ZodType<Result<M>> } = {
  ping: pong,
  'session.snapshot': z.object({ snapshot }),
  'workspace.get': z.object({ workspace }),
  'tab.create': z.object({ tab, root_pane: pane }),
  'tab.get': z.object({ tab }),
  'tab.list': z.object({ tabs: z.array(tab) }),
  'tab.rename': done,
  'pane.list': z.object({ panes: z.array(pane) }),
  'pane.get': z.object({ pane }),
  'pane.split': z.object({ pane }),
  'pane.focus': done,
  'pane.rename': done,
  'pane.close': done,
  'pane.read': z.object({ read }),
  'pane.process_info': z.object({ process_info: processInfo }),
  'pane.send_input': done,
  'pane.layout': z.object({ layout: paneLayout }),
  'layout.apply': z.object({ layout: appliedLayout }),
  'agent.get': z.object({ agent }),
  'pane.report_agent': done,
  'pane.release_agent': done,
  'pane.report_metadata': done,
}

export const subscribed: z.ZodType<object> = z.object({ type: z.literal('subscription_started') })

const named = z.string().optional().catch(undefined) // an odd field makes no hint worthless

/** Old and new servers spell `pane_exited`, and `pane.exited`: one kind. */
export const event: z.ZodType<HerdrEvent> = z
  .object({
    event: z.string(),
    data: z
      .object({ pane_id: named, tab_id: named, workspace_id: named })
      .catch({ pane_id: undefined, tab_id: undefined, workspace_id: undefined }),
  })
  .transform(({ event, data }) => ({
    kind: event.includes('.') ? event : event.replace('_', '.'),
    ...data,
  }))
