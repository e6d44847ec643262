import {
  AssistantMessageComponent,
  CustomMessageComponent,
  createBashToolDefinition,
  createEditToolDefinition,
  createFindToolDefinition,
  createGrepToolDefinition,
  createLsToolDefinition,
  createReadToolDefinition,
  createWriteToolDefinition,
  type Theme,
  ToolExecutionComponent,
  UserMessageComponent,
} from '@mariozechner/pi-coding-agent'
import { type Component, Text, type TUI, truncateToWidth } from '@mariozechner/pi-tui'
import { collapsedTool } from './collapsed-tool.ts'
import type { Block, Item, Problem, SaidPart, ToolAnswer } from './entries.ts'

/** Prompt marks of a shell: they belong to what the host itself shows. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const promptMarks = /\x1b\]133;[^\x07\x1b]*(?:\x07|\x1b\\)/g

/** What the host draws its own messages and tools with. */
export interface Canvas {
  readonly tui: TUI
  readonly theme: Theme
  /** Directory of the agent: tools show paths as seen from there. */
  readonly cwd: string
}

/** An item as lines of exactly this display width, drawn with the host's own components. */
export function drawn(
  item: Item,
  width: number,
  isExpanded: boolean,
  canvas: Canvas,
): readonly string[] {
  return rendered(item, width, isExpanded, canvas).map((line) => clipped(line, width))
}

function rendered(
  item: Item,
  width: number,
  isExpanded: boolean,
  canvas: Canvas,
): readonly string[] {
  try {
    return component(item, isExpanded, canvas).render(width)
  } catch {
    return [canvas.theme.fg('error', '[something that cannot be drawn]')] // details of a tool are whatever it says
  }
}

/** A line no wider than this, filled up to it. */
export function clipped(line: string, width: number): string {
  const plain = line.replace(promptMarks, '').replaceAll('\t', '   ')
  return truncateToWidth(plain, width, '', true)
}

function component({ block, answer }: Item, isExpanded: boolean, canvas: Canvas): Component {
  switch (block.kind) {
    case 'prompt':
      return new UserMessageComponent(block.text)
    case 'says':
      return new AssistantMessageComponent(assistantMessage(block.parts, block.problem), true)
    case 'call':
      return tool(block, answer, isExpanded, canvas)
    case 'answer':
      return tool({ ...block, args: {} }, block, isExpanded, canvas)
    case 'message':
      return new CustomMessageComponent(customMessage(block))
    case 'note':
      return new Text(canvas.theme.fg('muted', block.text), 1, 1)
  }
}

type HostMessage = NonNullable<ConstructorParameters<typeof AssistantMessageComponent>[0]>

/** What was said, as the host holds it; who said it with which model is not drawn. */
function assistantMessage(parts: readonly SaidPart[], problem: Problem | undefined): HostMessage {
  const none = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 }
  return {
    role: 'assistant',
    content: parts.map(({ type, text }) =>
      type === 'text' ? { type, text } : { type, thinking: text },
    ),
    api: '',
    provider: '',
    model: '',
    usage: { ...none, totalTokens: 0, cost: none },
    stopReason: problem?.reason ?? 'stop',
    ...(problem && { errorMessage: problem.text }),
    timestamp: 0,
  }
}

const customMessage = ({
  from,
  text,
}: Extract<Block, { kind: 'message' }>): ConstructorParameters<
  typeof CustomMessageComponent
>[0] => ({
  role: 'custom',
  customType: from,
  content: text,
  display: true,
  timestamp: 0,
})

/** Tools the host draws in a way of their own. Only how they draw is used: none is ever run here. */
const hostTools = {
  bash: createBashToolDefinition,
  edit: createEditToolDefinition,
  find: createFindToolDefinition,
  grep: createGrepToolDefinition,
  ls: createLsToolDefinition,
  read: createReadToolDefinition,
  write: createWriteToolDefinition,
}

type ToolDrawing = NonNullable<ConstructorParameters<typeof ToolExecutionComponent>[4]>

function tool(
  { id, tool: name, args }: { id: string; tool: string; args: unknown },
  answer: ToolAnswer | undefined,
  isExpanded: boolean,
  { tui, cwd }: Canvas,
): Component {
  const definition: ToolDrawing = Object.hasOwn(hostTools, name)
    ? hostTools[name as keyof typeof hostTools](cwd)
    : collapsedTool(name)
  // Never marked as started or complete: the host would run a timer, and compare with files as they are now.
  const shown = new ToolExecutionComponent(name, id, args, noImages, definition, tui, cwd)
  shown.setExpanded(isExpanded)
  if (answer !== undefined) {
    const { text, isError, details } = answer
    shown.updateResult({ content: [{ type: 'text', text }], details, isError })
  }
  return shown
}

const noImages = { showImages: false }
