import { limits } from '../mailbox/index.ts'
import type { Condition, Notice } from './ports.ts'
import { type AgentFacts, openQuestion, publicState, row } from './row.ts'

/** How long an agent has shown no turn, message or tool, ms; undefined where it has shown nothing yet. */
export function silentMs({ activity }: AgentFacts, now: number): number | undefined {
  return activity === undefined ? undefined : Math.max(0, now - activity.at)
}

/** Whether an agent at work has been silent for so long that somebody should look. It proves no hang. */
export function isStale(facts: AgentFacts, now: number): boolean {
  return publicState(facts) === 'working' && (silentMs(facts, now) ?? 0) >= limits.staleMs
}

/**
 * What an owner should know of an agent, the first that fits; undefined where all is as it should be.
 *
 * It decides nothing. Whether it has been told is told by its episode: a reminder comes when it has lasted twice as
 * long as at the one before.
 *
 * @param now milliseconds since the epoch
 */
export function attention(facts: AgentFacts, now: number): Notice | undefined {
  const { task, conclusion, close } = facts.assignment
  if (task === undefined || conclusion !== undefined || close !== undefined) return undefined
  const found = trouble(facts, now)
  if (found === undefined) return undefined
  const { condition, since, about = '' } = found
  const lastsMs = since === undefined ? undefined : Math.max(0, now - since)
  const resultError = condition === 'result_error' ? facts.activity?.resultError : undefined
  return {
    condition,
    request: task.id,
    episode: `${condition}:${about}:${reminder(condition, lastsMs ?? 0)}`,
    ...(lastsMs !== undefined && { lastsMs }),
    actions: row(facts).actions,
    ...(resultError && { resultError }),
  }
}

interface Trouble {
  readonly condition: Condition
  /** Since when it is known, milliseconds since the epoch. */
  readonly since?: number
  /**
   * What tells it from another of its kind. No time: every process would begin anew, and an agent that is silent often
   * would be told of each time.
   */
  readonly about?: string
}

/** How long each lasts before it is told, unless it is told at once; the first reminder comes after twice that, ms. */
const periodsMs: Readonly<Record<Condition, number>> = {
  lost: limits.staleMs,
  unknown: 0,
  result_error: limits.staleMs,
  unanswered: limits.unansweredMs,
  untaken: limits.untakenMs,
  stale: limits.staleMs,
}

function trouble(facts: AgentFacts, now: number): Trouble | undefined {
  const { assignment, presence, activity, askToldAt, lostSince } = facts
  const lasts = (condition: Condition, since = now, about = ''): Trouble | undefined =>
    now - since >= periodsMs[condition] ? { condition, since, about } : undefined
  if (presence === 'lost')
    return { condition: 'lost', ...(lostSince !== undefined && { since: lostSince }) }
  if (assignment.phase !== 'active' && assignment.phase !== 'offered') return undefined
  if (presence === 'unknown')
    return assignment.phase === 'active' ? { condition: 'unknown' } : undefined
  if (activity?.resultError !== undefined)
    return { condition: 'result_error', since: activity.resultError.since } // it has been tried often by then
  const ask = openQuestion(facts)
  if (ask !== undefined) return lasts('unanswered', askToldAt, ask.id)
  if (assignment.pendingSince !== undefined) return lasts('untaken', assignment.pendingSince)
  return isStale(facts, now) ? lasts('stale', activity?.at) : undefined
}

/** 0 for the first notice, one more each time it has lasted twice as long. */
function reminder(condition: Condition, lastsMs: number): number {
  const periodMs = periodsMs[condition]
  return periodMs === 0 ? 0 : Math.floor(Math.log2(Math.max(1, lastsMs / periodMs)))
}
