import { realpathSync, statSync } from 'node:fs'
import { resolve as absolute, dirname, join } from 'node:path'
import { bundledDirectory } from './bundled.ts'
import { type Diagnostic, quoted } from './diagnostic.ts'
import { type ExcludedDefinition, readDirectory } from './directory.ts'
import { nearMatch } from './near.ts'
import { type Definition, type Layer, overlay, type Source } from './overlay.ts'

/** Names listed in one message. */
const namesShownMax = 40

export interface RosterPlaces {
  /** Pi's agent directory; definitions are in its `agents`. */
  readonly agentDirectory: string
  /** Where the session works: the nearest `.pi/agents`, here or above, is the project's. */
  readonly cwd: string
  readonly projectTrusted: boolean
  readonly bundledDirectory?: string
}

export interface RosterDirectory {
  readonly source: Source
  readonly path: string
  readonly state: 'read' | 'absent' | 'unreadable' | 'untrusted'
}

/** The definitions in effect, and all that a person should know about how they came about. */
export interface Roster {
  /** Sorted by name; disabled and unavailable ones are here too. */
  readonly definitions: readonly Definition[]
  /** Names that cannot be used, once for each file that shuts one out. */
  readonly excluded: readonly ExcludedDefinition[]
  readonly directories: readonly RosterDirectory[]
  readonly diagnostics: readonly Diagnostic[]
}

/**
 * Reads every definition: bundled, then those of the agent directory, then those of a trusted project, later ones laid
 * over earlier ones of the same name. Never throws.
 *
 * A name is shut out as soon as one of its files cannot be read: that file may be the one that limits the others.
 *
 * Costs: one small read per file, synchronous. Call it when a person or a model asks, not on a timer.
 */
export function readRoster(places: RosterPlaces): Roster {
  const directories: RosterDirectory[] = []
  const diagnostics: Diagnostic[] = []
  const excluded: ExcludedDefinition[] = []
  const layers = new Map<string, Layer[]>()
  for (const { source, path, isTrusted } of placesInOrder(places)) {
    if (!isTrusted) {
      const message = 'the definitions of this project are not read: it is not trusted'
      directories.push({ source, path, state: 'untrusted' })
      diagnostics.push({ severity: 'warning', path, message })
      continue
    }
    const reading = readDirectory(source, path)
    directories.push({ source, path, state: reading.state })
    diagnostics.push(...reading.diagnostics)
    excluded.push(...reading.excluded)
    for (const layer of reading.layers) {
      const { name } = layer.fragment
      layers.set(name, [...(layers.get(name) ?? []), layer])
    }
  }
  const shut = new Set(excluded.map(({ name }) => name))
  const definitions = [...layers.values()].flatMap(([lowest, ...higher]) =>
    lowest === undefined || shut.has(lowest.fragment.name) ? [] : [overlay(lowest, ...higher)],
  )
  return {
    definitions: definitions.sort(byName),
    excluded: excluded.sort(byName),
    directories,
    diagnostics,
  }
}

export type Resolution = { readonly definition: Definition } | UnresolvedDefinition

/** Why a name cannot be used, with what could be used instead. */
export interface UnresolvedDefinition {
  readonly reason: 'unknown' | 'excluded' | 'unavailable' | 'disabled'
  readonly message: string
  /** Every name that can be used, sorted. */
  readonly known: readonly string[]
  readonly near?: string
}

/** Finds the definition that may be used under exactly this name. Another name is suggested, never taken. */
export function resolveDefinition(roster: Roster, name: string): Resolution {
  const definition = roster.definitions.find((candidate) => candidate.name === name)
  if (definition?.enabled && definition.unavailable === undefined) return { definition }

  const known = roster.definitions
    .filter(({ enabled, unavailable }) => enabled && unavailable === undefined)
    .map((candidate) => candidate.name)
  const refuse = (reason: UnresolvedDefinition['reason'], why: string): Resolution => ({
    reason,
    message: `definition ${quoted(name)} ${why} ${available(known, roster)}`,
    known,
  })
  if (definition?.unavailable !== undefined)
    return refuse('unavailable', `cannot be used: ${definition.unavailable} (${definition.path}).`)
  if (definition !== undefined) {
    const { path, line } = definition.origins.enabled ?? { path: definition.path, line: 1 }
    return refuse('disabled', `is disabled (${path}:${line}).`)
  }
  const shut = roster.excluded.find((candidate) => candidate.name === name)
  if (shut) {
    const first = shut.diagnostics[0]
    return refuse(
      'excluded',
      `cannot be read: ${first?.message} (${shut.path}:${first?.line ?? 1}).`,
    )
  }
  const near = nearMatch(name.trim().toLowerCase(), known)
  if (near === undefined) return refuse('unknown', 'is not known.')
  return { ...refuse('unknown', `is not known; did you mean ${quoted(near)}?`), near }
}

function available(known: readonly string[], { directories }: Roster): string {
  const shown = known.slice(0, namesShownMax).join(', ')
  const more = known.length > namesShownMax ? ` and ${known.length - namesShownMax} more` : ''
  if (known.length > 0) return `Known definitions: ${shown}${more}.`
  const home = directories.find(({ source }) => source === 'global')?.path
  return `No definition can be used: add one as ${home ?? '<agent directory>/agents'}/<name>.md.`
}

interface Place {
  readonly source: Source
  readonly path: string
  readonly isTrusted: boolean
}

function placesInOrder(places: RosterPlaces): readonly Place[] {
  const bundled = places.bundledDirectory ?? bundledDirectory()
  const global = join(absolute(places.agentDirectory), 'agents')
  const project = nearestProjectDirectory(absolute(places.cwd))
  // An agent directory inside the project is one directory, and the person's own.
  const hasProject = project !== undefined && real(project) !== real(global)
  return [
    { source: 'bundled', path: bundled, isTrusted: true },
    { source: 'global', path: global, isTrusted: true },
    ...(hasProject
      ? [{ source: 'project', path: project, isTrusted: places.projectTrusted } as const]
      : []),
  ]
}

/** The definitions a project brings: the nearest `.pi/agents`, here or above. */
export function nearestProjectDirectory(from: string): string | undefined {
  const path = join(from, '.pi', 'agents')
  if (mayBeDirectory(path)) return path
  return dirname(from) === from ? undefined : nearestProjectDirectory(dirname(from))
}

/** A directory that cannot be looked at counts: its reader reports it, instead of taking one further up. */
function mayBeDirectory(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
  } catch {
    return true
  }
}

/** The path without links, or as it is where that cannot be seen. */
export function real(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0
}
