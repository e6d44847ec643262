import { openQuestion, type Row } from '../../actors/index.ts'
import type { Colour } from './terminal.ts'

/** A span of time as a person reads it at a glance. */
export function spanWords(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000))
  if (seconds < 60) return `${seconds}s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes}m`
  const hours = Math.floor(minutes / 60)
  if (hours < 24) return `${hours}h${String(minutes % 60).padStart(2, '0')}m`
  return `${Math.floor(hours / 24)}d${hours % 24}h`
}

export const sizeWords = (bytes: number): string =>
  bytes < 1_024
    ? `${bytes} bytes`
    : bytes < 1_048_576
      ? `${(bytes / 1_024).toFixed(1)} KiB`
      : `${(bytes / 1_048_576).toFixed(1)} MiB`

export const stateWords = ({ state, starting }: Row): string => (starting ? 'starting' : state)

export function stateColour({ state }: Row): Colour {
  if (state === 'working') return 'green'
  if (state === 'blocked') return 'yellow'
  return state === 'lost' ? 'red' : 'cyan'
}

/** What an agent is about now, the first that there is: what waits for somebody comes before what goes on. */
export function doingWords({ facts }: Row): string | undefined {
  const { assignment, activity, diagnostic } = facts
  const ask = openQuestion(facts)
  if (ask !== undefined) return `asks: ${ask.text}`
  const { conclusion } = assignment
  if (conclusion !== undefined)
    return conclusion.kind === 'result'
      ? 'has a result to deliver'
      : `failed: ${conclusion.message}`
  if (activity?.resultError !== undefined)
    return `cannot write its end down: ${activity.resultError.cause}`
  if (assignment.close !== undefined) return 'is being closed'
  if (activity?.waiting !== undefined) return waitingWords(activity.waiting)
  return activity?.lines.at(-1) ?? diagnostic
}

export function waitingWords(waiting: 'owner' | 'agents' | 'person'): string {
  if (waiting === 'agents') return 'waits for its own agents'
  return waiting === 'person' ? 'waits for a person in its pane' : 'waits for its owner'
}
