import type { Descendant, Row } from '../../../actors/index.ts'
import { openQuestion } from '../../../actors/index.ts'
import type { Choice } from './asking.ts'
import type { MenuContext } from './context.ts'

/** The living agents: one that is chosen is shown in its pane, or by whoever shows an agent without one. */
export async function runningMenu(menu: MenuContext): Promise<void> {
  const { ask, delegation, ctx } = menu
  for (;;) {
    const { rows, below, role } = await delegation.agents(ctx)
    if (rows.length === 0) {
      ask.tell('No agents are running.')
      return
    }
    const note = role === 'observing' ? '\nAnother window acts for this session.' : ''
    const chosen = await ask.choose(`Running${note}`, inTreeOrder(rows, below).map(choice))
    if (chosen === undefined) return
    if (await showAgent(menu, chosen)) return
  }
}

/** @returns whether the person is elsewhere now */
async function showAgent(menu: MenuContext, seen: Row): Promise<boolean> {
  const { ask, delegation, viewAgent, ctx } = menu
  if (seen.facts.pane !== undefined) {
    const outcome = await delegation.focus(seen, ctx).catch((error: Error) => error)
    if (outcome === 'focused') return true
    if (outcome instanceof Error) {
      ask.tell(`${seen.agent} is not shown: ${outcome.message}`, 'warning')
      return false
    }
    if (outcome === 'changed') {
      ask.tell(
        `${seen.agent} is not where it was a moment ago, or has ended. Nothing was done; look at the list again.`,
        'warning',
      )
      return false
    }
  }
  // It may have settled since the list was made.
  const viewed = await viewAgent?.(seen, ctx).catch((error: Error) => {
    ask.tell(`${seen.agent} is not shown: ${error.message}`, 'warning')
    return 'left' as const
  })
  if (viewed !== 'left') await ask.show(factsOf(seen))
  return false
}

/** Children stand below their owner. */
function inTreeOrder(rows: readonly Row[], below: readonly Descendant[]): readonly Row[] {
  const childrenOf = (label: string): readonly Row[] =>
    below.flatMap(({ row, parent }) => (parent === label ? withChildren(row) : []))
  const withChildren = (row: Row): readonly Row[] => [row, ...childrenOf(row.agent)]
  return rows.flatMap(withChildren)
}

function choice(row: Row): Choice<Row> {
  const { generation } = row.facts
  const indent = '  '.repeat(Math.max(0, generation.depth - 1))
  const parts = [row.agent, generation.definition, stateOf(row), doing(row)]
  return { label: `${indent}${parts.filter((part) => part !== '').join(' · ')}`, value: row }
}

const stateOf = ({ state, starting }: Row): string => (starting ? 'starting' : state)

/** What it waits for or does, in a few words. */
function doing({ facts }: Row): string {
  const question = openQuestion(facts)
  if (question !== undefined) return `asks: ${question.text}`
  const { waiting, tool } = facts.activity ?? {}
  if (waiting !== undefined) return `waits for ${waiting === 'person' ? 'a person' : waiting}`
  return tool === undefined ? '' : `uses ${tool}`
}

function factsOf(row: Row): string {
  const { generation, ready, activity } = row.facts
  const { identity, definition, runner } = generation
  const process = ready?.runtime.process.pid
  const lines = [
    `${row.agent} (${definition}) ${stateOf(row)} ${doing(row)}`.trim(),
    `Runs ${runner}${process === undefined ? '' : `, process ${process}`}, in ${identity.cwd}`,
    `Session ${identity.sessionFile}`,
    ...(activity?.lines.slice(-8).map((line) => `  ${line}`) ?? []),
  ]
  return lines.join('\n')
}
