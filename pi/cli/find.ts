import type { Row } from '../../actors/index.ts'
import { shownLine } from '../shown.ts'

/** Shortest beginning of a session or generation that names it. */
const prefixCharsMin = 4

export type Found =
  | { readonly found: Row }
  | { readonly problem: 'none' | 'many'; readonly message: string }

/**
 * The one agent that a name means: its label, `<session>/<label>`, or its generation. Session and generation may be
 * given by their first characters; the session is the one that owns it, or the one at the top of its tree.
 */
export function findAgent(rows: readonly Row[], name: string, command: string): Found {
  const matches = matching(rows, name)
  const [only] = matches
  if (only === undefined) return none(rows, name)
  if (matches.length === 1) return { found: only }
  const candidates = matches.map(
    (row) => `  drover ${command} ${nameOf(row, rows)}  ${row.state}, ${whereOf(row)}`,
  )
  return {
    problem: 'many',
    message: [`${matches.length} agents are called ${shownLine(name)}. Type one of:`, ...candidates]
      .map((line) => shownLine(line))
      .join('\n'),
  }
}

/** What to type for this agent among all: as short as it is clear. */
export function nameOf(row: Row, rows: readonly Row[]): string {
  const { generation } = row.facts.generation.identity
  const { owner } = row.facts.generation.identity
  const isClear = (name: string) => {
    const matches = matching(rows, name)
    return matches.length === 1 && matches[0] === row
  }
  if (isClear(row.agent)) return row.agent
  for (let length = 8; length <= owner.length; length++) {
    const name = `${owner.slice(0, length)}/${row.agent}`
    if (isClear(name)) return name
  }
  return generation
}

function matching(rows: readonly Row[], name: string): readonly Row[] {
  const slash = name.lastIndexOf('/')
  if (slash >= 0) {
    const [session, label] = [name.slice(0, slash), name.slice(slash + 1)]
    return rows.filter(
      ({ agent, facts: { generation } }) =>
        agent === label &&
        [generation.identity.owner, generation.root].some((each) => begins(each, session)),
    )
  }
  const labelled = rows.filter(({ agent }) => agent === name)
  if (labelled.length > 0) return labelled
  return rows.filter(({ facts }) => begins(facts.generation.identity.generation, name))
}

const begins = (whole: string, prefix: string): boolean =>
  whole === prefix || (prefix.length >= prefixCharsMin && whole.startsWith(prefix))

function none(rows: readonly Row[], name: string): Found {
  const labels = [...new Set(rows.map(({ agent }) => agent))].sort()
  const known = labels.length === 0 ? 'There are none.' : `There are: ${labels.join(', ')}.`
  return { problem: 'none', message: shownLine(`No agent is called ${name}. ${known}`) }
}

const whereOf = ({ facts }: Row): string =>
  `${facts.generation.definition} in ${facts.generation.identity.cwd}`
