import type { Theme, ToolDefinition } from '@mariozechner/pi-coding-agent'
import { Text } from '@mariozechner/pi-tui'
import { Type } from 'typebox'
import { shownLine } from '../../shown.ts'

/** As much of arguments and answer is drawn while a tool is collapsed, characters and lines. */
const argsCharsMax = 160
const linesMax = 5

/** How a tool is drawn that the host knows no way for: its name, its arguments in a line, the beginning of its answer. */
export function collapsedTool(name: string): ToolDefinition {
  return {
    name,
    label: name,
    description: '',
    parameters: Type.Object({}),
    execute: () => Promise.reject(new Error('It is only drawn.')),
    renderCall: (args: unknown, theme, { expanded }) => call(name, args, expanded, theme),
    renderResult: ({ content }, { expanded }, theme) => {
      const text = content.map((part) => (part.type === 'text' ? part.text : '')).join('\n')
      return answer(text, expanded, theme)
    },
  }
}

function call(name: string, args: unknown, isExpanded: boolean, theme: Theme): Text {
  const json = JSON.stringify(args, undefined, isExpanded ? 2 : undefined) ?? ''
  const shown = isExpanded ? `\n${json}` : ` ${shownLine(json, argsCharsMax)}`
  return new Text(
    theme.fg('toolTitle', theme.bold(name)) + (json === '{}' ? '' : theme.fg('muted', shown)),
    0,
    0,
  )
}

function answer(text: string, isExpanded: boolean, theme: Theme): Text {
  const lines = text.trimEnd().split('\n')
  const shown = isExpanded ? lines : lines.slice(0, linesMax)
  const more = lines.length - shown.length
  const rest =
    more > 0 ? theme.fg('muted', `\n… ${more} more ${more === 1 ? 'line' : 'lines'}`) : ''
  return new Text(`\n${shown.map((line) => theme.fg('toolOutput', line)).join('\n')}${rest}`, 0, 0)
}
