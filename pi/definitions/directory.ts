import { readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Diagnostic } from './diagnostic.ts'
import type { Layer, Source } from './overlay.ts'
import { parseDefinition } from './parse.ts'
import { fileBytesMax, problemOf, readText } from './read-text.ts'
import { isDefinitionName } from './values.ts'

/** Definition files read of one directory. */
const filesMax = 256

/** A name that cannot be used: a file of it cannot be read, so what it would limit is unknown. */
export interface ExcludedDefinition {
  readonly name: string
  readonly source: Source
  readonly path: string
  readonly diagnostics: readonly Diagnostic[]
}

/** What one directory of definitions says. */
export interface DirectoryReading {
  readonly state: 'read' | 'absent' | 'unreadable'
  readonly layers: readonly Layer[]
  readonly excluded: readonly ExcludedDefinition[]
  readonly diagnostics: readonly Diagnostic[]
}

/** Reads the `*.md` files of a directory, in the order of their names. A bad file concerns its own name alone. */
export function readDirectory(source: Source, directory: string): DirectoryReading {
  let names: readonly string[]
  try {
    names = readdirSync(directory)
      .filter((name) => name.endsWith('.md') && !name.startsWith('.'))
      .sort()
  } catch (error) {
    const nothing = { layers: [], excluded: [] }
    if ((error as NodeJS.ErrnoException).code === 'ENOENT')
      return { state: 'absent', ...nothing, diagnostics: [] }
    const message = `the directory of ${source} definitions: ${problemOf(error)}`
    return {
      state: 'unreadable',
      ...nothing,
      diagnostics: [{ severity: 'error', path: directory, message }],
    }
  }

  const layers = new Map<string, Layer>()
  const excluded: ExcludedDefinition[] = []
  const diagnostics: Diagnostic[] = []
  const exclude = (name: string | undefined, path: string, why: readonly Diagnostic[]) => {
    if (name !== undefined) excluded.push({ name, source, path, diagnostics: why })
  }
  for (const [index, fileName] of names.entries()) {
    const path = join(directory, fileName)
    const file =
      index < filesMax
        ? readText(path, fileBytesMax)
        : { problem: `not read: more than ${filesMax} definitions in this directory` }
    if ('problem' in file) {
      const why: Diagnostic[] = [{ severity: 'error', path, line: 1, message: file.problem }]
      const name = fileName.slice(0, -'.md'.length)
      diagnostics.push(...why)
      exclude(isDefinitionName(name) ? name : undefined, path, why)
      continue
    }
    const parsed = parseDefinition(file.text, path)
    diagnostics.push(...parsed.diagnostics)
    if (parsed.outcome === 'excluded') {
      exclude(parsed.name, path, parsed.diagnostics)
      continue
    }
    const { fragment } = parsed
    const twin = layers.get(fragment.name)?.fragment.path
    if (twin === undefined) {
      const realDirectory = dirname(file.realPath)
      layers.set(fragment.name, {
        source,
        fragment,
        directory: realDirectory,
        diagnostics: parsed.diagnostics,
      })
      continue
    }
    // Neither can be said to be the one that is meant, and each may limit what the other allows.
    const message = `${twin} has the same name, ${fragment.name}: neither is used. Rename or remove one`
    const why: Diagnostic[] = [{ severity: 'error', path, line: 1, message }]
    diagnostics.push(...why)
    exclude(fragment.name, path, why)
  }
  return { state: 'read', layers: [...layers.values()], excluded, diagnostics }
}
