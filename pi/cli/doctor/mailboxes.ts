import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { OwnerView } from '../agents.ts'
import type { CliWorld } from '../compose.ts'
import { pathsOf } from '../dossier.ts'
import { bounded, type CheckReport, counted, type Finding } from './finding.ts'

/** Whether what agents and owners wrote can be trusted. */
export function mailboxes(world: CliWorld, owners: readonly OwnerView[]): CheckReport {
  const rows = owners.flatMap((owner) => owner.rows)
  const untrusted = owners.flatMap((owner) =>
    owner.untrusted.map(
      (path): Finding => ({
        severity: 'error',
        what: `mailbox ${path} cannot be trusted: nothing is done with it`,
        remedy: `See what is in it. If no process of it runs any more, move it away.`,
      }),
    ),
  )
  const doubtful = rows.flatMap((row): Finding[] => {
    const { diagnostic } = row.facts
    if (diagnostic === undefined) return []
    const { directory } = pathsOf(world, row)
    return [
      {
        severity: 'warning',
        what: `${row.agent}: ${diagnostic}`,
        remedy: `What cannot be trusted is passed over; see ${directory}`,
      },
    ]
  })
  const quarantined = rows.flatMap((row) =>
    quarantineOf(world, row.agent, pathsOf(world, row).quarantine),
  )
  return {
    facts: [`${counted(rows.length, 'mailbox', 'mailboxes')}`],
    findings: bounded([...untrusted, ...doubtful, ...quarantined]),
  }
}

function quarantineOf({ fs }: CliWorld, agent: string, directory: string): Finding[] {
  const names = (fs.list(directory) ?? []).filter((name) => !name.endsWith('.reason'))
  return names.map((name) => ({
    severity: 'warning',
    what: `${agent}: a file is in quarantine${reasonOf(directory, name)}`,
    remedy: `Somebody wrote what Drover does not write. See ${join(directory, name)}; it goes with its mailbox.`,
  }))
}

function reasonOf(directory: string, name: string): string {
  try {
    const note = JSON.parse(readFileSync(join(directory, `${name}.reason`), 'utf8'))
    return `: ${note.name}, ${note.reason}`
  } catch {
    return ''
  }
}
