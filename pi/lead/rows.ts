import { type Descendant, isStale, openQuestion, type Row, silentMs } from '../../actors/index.ts'
import type { ResultError } from '../../mailbox/index.ts'

/**
 * An agent as `list` shows it; absent fields are omitted.
 *
 * @param now milliseconds since the epoch: how long an agent has been silent is advice, and decides nothing
 */
export function listedAgent(
  { agent, state, starting, actions, facts }: Row,
  now: number,
): Record<string, unknown> {
  const { generation, assignment, ready, activity, cleanupError, diagnostic } = facts
  const { identity, definition } = generation
  const { placement, task } = assignment
  const ask = openQuestion(facts)
  const { pane } = facts
  const pid = placement?.process?.pid ?? ready?.runtime.process.pid
  const inactiveMs = silentMs(facts, now)
  return {
    agent,
    state,
    ...(starting && { starting }),
    available_actions: actions,
    ...(pane && {
      workspace_id: pane.workspace,
      tab_id: pane.tab,
      ...(pane.tabLabel !== undefined && { tab_label: pane.tabLabel }),
      pane_id: pane.pane,
    }),
    ...(pid !== undefined && { pid }),
    runner: generation.runner,
    cwd: identity.cwd,
    pi_session_id: identity.session,
    pi_session_path: identity.sessionFile,
    owner_session_id: identity.owner,
    agent_definition: definition,
    ...(task && { active_request_id: task.id }),
    ...(ask && { question: ask.text, ask_id: ask.id }),
    ...(activity && { last_activity_at: new Date(activity.at).toISOString() }),
    ...(inactiveMs !== undefined && {
      inactive_ms: inactiveMs,
      stale: isStale(facts, now),
    }),
    ...(activity?.waiting && { waiting_for: activity.waiting }),
    ...(activity?.resultError && { result_error: resultError(activity.resultError) }),
    ...(activity?.tokens !== undefined && { tokens: activity.tokens }),
    ...(cleanupError !== undefined && { cleanup_error: cleanupError }),
    ...(diagnostic !== undefined && { diagnostic }),
  }
}

/** An agent of an agent: shown, and its owner's to act on; an orphan may be closed if it can be proven. */
export function listedDescendant(
  { row, parent, isOrphan }: Descendant,
  now: number,
): Record<string, unknown> {
  return {
    ...listedAgent(row, now),
    parent_label: parent,
    ...(isOrphan && { orphan: true }),
  }
}

/** What an agent that has come to its end cannot write down, and what that means. */
function resultError({ status, attempts, cause, since }: ResultError): Record<string, unknown> {
  return {
    status,
    attempts,
    cause,
    since: new Date(since).toISOString(),
    next: 'It goes on trying; mend the cause and its result comes by itself. A close discards it.',
  }
}
