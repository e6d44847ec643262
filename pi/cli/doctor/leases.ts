import type { OwnerView } from '../agents.ts'
import type { CliWorld } from '../compose.ts'
import { openCommand } from '../session-of.ts'
import { type CheckReport, counted, type Finding } from './finding.ts'

/** Whether somebody acts for every session that has agents. */
export function leases(world: CliWorld, owners: readonly OwnerView[]): CheckReport {
  const live = owners.filter(({ acting }) => acting === 'live').length
  const idle = owners.filter(({ acting, rows }) => acting === 'gone' && rows.length === 0).length
  const closed = owners.filter(({ acting, rows }) => acting === 'nobody' && rows.length > 0)
  return {
    facts: [
      `${counted(owners.length, 'owner session')}, ${live} open`,
      ...(idle > 0
        ? [`${counted(idle, 'session')} without agents left by processes that are gone: harmless`]
        : []),
      ...closed.map(
        ({ session = '', rows }) =>
          `session ${session} is not open; ${counted(rows.length, 'agent')} of it wait for that`,
      ),
    ],
    findings: owners.flatMap((owner) => findingOf(world, owner) ?? []),
  }
}

function findingOf(world: CliWorld, owner: OwnerView): Finding | undefined {
  const { acting, directory, session = '', holder, rows } = owner
  const pid = holder?.process.pid
  if (acting === 'unreadable')
    return {
      severity: 'error',
      what: `the lease in ${directory} cannot be read: nobody can act for that session`,
      remedy:
        'See what is wrong with its directories above; nothing is taken over before it can be read.',
    }
  if (rows.length === 0) return undefined
  const agents = `${counted(rows.length, 'agent')} (${rows.map(({ agent }) => agent).join(', ')})`
  if (acting === 'gone')
    return {
      severity: 'warning',
      what: `stale lease: process ${pid}, which acted for session ${session}, is gone; it has ${agents}`,
      ...closeOrOpen(world, owner),
    }
  if (acting === 'unknown')
    return {
      severity: 'warning',
      what: `whether process ${pid} still acts for session ${session} cannot be proved from here; it has ${agents}`,
      remedy: 'It belongs to another machine or container: look there.',
    }
  return undefined
}

/** An agent's session is not opened by a person: what it owned is closed. */
function closeOrOpen(
  world: CliWorld,
  { session = '', rows }: OwnerView,
): Pick<Finding, 'remedy' | 'run'> {
  const isLead = rows[0]?.facts.generation.depth === 1
  if (!isLead) return { remedy: 'End what it owned: drover close <agent>.' }
  return {
    remedy:
      'Open it again, and results come by themselves; or end its agents: drover close <agent>.',
    run: openCommand(world, session),
  }
}
