import type { Row } from '../../actors/index.ts'

/** An agent as `list` shows it; absent fields are omitted. */
export function listedAgent({
  agent,
  state,
  starting,
  actions,
  facts,
}: Row): Record<string, unknown> {
  const { generation, assignment, ready, cleanupError, diagnostic } = facts
  const { identity, definition } = generation
  const { placement, task } = assignment
  const pane = placement?.pane
  const pid = placement?.process?.pid ?? ready?.runtime.process.pid
  return {
    agent,
    state,
    ...(starting && { starting }),
    available_actions: actions,
    ...(pane && { workspace_id: pane.workspace, tab_id: pane.tab, pane_id: pane.pane }),
    ...(pid !== undefined && { pid }),
    runner: generation.runner,
    cwd: identity.cwd,
    pi_session_id: identity.session,
    pi_session_path: identity.sessionFile,
    owner_session_id: identity.owner,
    agent_definition: definition,
    ...(task && { active_request_id: task.id }),
    ...(cleanupError !== undefined && { cleanup_error: cleanupError }),
    ...(diagnostic !== undefined && { diagnostic }),
  }
}
