import { shownLine, shownText } from '../shown.ts'

/** Longest arguments and results shown of a tool, characters. */
const toolCharsMax = 200

/** One entry of a session as a person follows it. */
export interface EntryView {
  readonly lines: readonly string[]
  /** What the agent said in it, as it is. */
  readonly said?: string
}

/** What a line of a session file shows; nothing where it is of no concern, or no entry. Never throws. */
export function entryView(line: string): EntryView {
  const entry = objectIn(line)
  if (entry === undefined) return { lines: [] }
  switch (entry['type']) {
    case 'message':
      return messageView(entry['message'])
    case 'custom_message':
      return { lines: marked('» ', textOf(entry['content'])) }
    case 'compaction':
      return { lines: ['(the conversation was compacted)'] }
    default:
      return { lines: [] }
  }
}

/** A line as the JSON object it holds. */
export function objectIn(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

function messageView(message: unknown): EntryView {
  if (!isObject(message)) return { lines: [] }
  const { role, content, errorMessage, toolName, isError } = message
  const text = textOf(content)
  if (role === 'user') return { lines: marked('» ', text) }
  if (role === 'toolResult')
    return { lines: [resultLine(String(toolName), text, isError === true)] }
  if (role !== 'assistant') return { lines: [] }
  const said = /\S/.test(text) ? text : undefined
  const lines = [
    ...(said === undefined ? [] : shownText(said).split('\n')),
    ...callsIn(content),
    ...(typeof errorMessage === 'string' ? [`failed: ${shownLine(errorMessage)}`] : []),
  ]
  return { lines, ...(said !== undefined && { said }) }
}

function callsIn(content: unknown): string[] {
  return parts(content)
    .filter(({ type }) => type === 'toolCall')
    .map(({ name, arguments: args }) =>
      shownLine(`→ ${String(name)} ${JSON.stringify(args ?? {})}`, toolCharsMax),
    )
}

function resultLine(tool: string, text: string, isError: boolean): string {
  const lines = text.split('\n').filter((line) => /\S/.test(line))
  const rest = lines.length - 1
  const more = rest > 0 ? ` (and ${rest} more ${rest === 1 ? 'line' : 'lines'})` : ''
  const head = isError ? `← ${tool} failed: ` : `← ${tool}: `
  return `${shownLine(head + (lines[0] ?? 'nothing'), toolCharsMax)}${more}`
}

/** First lines of what somebody else said to it. */
function marked(mark: string, text: string): string[] {
  const lines = shownText(text, 1_024).split('\n')
  return lines.map((line, i) => `${i === 0 ? mark : ' '.repeat(mark.length)}${line}`)
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  return parts(content)
    .map(({ type, text }) => (type === 'text' && typeof text === 'string' ? text : ''))
    .join('')
}

const parts = (content: unknown): readonly Record<string, unknown>[] =>
  Array.isArray(content) ? content.filter(isObject) : []

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
