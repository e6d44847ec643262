import { quoted } from './diagnostic.ts'
import { builtinTools, type JsonValue, thinkingLevels, type ValueKind } from './fields.ts'
import type { Entry } from './front-matter.ts'
import { readPermission } from './permission.ts'

/** A value; or nothing, as if the key were not there; or a problem. `note` tells the person how it was understood. */
export type Reading =
  | { readonly value: unknown; readonly note?: string }
  | { readonly nothing: string }
  | { readonly problem: string }

/** Names of definitions: what Pi users call their agents. */
const namePattern = /^[a-z0-9][a-z0-9_-]{0,63}$/
/** Names of tools; those of extensions and MCP servers have more than letters. */
const toolPattern = /^[A-Za-z0-9_][A-Za-z0-9_.:/@-]{0,127}$/
const itemsMax = 128
const itemCharactersMax = 1_024
const descriptionCharactersMax = 1_024

export function isDefinitionName(text: string): boolean {
  return namePattern.test(text)
}

export const nameRule =
  'a name has 1 to 64 lower-case letters, digits, "-" or "_", a letter or digit first'

/** Reads the value of a key. A reading may be narrower than what its writer meant, never wider. */
export function readValue(kind: ValueKind, entry: Entry): Reading {
  if (entry.broken !== undefined) return { problem: entry.broken }
  switch (kind) {
    case 'name':
      return entry.text !== undefined && isDefinitionName(entry.text)
        ? { value: entry.text }
        : { problem: nameRule }
    case 'text':
      return readText(entry)
    case 'model':
      return readModel(entry)
    case 'thinking':
      return readThinking(entry)
    case 'prompt mode':
      return entry.text === 'append' || entry.text === 'replace'
        ? { value: entry.text }
        : { problem: 'must be append or replace' }
    case 'switch':
      return readSwitch(entry)
    case 'allowed tools':
      return readAllowed(entry, toolName)
    case 'excluded tools':
      return readList(entry, toolName)
    case 'definition names':
      return isNone(entry) ? none(entry) : readList(entry, definitionName)
    case 'sources':
      return readAllowed(entry, source)
    case 'permission':
      return readPermission(entry.value, toolName)
    case 'opaque':
      return readOpaque(entry)
  }
}

function readText({ text }: Entry): Reading {
  if (text === undefined) return { problem: 'must be text' }
  const trimmed = text.trim()
  if (trimmed === '') return { nothing: 'it is empty' }
  if (trimmed.length <= descriptionCharactersMax) return { value: trimmed }
  const value = `${trimmed.slice(0, descriptionCharactersMax - 1)}…`
  return { value, note: `cut to ${descriptionCharactersMax} characters` }
}

function readModel({ text, value }: Entry): Reading {
  const model = text?.trim() ?? ''
  if (model === 'inherit') return { nothing: 'leaving the line out does the same' }
  // The host decides which models exist, so an odd id is kept: it will be refused by name before anything starts.
  const isOne = value !== null && typeof value !== 'boolean' && /^[^\p{Cc}]{1,256}$/u.test(model)
  return isOne ? { value: model } : { problem: 'must be one model id' }
}

function readThinking({ text, value }: Entry): Reading {
  if (value === false) return { value: 'off' }
  const level = text?.trim().toLowerCase()
  if (level === 'inherit') return { nothing: 'leaving the line out does the same' }
  return thinkingLevels.some((known) => known === level)
    ? { value: level }
    : { problem: `must be one of ${thinkingLevels.join(', ')}, or false for off` }
}

function readSwitch({ text, value }: Entry): Reading {
  if (typeof value === 'boolean') return { value }
  const word = text?.trim().toLowerCase() ?? ''
  if (['true', 'yes', 'on'].includes(word)) return { value: true } // words of YAML 1.1
  return ['false', 'no', 'off'].includes(word)
    ? { value: false }
    : { problem: 'must be true or false' }
}

/** A list of what is allowed: other role files also say `none`, `false` or nothing, and `all`, `true` or `*`. */
function readAllowed(entry: Entry, item: (text: string) => Item): Reading {
  if (isNone(entry)) return none(entry)
  if (entry.value === true || ['all', '*'].includes(entry.text ?? ''))
    return { nothing: 'it sets no limit and lifts none, leaving the line out does the same' }
  return readList(entry, item)
}

function isNone({ value, text }: Entry): boolean {
  return (
    value === null ||
    value === undefined ||
    value === false ||
    /^(none)?$/.test(text?.trim() ?? '-')
  )
}

function none({ key, text }: Entry): Reading {
  if (text?.trim() === 'none') return { value: [] }
  return { value: [], note: `read as an empty list: none. Write ${key}: [] to say so` }
}

type Item = { readonly value: string; readonly note?: string } | { readonly problem: string }

/** Comma, flow and block lists mean the same. */
function readList({ value, text }: Entry, item: (text: string) => Item): Reading {
  const given = typeof value === 'string' && text !== undefined ? text.split(',') : value
  if (!Array.isArray(given)) return { problem: 'must be a list of names' }
  if (given.length > itemsMax) return { problem: `more than ${itemsMax} items` }
  const values = new Set<string>()
  const notes: string[] = []
  for (const one of given) {
    if (typeof one !== 'string') return { problem: 'every item must be a name' }
    const read = item(one.trim())
    if ('problem' in read) return read
    values.add(read.value)
    if (read.note !== undefined) notes.push(read.note)
  }
  return { value: [...values], ...(notes.length > 0 ? { note: notes.join('; ') } : {}) }
}

function toolName(text: string): Item {
  const lower = text.toLowerCase()
  if (text !== lower && builtinTools.includes(lower))
    return { value: lower, note: `${text} is read as ${lower}` }
  return toolPattern.test(text) ? { value: text } : { problem: `${quoted(text)} is no tool name` }
}

function definitionName(text: string): Item {
  return isDefinitionName(text)
    ? { value: text }
    : { problem: `${quoted(text)} is no definition name: ${nameRule}` }
}

function source(text: string): Item {
  return text !== '' && text.length <= itemCharactersMax && !/\p{Cc}/u.test(text)
    ? { value: text }
    : { problem: `${quoted(text)} is no name or path` }
}

function readOpaque({ value }: Entry): Reading {
  try {
    const json = JSON.stringify(value ?? null)
    // Copied into another object by anyone, this key would change that object's kind.
    if (json.includes('"__proto__":')) return { problem: 'must not hold a key __proto__' }
    return { value: JSON.parse(json) as JsonValue }
  } catch {
    return { problem: 'must not hold itself' }
  }
}
