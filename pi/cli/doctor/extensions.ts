import { readdirSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { dirname, extname, join, resolve } from 'node:path'
import { pathFrom } from '../../paths.ts'
import { relativeImports } from './source-text.ts'

/** Files read of one extension, and bytes of one file: no source is larger. */
const filesMax = 500
const fileBytesMax = 2_097_152

/** An extension as Pi would load it, read and not run. */
export interface Extension {
  readonly entry: string
  /** The text of its entry and of all that this imports by relative paths. */
  readonly files: readonly string[]
  /** What names it: a settings file, or a directory in which extensions are found. */
  readonly from: string
  /** The nearest directory with a package.json, and the name in it. */
  readonly root?: string
  readonly package?: string
}

/** The extensions that the settings and directories of Pi name, and what could not be found of them. */
export function extensionsIn({
  agentDirectory,
  cwd,
}: {
  readonly agentDirectory: string
  readonly cwd: string
}): { readonly extensions: readonly Extension[]; readonly unseen: readonly string[] } {
  const unseen: string[] = []
  const entries = new Map<string, string>()
  for (const base of [agentDirectory, join(cwd, '.pi')]) {
    const settingsFile = join(base, 'settings.json')
    const { packages, extensions } = readSettingsOfHost(settingsFile, unseen)
    for (const path of extensions) add(entriesAt(pathFrom(base, path)), settingsFile)
    for (const source of packages) {
      const directory = packagePlaces(base, source).find((place) => statIfAny(place) !== undefined)
      if (directory === undefined)
        unseen.push(`${source} of ${settingsFile}: not found where Pi keeps packages`)
      else add(packageEntries(directory), settingsFile)
    }
    const found = join(base, 'extensions')
    add(entriesIn(found), found)
  }
  return { unseen, extensions: [...entries].map(([entry, from]) => extensionOf(entry, from)) }

  function add(paths: readonly string[], from: string): void {
    for (const path of paths) {
      const real = realIfAny(path)
      if (real !== undefined && !entries.has(real)) entries.set(real, from)
    }
  }
}

interface SettingsOfHost {
  readonly packages: readonly string[]
  readonly extensions: readonly string[]
}

function readSettingsOfHost(file: string, unseen: string[]): SettingsOfHost {
  const source = readIfAny(file)
  if (source === undefined) return { packages: [], extensions: [] }
  try {
    const { packages, extensions } = JSON.parse(source)
    return {
      packages: list(packages).flatMap((each) => sourceOf(each) ?? []),
      extensions: list(extensions)
        .filter((each) => typeof each === 'string')
        .filter((path) => !/^[!-]/.test(path)) // taken out again
        .map((path) => path.replace(/^\+/, '')),
    }
  } catch {
    unseen.push(`${file}: it is not JSON`)
    return { packages: [], extensions: [] }
  }
}

const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** Where a package comes from; nothing where the settings say that none of its extensions is loaded. */
function sourceOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  const { source, extensions } = (value ?? {}) as { source?: unknown; extensions?: unknown }
  if (Array.isArray(extensions) && extensions.length === 0) return undefined
  return typeof source === 'string' ? source : undefined
}

/** Where Pi may have put a package, the likeliest first. */
export function packagePlaces(base: string, source: string): readonly string[] {
  const npm = /^npm:((?:@[^/@]+\/)?[^@/]+)(?:@.*)?$/.exec(source)?.[1]
  if (npm !== undefined) {
    const global = join(dirname(dirname(process.execPath)), 'lib', 'node_modules', npm)
    return [join(base, 'npm', 'node_modules', npm), global]
  }
  const isGit = /^git:/.test(source) || /^(https?|ssh|git):\/\//.test(source)
  if (!isGit) return [pathFrom(base, source)]
  const place = source
    .replace(/^git:(?!\/\/)/, '')
    .replace(/^[a-z]+:\/\//, '')
    .replace(/^[^@/]+@/, '')
    .replace(/^([^/:]+):(?:\d+\/)?/, '$1/')
    .replace(/@[^@/]*$/, '')
    .replace(/\.git$/, '')
  return [join(base, 'git', place)]
}

/** What one path in the settings stands for: a file, or a directory of extensions. */
function entriesAt(path: string): readonly string[] {
  if (statIfAny(path)?.isDirectory() !== true) return [path]
  return declaredIn(path) ?? indexIn(path) ?? entriesIn(path)
}

function packageEntries(directory: string): readonly string[] {
  if (statIfAny(directory)?.isDirectory() !== true) return [directory]
  return (
    declaredIn(directory) ?? [
      ...(indexIn(directory) ?? []),
      ...entriesIn(join(directory, 'extensions')),
    ]
  )
}

/** Files, and directories that declare what they have or have an index. */
function entriesIn(directory: string): readonly string[] {
  return names(directory)
    .filter((name) => !name.startsWith('.') && name !== 'node_modules')
    .flatMap((name) => {
      const path = join(directory, name)
      const found = statIfAny(path)
      if (found?.isFile()) return /\.[tj]s$/.test(name) ? [path] : []
      return found?.isDirectory() ? (declaredIn(path) ?? indexIn(path) ?? []) : []
    })
}

function declaredIn(directory: string): readonly string[] | undefined {
  const declared = list(manifestIn(directory)?.pi?.extensions).filter(
    (each) => typeof each === 'string',
  )
  if (declared.length === 0) return undefined
  return declared
    .filter((path) => !path.startsWith('!'))
    .flatMap((path) => {
      // A pattern stands for files in the directory before its first star.
      const place = resolve(directory, path.includes('*') ? path.slice(0, path.indexOf('*')) : path)
      return statIfAny(place)?.isDirectory() ? entriesIn(place) : [place]
    })
}

function indexIn(directory: string): readonly string[] | undefined {
  const index = ['index.ts', 'index.js'].map((name) => join(directory, name))
  const found = index.find((path) => statIfAny(path)?.isFile())
  return found === undefined ? undefined : [found]
}

interface Manifest {
  readonly name?: unknown
  readonly pi?: { readonly extensions?: unknown }
}

function manifestIn(directory: string): Manifest | undefined {
  try {
    return JSON.parse(readIfAny(join(directory, 'package.json')) ?? '') ?? undefined
  } catch {
    return undefined
  }
}

function extensionOf(entry: string, from: string): Extension {
  const root = packageAbove(dirname(entry))
  const name = root && manifestIn(root)?.name
  return {
    entry,
    from,
    files: withImports(entry),
    ...(root !== undefined && { root }),
    ...(typeof name === 'string' && { package: name }),
  }
}

function packageAbove(from: string): string | undefined {
  if (statIfAny(join(from, 'package.json'))?.isFile()) return from
  return dirname(from) === from ? undefined : packageAbove(dirname(from))
}

function withImports(entry: string): readonly string[] {
  const paths = [entry]
  const texts: string[] = []
  for (const path of paths) {
    if (texts.length >= filesMax) break
    const source = readIfAny(path)
    if (source === undefined) continue
    texts.push(source)
    for (const given of relativeImports(source)) {
      const next = moduleAt(resolve(dirname(path), given))
      if (next !== undefined && !paths.includes(next)) paths.push(next)
    }
  }
  return texts
}

/** The file that an import means: with another ending, or the index of a directory. */
function moduleAt(path: string): string | undefined {
  const bare = path.slice(0, path.length - extname(path).length)
  const candidates = [
    path,
    `${bare}.ts`,
    `${path}.ts`,
    `${path}.js`,
    join(path, 'index.ts'),
    join(path, 'index.js'),
  ]
  return candidates.find((each) => statIfAny(each)?.isFile())
}

function statIfAny(path: string) {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

function realIfAny(path: string): string | undefined {
  try {
    return realpathSync(path)
  } catch {
    return undefined
  }
}

function readIfAny(path: string): string | undefined {
  const found = statIfAny(path)
  if (!found?.isFile() || found.size > fileBytesMax) return undefined
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

function names(directory: string): readonly string[] {
  try {
    return readdirSync(directory)
  } catch {
    return []
  }
}
