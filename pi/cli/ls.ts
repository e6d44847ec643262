import type { Row } from '../../actors/index.ts'
import { listedAgent } from '../lead/rows.ts'
import { shownLine, shownText } from '../shown.ts'
import { actingWords, everyOwner } from './agents.ts'
import type { CliWorld } from './compose.ts'
import type { Terminal } from './terminal.ts'
import { flat, forest, type Top } from './tree.ts'
import { exit } from './usage.ts'
import { clipped, displayWidth, padded } from './width.ts'
import { doingWords, spanWords, stateColour, stateWords } from './words.ts'

/** All agents of this user as trees, as text or as one JSON array, parents before children. */
export async function list(world: CliWorld, terminal: Terminal, json: boolean): Promise<number> {
  const owners = await terminal.during('Looking at all mailboxes …', () => everyOwner(world))
  for (const path of owners.flatMap(({ untrusted }) => untrusted))
    terminal.note(shownText(`${path} cannot be trusted; nothing is done with it.`))
  const tops = forest(owners)
  const now = world.clock.now()
  if (json) terminal.data(tops.flatMap((top) => listed(top, now)))
  else if (tops.length === 0) terminal.line('No agents.')
  else for (const top of tops) printTop(terminal, top, now)
  return exit.done
}

function listed({ owner, agents }: Top, now: number): readonly Record<string, unknown>[] {
  return flat(agents).map(({ row, parent }) => {
    const { identity, root, depth } = row.facts.generation
    return {
      ...listedAgent(row, now),
      generation: identity.generation,
      ...(parent && { parent_label: parent.agent }),
      depth,
      root_session_id: root,
      root_is_open: owner.acting,
    }
  })
}

function printTop(terminal: Terminal, { session, owner, agents }: Top, now: number): void {
  const cells = flat(agents).map(({ row, depth }) => ({
    row,
    label: `${'  '.repeat(depth)}${depth > 0 ? '└ ' : ''}${row.agent}`,
    age: spanWords(now - row.facts.generation.at),
  }))
  const labels = Math.max(...cells.map(({ label }) => displayWidth(label)))
  const ages = Math.max(...cells.map(({ age }) => age.length))
  const definitions = Math.max(...cells.map(({ row }) => definitionOf(row).length))
  terminal.clip(`session ${session}  ${actingWords(owner)}`, 'bold')
  for (const { row, label, age } of cells) {
    const state = stateWords(row).padEnd(8)
    const about = doingWords(row) ?? row.facts.generation.identity.cwd
    const head = `  ${padded(label, labels)}  `
    const tail = `  ${age.padStart(ages)}  ${definitionOf(row).padEnd(definitions)}  ${about}`
    const rest = shownLine(tail)
    const line = clipped(`${head}${state}${rest}`, terminal.columns)
    // Painted after it was cut, so that no cut falls into a colour.
    const before = line.slice(0, head.length)
    const within = line.slice(head.length, head.length + state.length)
    const after = line.slice(head.length + state.length)
    terminal.line(`${before}${terminal.paint(within, stateColour(row))}${after}`)
  }
}

const definitionOf = ({ facts }: Row): string => shownLine(facts.generation.definition, 32)
