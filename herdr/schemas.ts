import { z } from 'zod'
import type { Method, Result } from './protocol.ts'
import type { AgentInfo, HerdrEvent, PaneInfo, Pong, ProcessInfo, TabInfo } from './records.ts'

/** What comes back must have what Drover needs; anything else may be there or not. */

const id = z.string().min(1)
const flag = z.boolean().default(false) // false flags are left out
const pid = z.int().min(0)

const pane: z.ZodType<PaneInfo> = z.object({
  pane_id: id,
  terminal_id: id,
  workspace_id: id,
  tab_id: id,
  focused: flag,
})

const tab: z.ZodType<TabInfo> = z.object({
  tab_id: id,
  workspace_id: id,
  label: z.string().default(''),
})

const agent: z.ZodType<AgentInfo> = z.object({
  agent_status: z.string().default('unknown'),
  agent_session: z.object({ source: z.string() }).optional(),
})

const processInfo: z.ZodType<ProcessInfo> = z.object({
  shell_pid: pid.optional(),
  foreground_processes: z.array(z.object({ pid })).default([]),
})

const pong: z.ZodType<Pong> = z.object({
  type: z.literal('pong'),
  version: z.string(),
  protocol: z.int(),
  server: z.string().optional(),
})

const done = z.object({})

export const results: { readonly [M in Method]: z.ZodType<Result<M>> } = {
  ping: pong,
  'session.snapshot': z.object({
    snapshot: z.object({ tabs: z.array(tab), panes: z.array(pane) }),
  }),
  'tab.create': z.object({ root_pane: pane }),
  'pane.get': z.object({ pane }),
  'pane.split': z.object({ pane }),
  'pane.focus': done,
  'pane.rename': done,
  'pane.close': done,
  'pane.read': z.object({ read: z.object({ text: z.string() }) }),
  'pane.process_info': z.object({ process_info: processInfo }),
  'pane.send_input': done,
  'layout.apply': z.object({ layout: z.object({ tab_id: id, focused_pane_id: id }) }),
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
