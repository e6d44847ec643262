import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { diskFs, hashedName, ownNames } from '../mailbox/index.ts'
import type { Sandbox } from './pi-process.ts'

/** All processes that were started in a sandbox and still run. */
export function processesIn({ agentDirectory }: Sandbox): number[] {
  const mark = `PI_CODING_AGENT_DIR=${agentDirectory}`
  return readdirSync('/proc').flatMap((name) => {
    try {
      const isIts = readFileSync(`/proc/${name}/environ`, 'latin1').split('\0').includes(mark)
      return isIts && !/^\d+ \(.*\) [ZX]/.test(readFileSync(`/proc/${name}/stat`, 'latin1'))
        ? [Number(name)]
        : []
    } catch {
      return []
    }
  })
}

export interface LivingGeneration {
  readonly path: string
  readonly records: readonly { readonly kind: string; readonly [field: string]: unknown }[]
}

/** Every generation on disk, whoever owns it, with all its records. */
export function generations({ agentDirectory }: Sandbox): LivingGeneration[] {
  const root = join(agentDirectory, 'drover', 'mailboxes-v4')
  if (!existsSync(root)) return []
  const owners = readdirSync(root).filter((name) => name.length === hashedName('').length)
  return owners.flatMap((owner) =>
    ['', 'starting', 'settled'].flatMap((stage) =>
      ownNames(diskFs, join(root, owner, stage)).map((name) => {
        const path = join(root, owner, stage, name)
        return {
          path,
          records: [...recordsIn(join(path, 'owner')), ...recordsIn(join(path, 'agent'))],
        }
      }),
    ),
  )
}

function recordsIn(directory: string): { readonly kind: string }[] {
  try {
    return readdirSync(directory)
      .filter((name) => name.endsWith('.json'))
      .map((name) => JSON.parse(readFileSync(join(directory, name), 'utf8')))
  } catch {
    return [] // settled while we looked
  }
}

export const hasRecord = (place: Sandbox, kind: string): boolean =>
  generations(place).some(({ records }) => records.some((record) => record.kind === kind))

/** Claims, drafts and results that should not outlive their generation. */
export function leftovers({ agentDirectory }: Sandbox): string[] {
  const root = join(agentDirectory, 'drover', 'mailboxes-v4')
  if (!existsSync(root)) return []
  return readdirSync(root, { recursive: true, withFileTypes: true }).flatMap((entry) => {
    const path = join(entry.parentPath, entry.name)
    return entry.isFile() && !/\/(lease|takeover)\/\d+$/.test(path) ? [path] : []
  })
}

/** Every saved session: the lead's, and one for each agent that was ever ready. */
export function sessionFiles({ agentDirectory }: Sandbox): string[] {
  const root = join(agentDirectory, 'sessions')
  return existsSync(root)
    ? readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) =>
        name.endsWith('.jsonl'),
      )
    : []
}

/** The results a session file really holds, in order, by label. */
export function delivered(sessionFile: string): string[] {
  if (!existsSync(sessionFile)) return [] // the host writes it with its first answer
  return readFileSync(sessionFile, 'utf8')
    .split('\n')
    .filter((line) => line.includes('"drover-mail"'))
    .map((line) => JSON.parse(line))
    .filter((entry) => entry.type === 'custom_message')
    .flatMap((entry) =>
      entry.details.results.map((result: { agentLabel: string }) => result.agentLabel),
    )
}
