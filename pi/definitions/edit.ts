import { isDeepStrictEqual } from 'node:util'
import { meaningOf, thinkingLevels } from './fields.ts'
import { type Entry, findFences, keyLine, readFrontMatter } from './front-matter.ts'
import { parseDefinition } from './parse.ts'

/** What a person may change of a definition without opening its file. */
export const editableFields = ['model', 'thinking', 'enabled'] as const
export type EditableField = (typeof editableFields)[number]

/** The whole new text, or why there is none. */
export type Edit = { readonly text: string } | { readonly problem: string }

/**
 * Sets one key of a definition, or removes it. Every line that is not that key's own stays as it is, byte for byte:
 * comments, spacing, line ends, the mark at the beginning, keys nobody knows, the body.
 *
 * Closed on doubt: the new text is read again, and one in which anything else would read differently is refused.
 *
 * @param text the file, its byte order mark included
 * @param value as it is to read; without it the key is removed
 */
export function editDefinition(
  text: string,
  path: string,
  field: EditableField,
  value?: string,
): Edit {
  const wrong = value === undefined ? undefined : valueProblem(field, value)
  if (wrong !== undefined) return { problem: wrong }
  const before = parseDefinition(text, path)
  if (before.outcome === 'excluded') {
    const [first] = before.diagnostics
    return { problem: `line ${first?.line ?? 1}: ${first?.message}. Mend the file by hand first` }
  }
  for (const written of value === undefined ? [undefined] : spellings(value)) {
    const edited = rewritten(text, field, written)
    if (edited !== undefined && isOnlyChange(text, edited, path, field, value))
      return { text: edited }
  }
  return {
    problem: `${field} stands there in a way that cannot be changed without changing more. Edit the file by hand`,
  }
}

/** The text of a new file that says only this, to be laid over a definition of the same name. */
export function newOverride(path: string, field: EditableField, value: string): Edit {
  return editDefinition('---\n---\n', path, field, value)
}

/** Why this value cannot be written; a value that could break out of its line is none. */
export function valueProblem(field: EditableField, value: string): string | undefined {
  switch (field) {
    case 'enabled':
      return ['true', 'false'].includes(value) ? undefined : 'enabled is true or false'
    case 'thinking':
      return thinkingLevels.some((level) => level === value)
        ? undefined
        : `thinking is one of ${thinkingLevels.join(', ')}`
    case 'model':
      return value !== 'inherit' && /^[^\p{C}\p{Z}]{1,256}$/u.test(value)
        ? undefined
        : 'model is one id as Pi lists it, provider/id: at most 256 characters, no spaces, nothing invisible'
  }
}

/** Plain where that reads as it should, quoted otherwise. */
const spellings = (value: string): readonly string[] => [value, JSON.stringify(value)]

function rewritten(
  text: string,
  field: EditableField,
  written: string | undefined,
): string | undefined {
  const mark = text.startsWith('\uFEFF') ? '\uFEFF' : ''
  const lines = text.slice(mark.length).match(/[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$/g) ?? []
  const matter = readFrontMatter(text)
  const fences = findFences(lines.map(withoutEnd))
  if ('problem' in matter || 'problem' in fences) return undefined
  const own = matter.entries.filter(({ key }) => isKey(key, field))
  const counting = own.at(-1)
  if (counting === undefined) {
    if (written === undefined) return text
    return mark + lines.toSpliced(fences.close, 0, newLine(lines, fences, matter.entries)).join('')
  }
  const starts = matter.entries.map(({ line }) => line - 1)
  for (const entry of own.toReversed()) {
    const start = entry.line - 1
    const next = Math.min(fences.close, ...starts.filter((other) => other > start))
    const end = endOfValue(lines, start, next)
    if (entry === counting && written !== undefined) {
      const line = withValue(lines[start] ?? '', written, end > start + 1)
      if (line === undefined) return undefined
      lines.splice(start, end - start, line)
    } else if (written === undefined || field === 'enabled') lines.splice(start, end - start)
    // An earlier line of a key of which the last one counts stays: it does nothing, and is not ours to tidy.
  }
  return mark + lines.join('')

  function newLine(
    all: readonly string[],
    { open }: { readonly open: number },
    [first]: readonly Entry[],
  ): string {
    const indent = first === undefined ? '' : (/^[ \t]*/.exec(all[first.line - 1] ?? '')?.[0] ?? '')
    return `${indent}${field}: ${written}${endOf(all[open] ?? '')}`
  }
}

function isKey(key: string, field: EditableField): boolean {
  const meaning = meaningOf(key)
  return meaning.type === 'known' && meaning.key === field
}

/** Behind the last line of a value; comments and empty lines after it are nobody's. */
function endOfValue(lines: readonly string[], start: number, next: number): number {
  let end = next
  while (end > start + 1 && /^\s*(#|$)/.test(withoutEnd(lines[end - 1] ?? ''))) end--
  return end
}

/** The line with another value in it, its key, spacing and comment kept; undefined where no key begins it. */
function withValue(line: string, written: string, hasMore: boolean): string | undefined {
  const content = withoutEnd(line)
  const rest = keyLine.exec(content.trimStart())?.[2]
  if (rest === undefined) return undefined
  const spaces = /^[ \t]*/.exec(rest)?.[0] ?? ''
  const comment = hasMore ? '' : commentOf(rest.slice(spaces.length))
  const gap = comment.startsWith('#') ? ' ' : ''
  const key = content.slice(0, content.length - rest.length)
  return `${key}${spaces || ' '}${written}${gap}${comment}${endOf(line)}`
}

/** What stands behind a value on its line, with the space before it. */
function commentOf(rest: string): string {
  const quoted = /^("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')/.exec(rest)?.[0] ?? ''
  return /(?:^|[ \t]+)#.*$/.exec(rest.slice(quoted.length))?.[0] ?? ''
}

const withoutEnd = (line: string): string => line.replace(/[\r\n]+$/, '')
const endOf = (line: string): string => /[\r\n]*$/.exec(line)?.[0] ?? ''

/** Whether a new text says what is wanted of one field, and of all else what the old one says. */
function isOnlyChange(
  before: string,
  after: string,
  path: string,
  field: EditableField,
  value: string | undefined,
): boolean {
  const [old, now] = [readable(before, path, field), readable(after, path, field)]
  const wanted = field === 'enabled' && value !== undefined ? value === 'true' : value
  return (
    old !== undefined &&
    now !== undefined &&
    now.value === wanted &&
    isDeepStrictEqual(now.others, old.others)
  )
}

function readable(text: string, path: string, field: EditableField) {
  const matter = readFrontMatter(text)
  const parsed = parseDefinition(text, path)
  if ('problem' in matter || parsed.outcome === 'excluded') return undefined
  const { name, fields, body, unavailable } = parsed.fragment
  const { [field]: value, ...rest } = fields
  const entries = matter.entries
    .filter(({ key }) => !isKey(key, field))
    .map(({ line: _, ...entry }) => entry)
  return { value, others: { name, rest, body, unavailable, entries } }
}
