import { visibleWidth } from '@mariozechner/pi-tui'
import { type Descendant, openQuestion, type PublicState, type Row } from '../../actors/index.ts'
import { shownLine } from '../shown.ts'
import { amount, duration } from './amounts.ts'
import { clipped, fitted } from './clipped.ts'
import { doing } from './doing.ts'

/** One agent as the widget shows it. Nothing in it changes by itself, so two that are equal are drawn once. */
export interface WidgetRow {
  readonly agent: string
  readonly definition: string
  readonly state: PublicState | 'starting'
  /** Levels below this session's own agents. */
  readonly indent: number
  /** Who has to do something before it can go on: this session answers, or a person at its pane. */
  readonly wants?: 'answer' | 'person'
  /** What it asks, or where the person is awaited. */
  readonly wanted?: string
  readonly doing: string
  /** When it was started, milliseconds since the epoch. */
  readonly since: number
  readonly contextPercent?: number
  readonly tokens?: number
}

/** How a part of a line is meant, for whoever paints it. */
export type Tone = 'title' | 'wanted' | 'bad' | 'good' | 'quiet' | 'plain'

export interface WidgetSpace {
  readonly width: number
  /** Lines there is room for. */
  readonly height: number
  /** Milliseconds since the epoch. */
  readonly now: number
  readonly paint: (tone: Tone, text: string) => string
  /** What hides the widget, as a person presses it; none where nothing can be pressed. */
  readonly key?: string
}

const charsMax = 400

/** Agents in the order they were started, each followed by its own: a row keeps its place while it lives. */
export function widgetRows(
  rows: readonly Row[],
  below: readonly Descendant[],
): readonly WidgetRow[] {
  const withOwn = (row: Row, indent: number): WidgetRow[] => {
    const own = below.filter(({ parent }) => parent === row.agent).map((each) => each.row)
    return [widgetRow(row, indent), ...byStart(own).flatMap((child) => withOwn(child, indent + 1))]
  }
  return byStart(rows).flatMap((row) => withOwn(row, 0))
}

const startOf = ({ facts }: Row): number => facts.generation.at

function byStart(rows: readonly Row[]): Row[] {
  return [...rows].sort((a, b) => {
    const [from, to] = [startOf(a), startOf(b)]
    return from === to ? (a.agent < b.agent ? -1 : 1) : from < to ? -1 : 1
  })
}

function widgetRow(row: Row, indent: number): WidgetRow {
  const { agent, state, starting, facts } = row
  const { generation, activity, pane } = facts
  const ask = indent === 0 && state === 'blocked' ? openQuestion(facts) : undefined
  const isAtPane = state === 'blocked' && ask === undefined && activity?.waiting === 'person'
  const tab = pane?.tabLabel ?? pane?.tab
  return {
    agent: shownLine(agent, charsMax),
    definition: shownLine(generation.definition, charsMax),
    state: starting ? 'starting' : state,
    indent,
    ...(ask && { wants: 'answer' as const, wanted: shownLine(ask.text, charsMax) }),
    ...(isAtPane && {
      wants: 'person' as const,
      wanted: shownLine(`in its pane${tab === undefined ? '' : ` (tab ${tab})`}`, charsMax),
    }),
    doing: doing(row),
    since: generation.at,
    // The host counts nothing before the first answer.
    ...(activity?.tokens &&
      activity.contextPercent !== undefined && {
        contextPercent: Math.round(activity.contextPercent),
      }),
    ...(activity?.tokens && { tokens: activity.tokens }),
  }
}

/**
 * The widget: counts, then what waits for an answer or a person, then a row for each agent.
 *
 * Where height is short, what is waited for moves into the rows; where the rows do not fit either, one line is left.
 */
export function widgetLines(
  rows: readonly WidgetRow[],
  space: WidgetSpace,
  isObserving: boolean = false,
): string[] {
  if (rows.length === 0 || space.width < 1) return []
  const wanting = rows.filter(({ wants }) => wants !== undefined)
  const columns = columnsFor(rows, space)
  if (1 + rows.length > space.height) return [collapsed(rows, wanting, space)]
  const isApart = 1 + wanting.length + rows.length <= space.height
  return [
    header(rows, space, isObserving),
    ...(isApart ? wanting.map((row) => wantedLine(row, space)) : []),
    ...rows.map((row) => rowLine(row, columns, space, isApart)),
  ]
}

interface Mark {
  readonly sign: string
  readonly tone: Tone
}

const marks: Readonly<Record<WidgetRow['state'], Mark>> = {
  working: { sign: '●', tone: 'good' },
  starting: { sign: '○', tone: 'quiet' },
  blocked: { sign: '◌', tone: 'quiet' },
  settling: { sign: '✓', tone: 'good' },
  unknown: { sign: '~', tone: 'bad' },
  lost: { sign: '✗', tone: 'bad' },
}
const wantsAnswer: Mark = { sign: '?', tone: 'wanted' }
const wantsPerson: Mark = { sign: '!', tone: 'wanted' }

function markOf({ state, wants }: WidgetRow): Mark {
  if (wants === undefined) return marks[state]
  return wants === 'answer' ? wantsAnswer : wantsPerson
}

/** How many there are of each kind, each agent counted once, what somebody should look at first. */
const kinds: readonly {
  readonly says: string
  readonly tone: Tone
  readonly is: (row: WidgetRow) => boolean
}[] = [
  { says: 'asking', tone: 'wanted', is: ({ wants }) => wants === 'answer' },
  { says: 'at a prompt', tone: 'wanted', is: ({ wants }) => wants === 'person' },
  { says: 'lost', tone: 'bad', is: ({ state }) => state === 'lost' },
  { says: 'unknown', tone: 'bad', is: ({ state }) => state === 'unknown' },
  { says: 'working', tone: 'good', is: ({ state }) => state === 'working' },
  {
    says: 'waiting',
    tone: 'quiet',
    is: ({ state, wants }) => state === 'blocked' && wants === undefined,
  },
  { says: 'starting', tone: 'quiet', is: ({ state }) => state === 'starting' },
  { says: 'settling', tone: 'good', is: ({ state }) => state === 'settling' },
]

interface Part {
  readonly tone: Tone
  readonly text: string
}

function counts(rows: readonly WidgetRow[]): Part[] {
  const parts: Part[] = [{ tone: 'title', text: `agents ${rows.length}` }]
  for (const { says, tone, is } of kinds) {
    const count = rows.filter(is).length
    if (count > 0) parts.push({ tone: 'quiet', text: ' · ' }, { tone, text: `${count} ${says}` })
  }
  return parts
}

function header(rows: readonly WidgetRow[], space: WidgetSpace, isObserving: boolean): string {
  const parts = counts(rows)
  if (isObserving) parts.push({ tone: 'quiet', text: ' · another window acts' })
  return line([...parts, ...hintAfter(parts, rows, space)], space)
}

/** What to press, at the right edge, where there is room for all of it. */
function hintAfter(parts: readonly Part[], rows: readonly WidgetRow[], space: WidgetSpace): Part[] {
  if (space.key === undefined) return []
  const isAwaited = rows.some(({ wants }) => wants !== undefined)
  const whole = `/agents ${isAwaited ? 'to answer' : 'to look'} · ${space.key} hides`
  const used = columnsOf(parts)
  const text = [whole, `${space.key} hides`].find((hint) => used + 2 + hint.length <= space.width)
  if (text === undefined) return []
  return [{ tone: 'quiet', text: fitted(text, space.width - used, 'right') }]
}

function wantedLine(row: WidgetRow, space: WidgetSpace): string {
  const { sign, tone } = markOf(row)
  const verb = row.wants === 'answer' ? 'asks:' : 'waits for you'
  return line(
    [
      { tone, text: `${sign} ${row.agent} ${verb} ` },
      { tone: 'plain', text: row.wanted ?? '' },
    ],
    space,
  )
}

function collapsed(
  rows: readonly WidgetRow[],
  [first]: readonly WidgetRow[],
  space: WidgetSpace,
): string {
  const parts = counts(rows)
  if (first === undefined) return line([...parts, ...hintAfter(parts, rows, space)], space)
  const { sign, tone } = markOf(first)
  const verb = first.wants === 'answer' ? 'asks:' : 'waits for you'
  const told = [
    { tone: 'quiet' as const, text: '  ' },
    { tone, text: `${sign} ${first.agent} ${verb} ` },
    { tone: 'plain' as const, text: first.wanted ?? '' },
  ]
  return line([...parts, ...told], space)
}

type Column = 'agent' | 'definition' | 'state' | 'since' | 'doing' | 'context' | 'tokens'

/**
 * What is given up as the width shrinks, first to last: the sign says the state too. The sign and the label are never
 * given up, only cut.
 */
export const columnsGivenUp: readonly Column[] = [
  'tokens',
  'context',
  'definition',
  'state',
  'since',
  'doing',
]

const columnOrder: readonly Column[] = [
  'agent',
  'definition',
  'state',
  'since',
  'doing',
  'context',
  'tokens',
]

/** A column of what an agent does is worth having from here on. */
const doingColumnsMin = 16
const signColumns = 2
const gap = 2

interface Layout {
  readonly columns: readonly Column[]
  readonly widths: Readonly<Record<Column, number>>
}

function columnsFor(rows: readonly WidgetRow[], { width, now }: WidgetSpace): Layout {
  const longest = (column: Column) =>
    Math.max(0, ...rows.map((row) => columnsOf([{ tone: 'plain', text: cell(row, column, now) }])))
  const labelMax = Math.max(16, Math.floor(width / 4))
  const widths: Record<Column, number> = {
    agent: Math.min(longest('agent'), labelMax),
    definition: Math.min(longest('definition'), 20),
    state: longest('state'),
    since: longest('since'),
    doing: doingColumnsMin,
    context: longest('context'),
    tokens: longest('tokens'),
  }
  const givenUp = new Set<Column>(columnOrder.filter((column) => widths[column] === 0))
  const shown = () => columnOrder.filter((column) => !givenUp.has(column))
  const needed = () =>
    signColumns + shown().reduce((sum, column) => sum + widths[column] + gap, -gap)
  for (const column of columnsGivenUp) if (needed() > width) givenUp.add(column)
  const spare = Math.max(0, width - needed())
  if (givenUp.has('doing')) widths.agent += Math.min(spare, longest('agent') - widths.agent)
  else widths.doing += spare
  return { columns: shown(), widths }
}

function cell(row: WidgetRow, column: Column, now: number, isApart: boolean = true): string {
  switch (column) {
    case 'agent':
      return '  '.repeat(row.indent) + row.agent
    case 'definition':
      return row.definition
    case 'state':
      return row.state
    case 'since':
      return duration(now - row.since)
    case 'doing':
      return isApart || row.wanted === undefined ? row.doing : row.wanted
    case 'context':
      return row.contextPercent === undefined ? '' : `ctx ${row.contextPercent}%`
    case 'tokens':
      return row.tokens === undefined ? '' : `${amount(row.tokens)} tok`
  }
}

function rowLine(
  row: WidgetRow,
  { columns, widths }: Layout,
  space: WidgetSpace,
  isApart: boolean,
): string {
  const { sign, tone } = markOf(row)
  const parts: Part[] = [
    { tone, text: sign },
    { tone: 'plain', text: ' ' },
  ]
  for (const [i, column] of columns.entries()) {
    if (i > 0) parts.push({ tone: 'plain', text: ' '.repeat(gap) })
    const text = cell(row, column, space.now, isApart)
    const align = isNumber.has(column) ? 'right' : 'left'
    parts.push({ tone: toneOf(row, column), text: fitted(text, widths[column], align) })
  }
  return line(parts, space)
}

const isNumber: ReadonlySet<Column> = new Set(['since', 'context', 'tokens'])

function toneOf(row: WidgetRow, column: Column): Tone {
  if (column === 'agent') return row.wants === undefined ? 'plain' : 'wanted'
  if (column === 'state') return markOf(row).tone
  return column === 'doing' && row.state !== 'settling' ? 'plain' : 'quiet'
}

const columnsOf = (parts: readonly Part[]): number =>
  parts.reduce((sum, { text }) => sum + visibleWidth(text), 0)

/** The parts one after another, cut at the width; painted after that, so that paint is never cut. */
function line(parts: readonly Part[], { width, paint }: WidgetSpace): string {
  const text = parts.map((part) => part.text).join('')
  if (visibleWidth(text.trimEnd()) <= width) return painted(parts, paint).trimEnd()
  const shown: Part[] = []
  let left = width
  for (const part of parts) {
    const rest = clipped(part.text, left)
    shown.push({ ...part, text: rest })
    left -= visibleWidth(rest)
    if (rest !== part.text || left <= 0) break
  }
  return painted(shown, paint)
}

const painted = (parts: readonly Part[], paint: WidgetSpace['paint']): string =>
  parts.map(({ tone, text }) => (text === '' ? '' : paint(tone, text))).join('')
