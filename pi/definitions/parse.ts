import { basename } from 'node:path'
import { type Diagnostic, quoted } from './diagnostic.ts'
import {
  type DefinitionFields,
  type FieldName,
  type KeyName,
  keyTable,
  meaningOf,
} from './fields.ts'
import { type Entry, readFrontMatter } from './front-matter.ts'
import { isDefinitionName, nameRule, readValue } from './values.ts'

/** What one file says. Absent fields are absent: a lower layer, or Pi, decides them. */
export interface DefinitionFragment {
  readonly name: string
  readonly path: string
  readonly fields: DefinitionFields
  /** The line of each field. */
  readonly lines: Readonly<Partial<Record<FieldName, number>>>
  /** Empty where the file has no text below its front matter. */
  readonly body: string
  readonly bodyLine: number
  /** Why it may be listed but not used. */
  readonly unavailable?: string
}

export type ParsedDefinition =
  | {
      readonly outcome: 'parsed'
      readonly fragment: DefinitionFragment
      readonly diagnostics: readonly Diagnostic[]
    }
  | {
      /** Some limit of this definition is unknown, so nothing of it is used. */
      readonly outcome: 'excluded'
      /** The definition it is about, as far as that can be told. */
      readonly name?: string
      readonly diagnostics: readonly Diagnostic[]
    }

/** Diagnostics kept of one file; the errors come first. */
const diagnosticsMax = 40

export const migration =
  'this role chooses another program with cli or cli-model, which Drover does not run: remove both keys and set model to provider/id'

/**
 * Reads one definition file: Markdown with YAML front matter. Touches nothing and never throws.
 *
 * Closed on doubt: a key that limits what an agent can do and cannot be read excludes the whole definition, because
 * without it the agent could do more than its writer meant.
 */
export function parseDefinition(text: string, path: string): ParsedDefinition {
  const fileName = basename(path).replace(/\.md$/, '')
  const ownName = isDefinitionName(fileName) ? fileName : undefined
  const matter = readFrontMatter(text)
  if ('problem' in matter) {
    const { line, problem } = matter
    return excluded(ownName, [{ severity: 'error', path, line, message: problem }])
  }

  const reader = new KeyReader(path)
  for (const entry of matter.entries) reader.read(entry)
  const { name = ownName, fields, lines, isUnavailable } = reader
  if (name === undefined && !reader.isExcluded) {
    const message = `${quoted(fileName)} cannot be the name of a definition: ${nameRule}. Add a name or rename the file`
    reader.report('error', 1, message)
  }
  const diagnostics = worstFirst(reader.diagnostics)
  if (name === undefined || reader.isExcluded) return excluded(name, diagnostics)

  const { body, bodyLine } = matter
  return {
    outcome: 'parsed',
    fragment: {
      ...{ name, path, fields, lines, body, bodyLine },
      ...(isUnavailable ? { unavailable: migration } : {}),
    },
    diagnostics,
  }
}

/** What has been read of one front matter so far. */
class KeyReader {
  readonly diagnostics: Diagnostic[] = []
  readonly lines: Partial<Record<FieldName, number>> = {}
  name: string | undefined
  isExcluded = false
  isUnavailable = false
  readonly #path: string
  readonly #fields: Partial<Record<FieldName, unknown>> = {}
  readonly #seen = new Map<KeyName, number>()

  constructor(path: string) {
    this.#path = path
  }

  /** Every value was read by the rule of its key, so it has the type that the key promises. */
  get fields(): DefinitionFields {
    return this.#fields as DefinitionFields
  }

  report(severity: Diagnostic['severity'], line: number, message: string): void {
    this.diagnostics.push({ severity, path: this.#path, line, message })
  }

  read(entry: Entry): void {
    const meaning = meaningOf(entry.key)
    const what = `unknown key ${quoted(entry.key)}`
    if (meaning.type === 'known') this.#readKey(meaning.key, entry)
    else if (meaning.type === 'retired') this.#retire(entry.line)
    else if (meaning.limits === undefined) this.report('warning', entry.line, `${what} is ignored`)
    else this.#exclude(entry.line, `${what}: if it means ${meaning.limits}, a limit would be lost`)
  }

  #retire(line: number): void {
    if (!this.isUnavailable) this.report('error', line, migration)
    this.isUnavailable = true
  }

  #readKey(key: KeyName, entry: Entry): void {
    const earlier = this.#seen.get(key)
    this.#seen.set(key, entry.line)
    const again = `sets ${key} again, after line ${earlier}`
    const { kind, unreadable } = keyTable[key]
    const isContradiction = earlier !== undefined && unreadable !== 'ignore'
    const reading = isContradiction ? { problem: again } : readValue(kind, entry)
    if ('problem' in reading) {
      this.#cannotRead(key, entry.line, `${entry.key}: ${reading.problem}`)
      return
    }
    const warnings = [
      earlier === undefined ? undefined : `${again}; this one counts`,
      entry.doubt,
      'nothing' in reading ? `not set: ${reading.nothing}` : reading.note,
    ]
    for (const warning of warnings)
      if (warning !== undefined) this.report('warning', entry.line, `${entry.key}: ${warning}`)
    if ('nothing' in reading) return
    if (key === 'name') this.name = String(reading.value)
    else {
      this.#fields[key] = reading.value
      this.lines[key] = entry.line
    }
  }

  #cannotRead(key: KeyName, line: number, message: string): void {
    const { unreadable } = keyTable[key]
    if (unreadable === 'exclude') this.#exclude(line, message)
    else if (unreadable === 'ignore') this.report('warning', line, `${message}; ignored`)
    else {
      this.report('error', line, `${message}; the definition is off until this can be read`)
      this.#fields.enabled = false
      this.lines.enabled = line
    }
  }

  #exclude(line: number, message: string): void {
    this.isExcluded = true
    this.report('error', line, message)
  }
}

function excluded(name: string | undefined, diagnostics: readonly Diagnostic[]): ParsedDefinition {
  return { outcome: 'excluded', ...(name === undefined ? {} : { name }), diagnostics }
}

function worstFirst(diagnostics: readonly Diagnostic[]): readonly Diagnostic[] {
  const errors = diagnostics.filter(({ severity }) => severity === 'error')
  const warnings = diagnostics.filter(({ severity }) => severity === 'warning')
  return [...errors, ...warnings].slice(0, diagnosticsMax)
}
