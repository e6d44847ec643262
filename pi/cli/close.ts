import {
  type CloseReport,
  closeBelow,
  mayCloseOrphan,
  mayDo,
  type Row,
} from '../../actors/index.ts'
import { reserveAt, startRuntime } from '../../mailbox/index.ts'
import { shownLine, shownText } from '../shown.ts'
import { everyOwner, type OwnerView, ownerOf } from './agents.ts'
import { type CliWorld, openRunners } from './compose.ts'
import { findAgent } from './find.ts'
import { openCommand, processWords } from './session-of.ts'
import type { Terminal } from './terminal.ts'
import { type Branch, closingOrder, forest } from './tree.ts'
import { exit } from './usage.ts'

interface Options {
  readonly json: boolean
  readonly yes: boolean
}

/** Closes one agent and all below it in the place of its owner, which is proven not to act any more. */
export async function close(
  world: CliWorld,
  terminal: Terminal,
  name: string,
  { json, yes }: Options,
): Promise<number> {
  const owners = await terminal.during('Looking at all mailboxes …', () => everyOwner(world))
  const found = findAgent(
    owners.flatMap(({ rows }) => rows),
    name,
    'close',
  )
  const refuse = (outcome: string, why: string): number => {
    if (json) terminal.data({ agent: name, outcome, why })
    terminal.note(shownText(why))
    return exit.failed
  }
  if ('problem' in found)
    return refuse(found.problem === 'none' ? 'not_found' : 'ambiguous', found.message)
  const row = found.found
  const hindrance = whyNot(world, row, ownerOf(row, owners))
  if (hindrance !== undefined) return refuse(hindrance.outcome, hindrance.why)
  const order = closingOrder(branchOf(row, owners))
  if (!yes) {
    if (!terminal.canAsk) {
      terminal.note('Nothing was closed: there is no terminal to ask on. Add --yes.')
      return exit.wrongUsage
    }
    const question = `Close ${order.join(', ')}? Work that goes on is discarded.`
    if (!(await terminal.confirm(shownLine(question))))
      return refuse('declined', 'Nothing was closed.')
  }
  const report = await terminal.during(`Closing ${order.join(', ')} …`, () => closeNow(world, row))
  return tell(terminal, row, report, json)
}

interface Hindrance {
  readonly outcome: 'owner_acts' | 'unproven' | 'undelivered_result'
  readonly why: string
}

/** Why this command may not close it, and who can. The same checks as the tools make, and one of its owner before. */
function whyNot(world: CliWorld, row: Row, owner: OwnerView | undefined): Hindrance | undefined {
  const { agent, facts } = row
  const { owner: session } = facts.generation.identity
  const lead = facts.generation.depth === 1
  const holder = owner?.holder
  if (owner?.acting === 'live' && holder !== undefined) {
    const where = processWords(world, holder.process)
    const how = lead
      ? `There, ask it to close ${agent}, or end that process and run this again.`
      : `Close its owner instead, or ask that; or end that process and run this again.`
    return {
      outcome: 'owner_acts',
      why: `${agent} is its owner's to close: session ${session} is open in ${where}. ${how} Nothing was closed.`,
    }
  }
  if (owner?.acting === 'unknown' || owner?.acting === 'unreadable') {
    const why =
      owner.acting === 'unknown'
        ? `whether process ${holder?.process.pid} still acts for its owner cannot be proved from here: it belongs to another machine or container. Run this there`
        : `who acts for its owner cannot be read. See drover doctor`
    return { outcome: 'unproven', why: `${agent} cannot be closed: ${why}. Nothing was closed.` }
  }
  // A lead can be opened again, and is told its results then; what an agent owned has lost its reader.
  const verdict = lead ? mayDo('close', facts) : mayCloseOrphan(facts)
  if (verdict === true) return undefined
  if (facts.assignment.conclusion !== undefined && lead)
    return {
      outcome: 'undelivered_result',
      why: `${verdict.why}. It is delivered when the session of its owner is opened again:\n  ${openCommand(world, session)}`,
    }
  return {
    outcome: 'unproven',
    why: `${verdict.why}. Try again once that can be told. Nothing was closed.`,
  }
}

function branchOf(row: Row, owners: readonly OwnerView[]): Branch {
  const within = (branches: readonly Branch[]): Branch | undefined => {
    for (const branch of branches) {
      if (branch.row === row) return branch
      const below = within(branch.below)
      if (below !== undefined) return below
    }
    return undefined
  }
  return within(forest(owners).flatMap(({ agents }) => agents)) ?? { row, below: [] }
}

/** Takes the lease of its owner, on proof of death alone, and closes as the owner would. ^C ends waiting, no step. */
async function closeNow(world: CliWorld, { facts }: Row): Promise<CloseReport> {
  const { owner, generation } = facts.generation.identity
  const { runtime, end } = startRuntime(world.processes, world.ids)
  const { runners, close: closeRunners } = openRunners(world)
  const abort = new AbortController()
  const stop = () => abort.abort()
  process.once('SIGINT', stop)
  try {
    const ports = {
      ...world,
      runtime,
      runners,
      reserve: reserveAt(world.fs, world.root.ballast),
      signal: abort.signal,
    }
    return await closeBelow(ports, owner, generation)
  } finally {
    process.removeListener('SIGINT', stop)
    closeRunners()
    end()
  }
}

function tell(terminal: Terminal, { agent }: Row, report: CloseReport, json: boolean): number {
  const { closed, notClosed, kept } = report
  // Somebody else may have closed it while a person was asked.
  const isOpen = notClosed.length > 0
  if (json) terminal.data({ agent, outcome: isOpen ? 'open' : 'closed', ...report })
  else {
    if (closed.length > 0) terminal.line(shownText(`Closed: ${closed.join(', ')}.`))
    else if (!isOpen) terminal.line(shownText(`${agent} was closed already.`))
    for (const file of kept) terminal.line(shownText(`A result nobody had read is kept in ${file}`))
  }
  for (const { label, why } of notClosed)
    terminal.note(shownText(`${label} is still open: ${why}.`))
  if (isOpen) terminal.note('Run it again to go on.')
  return isOpen ? exit.failed : exit.done
}
