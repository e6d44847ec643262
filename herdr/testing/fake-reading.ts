import { Refusal } from './fake-records.ts'
import type { ReadSource } from './fake-screen.ts'
import type { Stage } from './fake-stage.ts'
import type { Pane } from './fake-world.ts'

export interface ReadOrder {
  readonly source: ReadSource
  readonly lines?: number | undefined
  readonly format?: 'text' | 'ansi' | undefined
}

export interface OutputMatch {
  readonly type: 'substring' | 'regex'
  readonly value: string
}

export interface PaneRead {
  readonly pane_id: string
  readonly workspace_id: string
  readonly tab_id: string
  readonly source: ReadSource
  readonly format: 'text' | 'ansi'
  readonly text: string
  readonly revision: 0
  readonly truncated: boolean
}

export async function readPane(stage: Stage, pane: Pane, order: ReadOrder): Promise<PaneRead> {
  const { screen } = pane.terminal
  const { source, lines, format = 'text' } = order
  await screen.settled()
  const isPlain = stage.setting.withoutLayout && source === 'recent_unwrapped'
  const { text, truncated } = screen.read(
    isPlain ? 'recent' : source,
    lines,
    stage.faults.recentWithoutScreen,
  )
  return {
    pane_id: pane.id,
    workspace_id: pane.workspace.id,
    tab_id: pane.tab.id,
    source,
    format: source === 'detection' ? 'text' : format,
    text,
    revision: 0,
    truncated,
  }
}

/** @throws Refusal invalid_regex - it cannot be understood */
export function matcher({ type, value }: OutputMatch): (line: string) => boolean {
  if (type === 'substring') return (line) => line.includes(value)
  try {
    const pattern = new RegExp(value, 'u')
    return (line) => pattern.test(line)
  } catch {
    throw new Refusal('invalid_regex', `invalid regex: ${value}`)
  }
}

/** The first line that matches, and the reading it is in. */
export async function matched(
  stage: Stage,
  pane: Pane,
  order: ReadOrder,
  matches: (line: string) => boolean,
): Promise<{ readonly line: string; readonly read: PaneRead } | undefined> {
  const source = order.source === 'recent' ? 'recent_unwrapped' : order.source
  const { text } = await readPane(stage, pane, { ...order, source })
  const line = text.split('\n').find(matches)
  return line === undefined ? undefined : { line, read: await readPane(stage, pane, order) }
}
