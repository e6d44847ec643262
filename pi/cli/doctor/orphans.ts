import { realpathSync } from 'node:fs'
import { join } from 'node:path'
import { generationVariable, type Row } from '../../../actors/index.ts'
import {
  generationExists,
  isSameProcess,
  type MarkedProcess,
  ownerDirectory,
  ownNames,
  type ProcessIdentity,
} from '../../../mailbox/index.ts'
import { shownLine } from '../../shown.ts'
import { type OwnerView, ownerOf } from '../agents.ts'
import type { CliWorld } from '../compose.ts'
import { nameOf } from '../find.ts'
import { bounded, type CheckReport, counted, type Finding } from './finding.ts'

/** Longest command shown, characters. */
const commandCharsMax = 120

/** Processes of agents that nobody will end: their agent is settled, gone, or without an owner. */
export function orphans(world: CliWorld, owners: readonly OwnerView[]): CheckReport {
  const marked = world.processes
    .bearing(generationVariable)
    .filter(({ environment }) => isOfThisDirectory(world, environment))
  const groups = new Map<string, MarkedProcess[]>()
  for (const each of marked) {
    const generation = each.environment[generationVariable] ?? ''
    groups.set(generation, [...(groups.get(generation) ?? []), each])
  }
  const facts: string[] = []
  const findings = [...groups].flatMap(([generation, processes]): Finding[] => {
    const row = rowOf(owners, generation)
    if (row !== undefined) return ofAgent(world, owners, row, processes) ?? []
    // What is on its way in or out is not surveyed; and it may have ended while we looked.
    const left = processes.filter(({ process }) => world.processes.presence(process) === 'live')
    if (isOnDisk(world, generation) || left.length === 0) return []
    if (left.every(isInPane)) {
      facts.push(`${counted(left.length, 'process', 'processes')} in a pane left to its person`)
      return []
    }
    return [
      {
        severity: 'warning',
        what: `orphan ${listOf(world, left)} of agent ${generation}, which is settled`,
        remedy: 'Look at what it does, then end it.',
        run: `kill ${left.map(({ process }) => process.pid).join(' ')}`,
      },
    ]
  })
  return {
    facts: [`${counted(marked.length, 'process', 'processes')} of agents`, ...facts],
    findings: bounded(findings),
    blind:
      process.platform === 'linux'
        ? []
        : ['processes of agents: this system does not tell what they were started with'],
  }
}

function ofAgent(
  world: CliWorld,
  owners: readonly OwnerView[],
  row: Row,
  processes: readonly MarkedProcess[],
): Finding[] | undefined {
  const { facts } = row
  const owner = ownerOf(row, owners)
  const all = owners.flatMap(({ rows }) => rows)
  const own = facts.assignment.placement?.process ?? facts.ready?.runtime.process
  const close = `drover close ${nameOf(row, all)}`
  const isOwn = (process: ProcessIdentity) => own !== undefined && isSameProcess(process, own)
  if (facts.presence === 'lost') {
    const left = processes.filter(({ process }) => !isOwn(process))
    if (left.length === 0) return undefined
    const what = `orphan ${listOf(world, left)} of agent ${row.agent}, which is gone`
    if (owner?.acting === 'live') {
      const remedy = `Have its owner, process ${owner.holder?.process.pid}, close ${row.agent}: that ends them.`
      return [{ severity: 'warning', what, remedy }]
    }
    return [{ severity: 'warning', what, remedy: 'Close it: that ends them.', run: close }]
  }
  // An agent whose owner is an agent that is gone has lost the only reader it had. A lead can be opened again.
  if (owner?.acting === 'live' || owner?.acting === 'unknown' || facts.generation.depth === 1)
    return undefined
  const what = `orphan ${listOf(world, processes)} of agent ${row.agent}: its owner, an agent itself, is gone`
  return [{ severity: 'warning', what, remedy: 'Close it.', run: close }]
}

function listOf({ processes: table }: CliWorld, processes: readonly MarkedProcess[]): string {
  const [first] = processes
  const command = first && table.command(first.process)
  const pids = processes.map(({ process }) => process.pid).join(', ')
  const what = processes.length === 1 ? 'process' : 'processes'
  return `${what} ${pids}${command === undefined ? '' : ` (${shownLine(command, commandCharsMax)})`}`
}

/** A pane in which a person was stays to them when its agent is settled. Headless agents know of no pane. */
const isInPane = ({ environment }: MarkedProcess): boolean => environment['HERDR_ENV'] === '1'

function rowOf(owners: readonly OwnerView[], generation: string): Row | undefined {
  return owners
    .flatMap(({ rows }) => rows)
    .find(({ facts }) => facts.generation.identity.generation === generation)
}

const isOnDisk = ({ fs, root }: CliWorld, generation: string): boolean =>
  /^[0-9a-z]{26}$/.test(generation) &&
  ownNames(fs, root.mailboxes).some((owner) =>
    generationExists(fs, ownerDirectory(root, owner), generation),
  )

/** Agents of another agent directory are none of ours to judge. */
function isOfThisDirectory(
  { agentDirectory }: CliWorld,
  environment: Readonly<Record<string, string>>,
): boolean {
  const home = environment['HOME'] ?? ''
  const given = environment['PI_CODING_AGENT_DIR']
  const theirs = given ? given.replace(/^~(?=\/|$)/, home) : join(home, '.pi', 'agent')
  return real(theirs) === real(agentDirectory)
}

function real(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}
