import { visibleWidth } from '@mariozechner/pi-tui'
import { openQuestion, type Row } from '../../../actors/index.ts'
import { shownLine } from '../../shown.ts'

/** As much of a question is shown above the conversation, characters. The whole of it is in the conversation. */
const questionCharsMax = 400

/** Who is shown, and how it is; what fits, the most important first. */
export function headline(
  { row, isGone }: { readonly row: Row; readonly isGone: boolean },
  width: number,
): string {
  const { agent, state, starting, facts } = row
  const { tool, contextPercent, tokens } = facts.activity ?? {}
  const isAtWork = !isGone && state === 'working'
  return fitting(width, [
    ` ${agent}`,
    isGone ? 'has come to its end' : starting ? 'starting' : state,
    facts.generation.definition,
    ...(isAtWork && tool !== undefined ? [shownLine(tool, 40)] : []),
    ...(contextPercent === undefined ? [] : [`context ${Math.round(contextPercent)}%`]),
    ...(tokens === undefined ? [] : [`${tokens} tokens`]),
  ])
}

/** The question that waits for an answer. */
export function question({ agent, facts }: Row): string | undefined {
  const ask = openQuestion(facts)
  return ask && `${agent} asks: ${shownLine(ask.text, questionCharsMax)}`
}

/** The keys that do something now; what fits, the most important first. */
export function fittingKeys(
  width: number,
  { followsEnd, actions }: { readonly followsEnd: boolean; readonly actions: Row['actions'] },
): string {
  return fitting(width, [
    ' q leave',
    ...(followsEnd ? [] : ['End follow']),
    ...(actions.includes('reply') ? ['r reply'] : []),
    ...(actions.includes('steer') ? ['s steer'] : []),
    ...(actions.includes('close') ? ['x close'] : []),
    '↑↓ scroll',
    'o expand',
  ])
}

/** As many parts as fit beside each other; the first in any case, which is clipped then. */
function fitting(width: number, [first = '', ...rest]: readonly string[]): string {
  let text = first
  for (const part of rest) {
    const longer = `${text} · ${part}`
    if (visibleWidth(longer) > width) break
    text = longer
  }
  return text
}
