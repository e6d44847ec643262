import type { AgentToolResult, Theme, ToolRenderResultOptions } from '@mariozechner/pi-coding-agent'
import { type Component, Text } from '@mariozechner/pi-tui'
import { shownLine, shownText } from '../shown.ts'
import { agentToolName } from '../tool-names.ts'
import { Narrow, OneLine } from './clipped.ts'

/** More than any screen has columns, characters. */
const lineCharsMax = 400
const answerCharsMax = 262_144

type Fields = Readonly<Record<string, unknown>>

interface CallContext {
  readonly expanded: boolean
}

/** A call as it is made: what is asked of whom in a line; expanded, the whole of what is said and sent. */
export function renderAgentCall(args: unknown, theme: Theme, { expanded }: CallContext): Component {
  const given = fieldsOf(args) // still on its way, any of it may be missing
  const { said, whom } = callOf(given)
  const name = theme.fg('toolTitle', theme.bold(`${agentToolName} ${line(given['action'])}`))
  const about = whom === '' ? '' : ` ${theme.fg('accent', whom)}`
  const head = `${name}${about}`
  if (!expanded)
    return new Narrow(new OneLine(said === '' ? head : `${head}  ${theme.fg('muted', line(said))}`))
  const sent = listOf(given['files']).map((file) => `with ${line(file)}`)
  const placed = ['cwd', 'fork', 'session'].flatMap((field) =>
    typeof given[field] === 'string' ? [`${field} ${line(given[field])}`] : [],
  )
  const whole = [
    { colour: 'toolOutput' as const, text: shownText(said, answerCharsMax) },
    { colour: 'dim' as const, text: [...placed, ...sent].join('\n') },
  ].filter(({ text }) => text !== '')
  const texts = whole.map(({ colour, text }) => new Text(theme.fg(colour, text), 0, 0))
  return new Narrow(new OneLine(head), ...texts)
}

function callOf(given: Fields): { readonly whom: string; readonly said: string } {
  const { action, definition, session, label, agent, task, message } = given
  if (action !== 'delegate') return { whom: line(agent), said: textOf(message) }
  const what = definition === undefined ? (session === undefined ? '' : 'again') : line(definition)
  return { whom: label === undefined ? what : `${what} as ${line(label)}`, said: textOf(task) }
}

/** What came of a call in a line; expanded, all of it. */
export function renderAgentResult(
  { content, details }: Pick<AgentToolResult<unknown>, 'content' | 'details'>,
  { expanded, isPartial }: ToolRenderResultOptions,
  theme: Theme,
): Component {
  const text = content.map((part) => (part.type === 'text' ? part.text : '')).join('\n')
  if (isPartial) return new Narrow(new OneLine(theme.fg('warning', '…')))
  const { sign, says, lines } = outcomeOf(fieldsOf(details), text)
  const colour = { ok: 'success', failed: 'error', seen: 'muted' } as const
  const signs = { ok: '✓', failed: '✗', seen: '·' }
  const head = `${theme.fg(colour[sign], signs[sign])} ${theme.fg(sign === 'failed' ? 'error' : 'toolOutput', says)}`
  if (!expanded) return new Narrow(new OneLine(head))
  const whole = lines?.map(line).join('\n') ?? shownText(text, answerCharsMax)
  return new Narrow(new OneLine(head), new Text(theme.fg('toolOutput', whole), 0, 0))
}

interface Outcome {
  readonly sign: 'ok' | 'failed' | 'seen'
  readonly says: string
  /** What is shown of it expanded; its whole text, where there are none. */
  readonly lines?: readonly string[]
}

function outcomeOf(details: Fields, text: string): Outcome {
  const error = fieldsOf(details['error'])
  if ('category' in error)
    return { sign: 'failed', says: `${line(error['category'])}: ${line(error['message'])}` }
  const agent = line(details['agent'])
  switch (details['action']) {
    case 'delegate':
      return {
        sign: 'ok',
        says: `${agent} (${line(details['definition'])}) works ${place(details)}`,
      }
    case 'steer':
    case 'reply':
      return told(details, agent)
    case 'close':
      return closed(details, agent)
    case 'inspect':
      return { sign: 'seen', says: line(lastOf(textOf(details['recent_output'])) || 'nothing yet') }
    case 'list':
      return listed(details)
    default:
      return { sign: 'failed', says: line(text) } // thrown by the host itself
  }
}

function place({ started }: Fields): string {
  const { runner, pid, pane } = fieldsOf(started)
  const { tab } = fieldsOf(pane)
  if (typeof tab === 'string') return `in tab ${line(tab)}`
  return pid === undefined ? line(runner) : `${line(runner)}, pid ${line(String(pid))}`
}

function told({ outcome, reason }: Fields, agent: string): Outcome {
  const isTaken = outcome === 'accepted' || outcome === 'consumed'
  const why = reason === undefined ? '' : `: ${line(reason)}`
  const says = `${agent}: ${line(outcome).replace('_', ' ')}${why}`
  return { sign: isTaken ? 'ok' : 'failed', says }
}

function closed({ closed, kept }: Fields, agent: string): Outcome {
  const others = listOf(closed).filter((label) => label !== agent)
  const results = listOf(kept).length
  const says = [
    `${agent} closed`,
    ...(others.length === 0 ? [] : [`with it ${others.map(line).join(', ')}`]),
    ...(results === 0 ? [] : [`${results} unread kept`]),
  ]
  return { sign: 'ok', says: says.join(' · ') }
}

function listed({ agents, agent_definitions: definitions, diagnostics }: Fields): Outcome {
  const rows = listOf(agents).map(fieldsOf)
  const known = listOf(definitions).map(fieldsOf)
  const troubles = listOf(diagnostics)
  const each = rows.map((row) => `${line(row['agent'])} ${line(row['state'])}`)
  const says = [
    `${rows.length} ${rows.length === 1 ? 'agent' : 'agents'}${each.length === 0 ? '' : `: ${each.join(', ')}`}`,
    `${known.length} ${known.length === 1 ? 'definition' : 'definitions'}`,
    ...(troubles.length === 0 ? [] : [`${troubles.length} diagnostics`]),
  ]
  return {
    sign: 'seen',
    says: says.join(' · '),
    lines: [
      ...rows.map(agentLine),
      `definitions: ${known.map(({ name }) => line(name)).join(', ') || 'none'}`,
      ...troubles.map((trouble) => `! ${line(trouble)}`),
    ],
  }
}

function agentLine(row: Fields): string {
  const asks = row['question'] === undefined ? '' : `  asks: ${line(row['question'])}`
  const parent = row['parent_label'] === undefined ? '' : `  of ${line(row['parent_label'])}`
  return `agent ${line(row['agent'])}  ${line(row['agent_definition'])}  ${line(row['state'])}${parent}${asks}`
}

const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null ? (value as Fields) : {}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

const line = (value: unknown): string => shownLine(textOf(value).trim(), lineCharsMax)

const lastOf = (text: string): string => text.trimEnd().split('\n').at(-1) ?? ''
