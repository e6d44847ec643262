import { readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { limits } from '../mailbox/index.ts'
import type { FileEditor } from './file-editor.ts'

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

/** Whose settings, and where they are asked for. */
export interface SettingsPlaces {
  readonly agentDirectory: string
  readonly cwd: string
  readonly projectTrusted: boolean
}

/** Reads the settings in effect. Never throws: what cannot be read is as if it were not there, and is said. */
export function readSettings(places: SettingsPlaces): SettingsReading {
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

type Values = Readonly<Record<string, unknown>>

/**
 * Changes the global settings, keeping every key it does not know, and what other windows change meanwhile. A link to
 * the file stays a link.
 *
 * @throws Error - the file is no settings file, or cannot be written; nothing was changed
 */
export function writeSettings(
  editor: FileEditor,
  agentDirectory: string,
  change: (now: Values) => Values,
): Promise<void> {
  return writeObject(editor, settingsPath(agentDirectory), change)
}

/** A value that a person may set with `changeSetting`. */
export type SettableKey = 'placement' | 'inlineAttachmentLimitBytes' | 'mailboxPayloadLimitBytes'

export interface ChangedSetting {
  readonly scope: 'global' | 'project'
  readonly path: string
}

/**
 * Sets one value, or takes it away, where it counts: `placement` in the project's file where that is the one in effect,
 * everything else in the global one. Reads it back.
 *
 * @param value undefined: the default
 * @throws Error - the value is not valid, the file cannot be written, or something else is in effect all the same
 */
export async function changeSetting<K extends SettableKey>(
  editor: FileEditor,
  places: SettingsPlaces,
  key: K,
  value: Settings[K] | undefined,
): Promise<ChangedSetting> {
  if (value !== undefined && !settable[key].safeParse(value).success)
    throw new Error(`${JSON.stringify(value)} is no value for ${key}.`)
  const isProject = key === 'placement' && readSettings(places).placementScope === 'project'
  const project = isProject ? projectSettingsPath(places.cwd) : undefined
  const path = project ?? settingsPath(places.agentDirectory)
  await writeObject(editor, path, ({ [key]: _, ...rest }) =>
    value === undefined ? rest : { ...rest, [key]: value },
  )
  const now = readSettings(places).settings[key]
  if (value !== undefined && now !== value)
    throw new Error(`${key} was written to ${path}, but ${now} is in effect.`)
  return { scope: project === undefined ? 'global' : 'project', path }
}

const settable = {
  placement,
  inlineAttachmentLimitBytes: bytes,
  mailboxPayloadLimitBytes: bytes,
} as const satisfies Record<SettableKey, z.ZodType>

async function writeObject(
  editor: FileEditor,
  path: string,
  change: (now: Values) => Values,
): Promise<void> {
  await editor.change(path, (text) => {
    const problems: string[] = []
    const now = text === undefined ? {} : parseObject(path, text, problems)
    if (problems.length > 0) throw new Error(`${problems.join('; ')}. Mend or remove it first.`)
    const indent = /^\{\r?\n([ \t]+)/.exec(text ?? '')?.[1] ?? '  '
    return `${JSON.stringify(change(now), undefined, indent)}\n`
  })
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

/** The settings of the project at `cwd`; undefined where it has no place for them. */
function projectSettingsPath(cwd: string): string | undefined {
  const project = projectDirectory(cwd)
  return project === undefined ? undefined : join(project, '.pi', settingsFileName)
}

function projectPlacement(cwd: string, diagnostics: string[]): 'tab' | 'split' | undefined {
  const path = projectSettingsPath(cwd)
  if (path === undefined) return undefined
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
  return parseObject(path, text, diagnostics)
}

function parseObject(path: string, text: string, diagnostics: string[]): Record<string, unknown> {
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
