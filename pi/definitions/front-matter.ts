import { isAlias, isMap, isScalar, LineCounter, type Node, parseDocument } from 'yaml'
import { quoted } from './diagnostic.ts'
import { keyTable, meaningOf } from './fields.ts'

/** One key of the front matter, with what YAML made of its value. */
export interface Entry {
  readonly key: string
  readonly line: number
  readonly value: unknown
  /** The value as text, where it is a single one: `1.0` stays `1.0`. */
  readonly text?: string
  /** Why there is no value to trust. */
  readonly broken?: string
  /** Something YAML doubted, or had to be helped over. */
  readonly doubt?: string
}

export interface FrontMatter {
  readonly entries: readonly Entry[]
  readonly body: string
  readonly bodyLine: number
}

export interface Unreadable {
  readonly line: number
  readonly problem: string
}

/** Keys of one file. */
const keysMax = 200
/** Openings of nested values. Far deeper nesting exhausts the stack inside the YAML parser and kills the process. */
const nestingMax = 256

/**
 * Splits a definition into its front matter and its body. The library reads the whole front matter; only what it
 * rejects is read again key by key, so that one bad value costs one key, and free text may hold colons and brackets.
 */
export function readFrontMatter(text: string): FrontMatter | Unreadable {
  const lines = text.replace(/^\uFEFF/, '').split(/\r\n|\r|\n/)
  const fences = findFences(lines)
  if ('problem' in fences) return fences
  const { open, close } = fences
  const head = lines.slice(open + 1, close)
  const entries = readEntries(head, open + 2)
  if ('problem' in entries) return entries

  const rest = lines.slice(close + 1)
  const first = Math.max(
    0,
    rest.findIndex((line) => line.trim() !== ''),
  )
  return { entries, body: rest.slice(first).join('\n').trimEnd(), bodyLine: close + 2 + first }
}

/** Where the front matter begins and ends: the index of either line `---`. */
export function findFences(
  lines: readonly string[],
): { readonly open: number; readonly close: number } | Unreadable {
  const fence = (line: string) => /^---[ \t]*$/.test(line)
  const open = lines.findIndex((line) => line.trim() !== '')
  if (open === -1) return { line: 1, problem: 'the file is empty' }
  if (!fence(lines[open] ?? ''))
    return { line: open + 1, problem: 'no front matter: the file must begin with a line ---' }
  const close = lines.findIndex((line, index) => index > open && fence(line))
  if (close === -1) return { line: open + 1, problem: 'the front matter has no closing line ---' }
  return { open, close }
}

function readEntries(lines: readonly string[], firstLine: number): readonly Entry[] | Unreadable {
  const deep = nestedTooDeeply(lines)
  if (deep !== undefined) return { line: firstLine + deep, problem: 'values are nested too deeply' }
  const whole = readYaml(lines.join('\n'), firstLine)
  const entries = 'problem' in whole ? readKeyByKey(lines, firstLine) : whole
  if (!('problem' in entries) && entries.length > keysMax)
    return { line: firstLine, problem: `more than ${keysMax} keys` }
  return entries
}

function nestedTooDeeply(lines: readonly string[]): number | undefined {
  let opened = 0
  const index = lines.findIndex((line) => {
    opened += line.match(/[[{]/g)?.length ?? 0
    return opened > nestingMax || (line.match(/[-?:](?=\s)/g)?.length ?? 0) > nestingMax
  })
  return index === -1 ? undefined : index
}

function readYaml(text: string, firstLine: number): readonly Entry[] | Unreadable {
  const counter = new LineCounter()
  const lineAt = (offset = 0) => firstLine - 1 + Math.max(1, counter.linePos(offset).line)
  try {
    const document = parseDocument(text, {
      lineCounter: counter,
      uniqueKeys: false, // told apart later: which key is twice decides what follows
      prettyErrors: false,
      logLevel: 'silent',
    })
    const error = document.errors[0]
    if (error) return { line: lineAt(error.pos[0]), problem: firstSentence(error.message) }
    const root = document.contents
    if (root === null) return []
    if (!isMap(root))
      return { line: lineAt(root.range?.[0]), problem: 'expected lines `key: value`' }

    return root.items.map((pair): Entry => {
      const keyNode = pair.key as Node | null
      const line = lineAt(keyNode?.range?.[0])
      if (!isScalar(keyNode))
        return { key: '?', line, value: undefined, broken: 'the key is not plain text' }
      const key = typeof keyNode.value === 'string' ? keyNode.value : (keyNode.source ?? '?')
      const doubted = document.warnings.find(({ pos }) => lineAt(pos[0]) === line)
      const doubt = doubted ? { doubt: firstSentence(doubted.message) } : {}
      try {
        const node = pair.value as Node | null
        const scalar = isAlias(node) ? node.resolve(document) : node
        const text = isScalar(scalar)
          ? { text: typeof scalar.value === 'string' ? scalar.value : (scalar.source ?? '') }
          : {}
        return { key, line, value: node?.toJS(document, { maxAliasCount: 20 }), ...text, ...doubt }
      } catch (error) {
        return { key, line, value: undefined, broken: firstSentence(String(error)) }
      }
    })
  } catch (error) {
    return { line: firstLine, problem: firstSentence(String(error)) }
  }
}

/** A key at the start of a line: quoted, or beginning with no YAML indicator. */
export const keyLine: RegExp =
  /^("[^"]*"[ \t]*|'[^']*'[ \t]*|[^\s#?:,[\]{}&*!|>%@`"'-](?:[^:]|:(?!\s|$))*?):(?=\s|$)(.*)$/

interface Chunk {
  readonly line: number
  readonly key: string
  /** What stands behind the colon on the key's own line. */
  readonly rest: string
  readonly lines: string[]
}

function readKeyByKey(lines: readonly string[], firstLine: number): readonly Entry[] | Unreadable {
  const chunks: Chunk[] = []
  for (const [index, line] of lines.entries()) {
    const chunk = chunks.at(-1)
    const found = keyLine.exec(line)
    const [, key = '', rest = ''] = found ?? []
    if (found) chunks.push({ line: firstLine + index, key: unquoted(key), rest, lines: [line] })
    else if (chunk && /^(\s|#|-(\s|$)|[\]}]|$)/.test(line)) chunk.lines.push(line)
    // A line that belongs nowhere may be a limit that somebody meant: nothing of this file is safe to use.
    else if (!/^\s*(#|$)/.test(line))
      return { line: firstLine + index, problem: 'this line is no `key: value` and continues none' }
    if (chunks.length > keysMax) return { line: firstLine, problem: `more than ${keysMax} keys` }
  }
  const entries: Entry[] = []
  for (const chunk of chunks) {
    const entry = readChunk(chunk)
    if ('problem' in entry) return entry
    entries.push(entry)
  }
  return entries
}

function readChunk(chunk: Chunk): Entry | Unreadable {
  const asWritten = one(readYaml(chunk.lines.join('\n'), chunk.line))
  if (!('problem' in asWritten)) return asWritten
  const spaced = chunk.lines.map((line) =>
    line.replace(/^[ \t]+/, (indent) => indent.replaceAll('\t', '  ')),
  )
  const untabbed = one(readYaml(spaced.join('\n'), chunk.line))
  if (!('problem' in untabbed))
    return { ...untabbed, doubt: 'tabs in front of text count as two spaces' }
  const hidden = chunk.lines.findIndex((line, index) => index > 0 && looksLikeLimit(line))
  if (hidden !== -1)
    return {
      line: chunk.line + hidden,
      problem: `a limit inside the value of ${quoted(chunk.key)}, which cannot be read (${asWritten.problem})`,
    }
  const text = freeText(chunk)
  if (text === undefined)
    return { key: chunk.key, line: chunk.line, value: undefined, broken: asWritten.problem }
  const quotedText = one(readYaml(`text: ${JSON.stringify(text)}`, chunk.line))
  return {
    ...('problem' in quotedText ? { value: text, text } : quotedText),
    key: chunk.key,
    line: chunk.line,
    doubt: `taken as plain text, put it in quotes (${asWritten.problem})`,
  }
}

/** A limit indented by mistake belongs to the value above it. Where that is lost, the limit would be lost too. */
function looksLikeLimit(line: string): boolean {
  const found = keyLine.exec(line.replace(/^[\s{[,-]+/, ''))
  const meaning = found ? meaningOf(unquoted(found[1] ?? '')) : undefined
  if (meaning?.type === 'known') return keyTable[meaning.key].unreadable !== 'ignore'
  return meaning?.type === 'retired' || meaning?.limits !== undefined
}

/** The value of a key that takes free text, as its writer will have meant it. */
function freeText(chunk: Chunk): string | undefined {
  const meaning = meaningOf(chunk.key)
  if (meaning.type !== 'known' || !['text', 'model'].includes(keyTable[meaning.key].kind))
    return undefined
  const more = chunk.lines.slice(1)
  if (more.some((line) => /^[-\]}]/.test(line))) return undefined
  return [chunk.rest, ...more]
    .map((line) => line.replace(/(^|\s)#.*$/, '').trim())
    .filter((line) => line !== '')
    .join(' ')
}

function one(entries: readonly Entry[] | Unreadable): Entry | Unreadable {
  if ('problem' in entries) return entries
  const [entry] = entries
  return entry && entries.length === 1 ? entry : { line: 1, problem: 'not one key' }
}

function unquoted(key: string): string {
  const trimmed = key.trim()
  return /^["']/.test(trimmed) ? trimmed.slice(1, -1) : trimmed
}

function firstSentence(message: string): string {
  return (message.split(/\n/)[0] ?? '').slice(0, 160)
}
