import { withoutControl } from '../../../actors/index.ts'
import { shownData, shownLine, shownText } from '../../shown.ts'
import type { Line } from './lines.ts'
import { tornJson } from './torn-json.ts'

/** What is kept of one text that is drawn as Markdown, characters: drawing costs more the longer it is. */
const textCharsMax = 16_384
/** What is kept of one tool's answer, characters. */
const answerCharsMax = 32_768

/** One thing that is drawn, cleaned and bounded. Blocks never change: two are the same only if they are one object. */
export type Block =
  | { readonly kind: 'prompt'; readonly text: string }
  | { readonly kind: 'says'; readonly parts: readonly SaidPart[]; readonly problem?: Problem }
  | { readonly kind: 'call'; readonly id: string; readonly tool: string; readonly args: unknown }
  | ToolAnswer
  | { readonly kind: 'message'; readonly from: string; readonly text: string }
  | { readonly kind: 'note'; readonly text: string }

export interface SaidPart {
  readonly type: 'text' | 'thinking'
  readonly text: string
}

/** How what an agent said ended, where it did not end well. */
export interface Problem {
  readonly reason: 'aborted' | 'error'
  readonly text: string
}

export interface ToolAnswer {
  readonly kind: 'answer'
  /** Of the call. */
  readonly id: string
  readonly tool: string
  readonly text: string
  readonly isError: boolean
  readonly details: unknown
}

/** One line of a session file: where it stands in the tree of the conversation, and what it shows. */
export interface Entry {
  readonly id?: string
  /** Null at the root of the conversation; absent where it cannot be told. */
  readonly parent?: string | null
  readonly blocks: readonly Block[]
  /** How much it holds, characters, about. */
  readonly chars: number
}

/** Reads one line. What cannot be read is an entry too, which says so: nothing is left out silently. */
export function entryOf(line: Line): Entry {
  const { text, bytes, isCut } = line
  try {
    const value = fieldsOf(isCut ? tornJson(text) : JSON.parse(text))
    if (value !== undefined) return entry(value, isCut ? [cutNote(bytes)] : [])
  } catch {
    // Said below.
  }
  return { blocks: [note(`An entry of ${sizeOf(bytes)} that cannot be read.`)], chars: 0 }
}

function entry(value: Fields, cut: readonly Block[]): Entry {
  const shown = blocksOf(value)
  const blocks = shown.length === 0 ? [] : [...shown, ...cut]
  const { id, parentId } = value
  return {
    ...(typeof id === 'string' && { id }),
    ...((typeof parentId === 'string' || parentId === null) && { parent: parentId }),
    blocks,
    chars: JSON.stringify(blocks).length,
  }
}

/** The kinds of entries that show something; any other is passed over. */
function blocksOf(value: Fields): readonly Block[] {
  switch (value['type']) {
    case 'message':
      return messageBlocks(fieldsOf(value['message']) ?? {})
    case 'custom_message':
      return customBlocks(value)
    case 'compaction':
      return [note('The conversation before this was summed up.')]
    case 'branch_summary':
      return [note('Another branch of the conversation was summed up.')]
    case 'model_change':
      return [note(`Model: ${lineOf(value['provider'])}/${lineOf(value['modelId'])}`)]
    default:
      return []
  }
}

function messageBlocks(message: Fields): readonly Block[] {
  switch (message['role']) {
    case 'user':
      return [{ kind: 'prompt', text: contentText(message['content'], textCharsMax) }]
    case 'assistant':
      return assistantBlocks(message)
    case 'toolResult':
      return [answerOf(message)]
    case 'custom':
      return customBlocks(message)
    case 'bashExecution':
      return bashBlocks(message)
    default:
      return [] // 1.x keeps what the system says among the messages
  }
}

function customBlocks(value: Fields): readonly Block[] {
  if (value['display'] === false) return []
  const from = lineOf(value['customType'])
  const text = contentText(value['content'], textCharsMax)
  return [{ kind: 'message', from, text: from.startsWith('drover-') ? withoutControl(text) : text }]
}

/** What is said first, then the calls, whose answers come in entries of their own. */
function assistantBlocks({ content, stopReason, errorMessage }: Fields): readonly Block[] {
  const items: readonly Fields[] = Array.isArray(content)
    ? content.map((item) => fieldsOf(item) ?? {})
    : []
  const parts = items.flatMap(({ type, text, thinking }): SaidPart[] => {
    if (type === 'text' && typeof text === 'string')
      return [{ type, text: shownText(text, textCharsMax) }]
    if (type === 'thinking' && typeof thinking === 'string')
      return [{ type, text: shownText(thinking, textCharsMax) }]
    return []
  })
  const calls = items.flatMap(({ type, id, name, arguments: args }): Block[] =>
    type === 'toolCall'
      ? [{ kind: 'call', id: String(id), tool: lineOf(name), args: shownData(args ?? {}) }]
      : [],
  )
  const problem: Problem | undefined =
    stopReason === 'aborted' || stopReason === 'error'
      ? { reason: stopReason, text: shownText(textIn(errorMessage) ?? '') }
      : undefined
  if (parts.every(({ text }) => !/\S/.test(text)) && problem === undefined) return calls
  return [{ kind: 'says', parts, ...(problem && { problem }) }, ...calls]
}

const answerOf = ({ toolCallId, toolName, content, isError, details }: Fields): ToolAnswer => ({
  kind: 'answer',
  id: String(toolCallId),
  tool: lineOf(toolName),
  text: contentText(content, answerCharsMax),
  isError: isError === true,
  details: shownData(details),
})

/** A command that a person ran in the session of the agent. */
function bashBlocks({ command, output, exitCode }: Fields): readonly Block[] {
  const id = ''
  const isError = typeof exitCode === 'number' && exitCode !== 0
  const text = shownText(textIn(output) ?? '', answerCharsMax)
  return [
    { kind: 'call', id, tool: 'bash', args: shownData({ command: textIn(command) ?? '' }) },
    { kind: 'answer', id, tool: 'bash', text, isError, details: undefined },
  ]
}

type Fields = Readonly<Record<string, unknown>>

const fieldsOf = (value: unknown): Fields | undefined =>
  typeof value === 'object' && value !== null ? (value as Fields) : undefined

const textIn = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : undefined

const lineOf = (value: unknown): string => shownLine(textIn(value) ?? '?', 200)

function contentText(content: unknown, charsMax: number): string {
  const items = Array.isArray(content) ? content : [{ type: 'text', text: content }]
  const texts = items.map((item) => {
    const { type, text } = fieldsOf(item) ?? {}
    return type === 'image' ? '[an image]' : (textIn(text) ?? '')
  })
  return shownText(texts.join('\n'), charsMax)
}

const note = (text: string): Block => ({ kind: 'note', text })

const cutNote = (bytes: number): Block =>
  note(`Cut here: the entry has ${sizeOf(bytes)}, of which only the beginning is read.`)

function sizeOf(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`
  const kib = bytes / 1024
  return kib < 1024 ? `${Math.round(kib)} KiB` : `${(kib / 1024).toFixed(1)} MiB`
}

/** A block as it stands in the conversation: a call with the answer it got. */
export interface Item {
  readonly block: Block
  readonly answer?: ToolAnswer
}

/**
 * The conversation as it is now: from the last entry back along its parents. Where a parent is not among these entries
 * the one before in the file is taken for it.
 */
export function conversation(entries: readonly Entry[]): readonly Item[] {
  const answers = new Map<string, ToolAnswer>()
  const calls = new Set<string>()
  const blocks = branch(entries).flatMap((each) => each.blocks)
  let latest: string | undefined
  // The answer to a command without an id stands right after it.
  const keyed = blocks.map((block, index) => {
    if (block.kind === 'call') {
      latest = block.id === '' ? `#${index}` : block.id
      calls.add(latest)
      return { block, key: latest }
    }
    if (block.kind !== 'answer') return { block }
    const key = block.id === '' ? latest : block.id
    if (key !== undefined) answers.set(key, block)
    return { block, key }
  })
  return keyed.flatMap(({ block, key }): Item[] => {
    if (key === undefined) return [{ block }]
    if (block.kind === 'answer') return calls.has(key) ? [] : [{ block }]
    const answer = answers.get(key)
    return [{ block, ...(answer && { answer }) }]
  })
}

function branch(entries: readonly Entry[]): readonly Entry[] {
  const places = new Map(entries.flatMap(({ id }, at) => (id === undefined ? [] : [[id, at]])))
  const found: Entry[] = []
  for (let at = entries.length - 1; at >= 0; ) {
    const each = entries[at] as Entry
    found.push(each)
    if (each.parent === null) break
    const parent = each.parent === undefined ? undefined : places.get(each.parent)
    at = parent !== undefined && parent < at ? parent : at - 1
  }
  return found.reverse()
}
