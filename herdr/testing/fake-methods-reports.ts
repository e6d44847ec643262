import { z } from 'zod'
import type { Report } from './fake-agent.ts'
import { refresh, tellUpdated } from './fake-agents.ts'
import { workspaceInfo } from './fake-info.ts'
import { count, flag, loop, type Methods, maybe, text } from './fake-method.ts'
import type { AgentSession } from './fake-records.ts'

const ok = { type: 'ok' } as const

const reference = {
  agent_session_id: maybe(text),
  agent_session_path: maybe(text),
}
const reporter = { pane_id: text, source: text, agent: text, seq: maybe(count) }

/** What outsiders say about panes. Whether it counted is not told: the answer is always `ok`. */
export const reportMethods: Methods = {
  'pane.report_agent': loop(
    z.object({
      ...reporter,
      ...reference,
      state: z.enum(['idle', 'working', 'blocked', 'unknown']),
      message: maybe(text),
    }),
    (stage, params) => {
      const pane = stage.world.pane(params.pane_id)
      if (stage.faults.dropsReport()) return ok
      pane.agent.report({ ...reportOf(params), state: params.state })
      refresh(stage, pane)
      return ok
    },
  ),
  'pane.report_agent_session': loop(
    z.object({ ...reporter, ...reference, session_start_source: maybe(text) }),
    (stage, params) => {
      const pane = stage.world.pane(params.pane_id)
      if (stage.faults.dropsReport()) return ok
      pane.agent.reportSession(reportOf(params))
      return ok
    },
  ),
  'pane.release_agent': loop(z.object(reporter), (stage, { pane_id, source, seq }) => {
    const pane = stage.world.pane(pane_id)
    pane.agent.release(source, seq)
    refresh(stage, pane)
    return ok
  }),
  'pane.clear_agent_authority': loop(
    z.object({ pane_id: text, source: maybe(text), seq: maybe(count) }),
    (stage, { pane_id, source, seq }) => {
      const pane = stage.world.pane(pane_id)
      pane.agent.release(source, seq)
      refresh(stage, pane)
      return ok
    },
  ),
  'pane.report_metadata': loop(
    z.object({
      pane_id: text,
      source: text,
      agent: maybe(text),
      applies_to_source: maybe(text),
      title: maybe(text),
      display_agent: maybe(text),
      state_labels: z.record(z.string(), z.string()).optional(),
      tokens: z.record(z.string(), z.string().nullable()).optional(),
      clear_title: flag.optional(),
      clear_display_agent: flag.optional(),
      clear_state_labels: flag.optional(),
      seq: maybe(count),
      ttl_ms: maybe(z.number()),
    }),
    (stage, { pane_id, ...patch }) => {
      const pane = stage.world.pane(pane_id)
      if (pane.metadata.apply(patch)) tellUpdated(stage, pane)
      return ok
    },
  ),
  'workspace.report_metadata': loop(
    z.object({
      workspace_id: text,
      source: text,
      tokens: z.record(z.string(), z.string().nullable()),
      seq: maybe(count),
      ttl_ms: maybe(z.number()),
    }),
    (stage, { workspace_id, ...patch }) => {
      const workspace = stage.world.workspace(workspace_id)
      if (workspace.metadata.apply(patch))
        stage.emit('workspace_metadata_updated', {
          workspace: workspaceInfo(stage.world, workspace),
        })
      return ok
    },
  ),
}

interface ReportParams {
  readonly source: string
  readonly agent: string
  readonly seq?: number | undefined
  readonly agent_session_id?: string | undefined
  readonly agent_session_path?: string | undefined
}

function reportOf(params: ReportParams): Report {
  const { source, agent, seq } = params
  const session = sessionOf(params)
  return {
    source,
    agent,
    ...(seq !== undefined && { seq }),
    ...(session !== undefined && { session }),
  }
}

function sessionOf(params: ReportParams): AgentSession | undefined {
  const { source, agent, agent_session_path: path, agent_session_id: id } = params
  if (path !== undefined) return { source, agent, kind: 'path', value: path }
  return id === undefined ? undefined : { source, agent, kind: 'id', value: id }
}
