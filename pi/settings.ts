import { readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { type Ids, limits, type MailboxFs } from '../mailbox/index.ts'
import { real } from './definitions/index.ts'

export type RunnerSetting = 'auto' | 'herdr' | 'headless'

/** What a person may set. Invalid values are ignored and said; nothing is ever clamped. */
export interface Settings {
  /** Largest file whose text travels inside a message, bytes. Global only. */
  readonly inlineAttachmentLimitBytes: number
  /** Largest record admitted, bytes of its serialized form. Global only. */
  readonly mailboxPayloadLimitBytes: number
  /** Where herdr puts new agents. A trusted project may set its own. */
  readonly placement: 'tab' | 'split'
  /** Where agents live: `auto` is in herdr where Pi runs inside herdr, and headless elsewhere. Global only. */
  readonly runner: RunnerSetting
  /** Whether the pane of an agent stays open, for the person, once its result is delivered. Global only. */
  readonly keepPanes: boolean
  /** Living agents one lead may have, its whole tree counted. Global only. */
  readonly liveAgentsMax: number
}

export interface SettingsReading {
  readonly settings: Settings
  /** Where placement came from. */
  readonly placementScope: 'default' | 'global' | 'project'
  /** Projects the person has decided about, by canonical directory. */
  readonly trustedProjects: Readonly<Record<string, boolean>>
  readonly diagnostics: readonly string[]
}

const settingsFileName = 'drover.json'

export const settingsPath = (agentDirectory: string): string =>
  join(agentDirectory, settingsFileName)

/** More agents than this is more than a person can follow, and than one machine carries. */
const liveAgentsHighest = 256

const bytes = z.int().min(limits.recordBytesLowest).max(limits.recordBytesHighest)
const placement = z.enum(['tab', 'split'])
const runner = z.enum(['auto', 'herdr', 'headless'])
const liveAgents = z.int().min(1).max(liveAgentsHighest)
const trusted = z.record(z.string(), z.boolean())

/** Reads the settings in effect. Never throws: what cannot be read is as if it were not there, and is said. */
export function readSettings(places: {
  readonly agentDirectory: string
  readonly cwd: string
  readonly projectTrusted: boolean
}): SettingsReading {
  const diagnostics: string[] = []
  const path = settingsPath(places.agentDirectory)
  const global = readObject(path, diagnostics)
  const read = <T>(key: string, schema: z.ZodType<T>) =>
    checked(schema, global[key], `${path}: ${key}`, diagnostics)
  const own = read('placement', placement)
  const project = places.projectTrusted ? projectPlacement(places.cwd, diagnostics) : undefined
  return {
    settings: {
      inlineAttachmentLimitBytes:
        read('inlineAttachmentLimitBytes', bytes) ?? limits.recordBytesDefault,
      mailboxPayloadLimitBytes:
        read('mailboxPayloadLimitBytes', bytes) ?? limits.recordBytesDefault,
      placement: project ?? own ?? 'tab',
      runner: read('runner', runner) ?? 'auto',
      keepPanes: read('keepPanes', z.boolean()) ?? false,
      liveAgentsMax: read('liveAgentsMax', liveAgents) ?? limits.liveAgentsMax,
    },
    placementScope: project !== undefined ? 'project' : own !== undefined ? 'global' : 'default',
    trustedProjects: read('trustedProjects', trusted) ?? {},
    diagnostics,
  }
}

/**
 * Changes the global settings, keeping every key it does not know. A link to the file stays a link.
 *
 * @throws Error - the file is no settings file, or cannot be written; nothing was changed
 */
export async function writeSettings(
  fs: MailboxFs,
  ids: Ids,
  agentDirectory: string,
  change: (now: Readonly<Record<string, unknown>>) => Record<string, unknown>,
): Promise<void> {
  const path = real(settingsPath(agentDirectory))
  const problems: string[] = []
  const now = readObject(path, problems)
  if (problems.length > 0) throw new Error(`${problems.join('; ')}. Mend or remove it first.`)
  const draft = `${path}.${ids.next()}`
  const text = `${JSON.stringify(change(now), undefined, 2)}\n`
  await fs.createSynced(draft, Buffer.from(text))
  try {
    fs.rename(draft, path)
  } catch (error) {
    fs.remove(draft)
    throw error
  }
  await fs.syncDirectory(dirname(path))
}

/** The nearest directory with a `.pi` folder, here or above. */
function projectDirectory(cwd: string): string | undefined {
  if (isDirectory(join(cwd, '.pi'))) return cwd
  return dirname(cwd) === cwd ? undefined : projectDirectory(dirname(cwd))
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false // not there, or a loop of links
  }
}

function projectPlacement(cwd: string, diagnostics: string[]): 'tab' | 'split' | undefined {
  const project = projectDirectory(cwd)
  if (project === undefined) return undefined
  const path = join(project, '.pi', settingsFileName)
  const value = readObject(path, diagnostics)['placement']
  return checked(placement, value, `${path}: placement`, diagnostics)
}

function readObject(path: string, diagnostics: string[]): Record<string, unknown> {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ENOENT')
      diagnostics.push(`${path} cannot be read (${code}); its settings are ignored`)
    return {}
  }
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>
    diagnostics.push(`${path} holds no JSON object; its settings are ignored`)
  } catch (error) {
    diagnostics.push(`${path} is not JSON (${(error as Error).message}); its settings are ignored`)
  }
  return {}
}

function checked<T>(
  schema: z.ZodType<T>,
  value: unknown,
  what: string,
  diagnostics: string[],
): T | undefined {
  if (value === undefined) return undefined
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  diagnostics.push(
    `${what} is ignored: ${parsed.error.issues.map(({ message }) => message).join('; ')}`,
  )
  return undefined
}
