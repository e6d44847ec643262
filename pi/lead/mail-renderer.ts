import { getMarkdownTheme, type MessageRenderer, type Theme } from '@mariozechner/pi-coding-agent'
import { Box, type Component, Markdown, Text } from '@mariozechner/pi-tui'
import type { MailDetails, MailPart, QuestionDetails, ResultDetails } from '../messages.ts'
import type { NoticeDetails } from '../notices.ts'
import { shownLine, shownText } from '../shown.ts'
import { amount, duration } from './amounts.ts'
import { Narrow, OneLine } from './clipped.ts'

/** More than any screen has columns, characters. */
const lineCharsMax = 400

/** One report as it is drawn: who says it, what it is, and its words. */
interface Item {
  readonly sign: string
  readonly colour: 'success' | 'error' | 'warning' | 'muted'
  readonly agent: string
  readonly definition: string
  readonly says: string
  readonly facts: readonly string[]
  readonly words: string
  /** What follows from it, below its words. */
  readonly after: readonly string[]
}

/**
 * Draws what agents report: a line each; expanded, the words of each as Markdown between its origin and its end.
 *
 * Nothing but positions is taken from the content, so no words of an agent can pass for those of another.
 */
export const renderMail: MessageRenderer<Partial<MailDetails>> = (message, { expanded }, theme) => {
  const content = textOf(message.content)
  const items = (message.details?.parts ?? []).map((part) =>
    itemOf(part, message.details ?? {}, content),
  )
  if (items.length === 0 || items.includes(undefined)) return undefined // the host's own way shows all of it
  const drawn = items.filter((item) => item !== undefined)
  const box = new Box(1, 0, (text) => theme.bg('customMessageBg', text))
  for (const [i, item] of drawn.entries()) {
    if (!expanded) {
      box.addChild(new OneLine(`${heading(item, theme)}  ${preview(item, theme)}`))
      continue
    }
    if (i > 0) box.addChild(new Text(' ', 0, 0))
    for (const part of whole(item, theme)) box.addChild(part)
  }
  return new Narrow(box)
}

function heading({ sign, colour, agent, definition, says }: Item, theme: Theme): string {
  const origin = `${theme.bold(theme.fg('customMessageLabel', agent))} ${theme.fg('dim', `(${definition})`)}`
  return `${theme.fg(colour, sign)} ${origin} ${theme.fg(colour, says)}`
}

function preview({ words, facts }: Item, theme: Theme): string {
  const first = words.split('\n').find((line) => /\S/.test(line)) ?? ''
  const used = facts.length === 0 ? '' : `${theme.fg('dim', facts.join(' · '))}  `
  return `${used}${theme.fg('customMessageText', shownLine(plain(first), lineCharsMax))}`
}

/** A line of Markdown as it reads without its marks. */
const plain = (line: string): string =>
  line
    .replace(/^\s*(?:#{1,6}\s|[-*>]\s)?/, '')
    .replaceAll('**', '')
    .replaceAll('`', '')
    .trim()

function whole(item: Item, theme: Theme): Component[] {
  const facts = item.facts.length === 0 ? '' : `  ${theme.fg('dim', item.facts.join(' · '))}`
  const colour = { color: (text: string) => theme.fg('customMessageText', text) }
  return [
    new OneLine(`${heading(item, theme)}${facts}`),
    new Markdown(item.words, 0, 0, getMarkdownTheme(), colour),
    ...item.after.map((line) => new Text(theme.fg('dim', line), 0, 0)),
  ]
}

function itemOf(
  { kind, entry, from, to }: MailPart,
  { results = [], questions = [], notices = [] }: Partial<MailDetails>,
  content: string,
): Item | undefined {
  const words = shownText(content.slice(from, to), Number.POSITIVE_INFINITY)
  const origin = { result: results, question: questions, notice: notices }[kind]?.[entry]
  if (origin === undefined) return undefined
  const named = {
    agent: shownLine(origin.agentLabel, lineCharsMax),
    definition: shownLine(origin.agentDefinition, lineCharsMax),
    words,
  }
  switch (kind) {
    case 'result':
      return { ...named, ...resultOf(origin as ResultDetails) }
    case 'question':
      return { ...named, ...questionOf(origin as QuestionDetails) }
    case 'notice':
      return { ...named, ...noticeOf(origin as NoticeDetails) }
  }
}

type Told = Pick<Item, 'sign' | 'colour' | 'says' | 'facts' | 'after'>

function resultOf(result: ResultDetails): Told {
  const label = shownLine(result.agentLabel, lineCharsMax)
  const { status, error, elapsedMs, tokens, costUsd, resultFile, resultBytes } = result
  const facts = [
    ...(elapsedMs === undefined ? [] : [duration(elapsedMs)]),
    ...(tokens === undefined ? [] : [`${amount(tokens)} tok`]),
    ...(costUsd === undefined || costUsd === 0 ? [] : [`$${costUsd.toFixed(2)}`]),
  ]
  const after = [
    ...(resultFile === undefined
      ? []
      : [`cut here; all ${resultBytes} bytes: ${shownLine(resultFile)}`]),
    `end of what ${label} wrote · session ${shownLine(result.piSessionFile)}`,
  ]
  if (status === 'completed') return { sign: '✓', colour: 'success', says: 'result', facts, after }
  const says = `failed: ${shownLine(error?.code ?? 'unknown', lineCharsMax)}`
  return { sign: '✗', colour: 'error', says, facts, after }
}

const questionOf = ({ agentLabel }: QuestionDetails): Told => ({
  sign: '?',
  colour: 'warning',
  says: 'asks',
  facts: [],
  after: [`end of what ${shownLine(agentLabel, lineCharsMax)} wrote · it waits for the answer`],
})

function noticeOf({ condition, lastsMs, availableActions }: NoticeDetails): Told {
  return {
    sign: '!',
    colour: condition === 'lost' || condition === 'result_error' ? 'error' : 'warning',
    says: shownLine(condition.replace('_', ' '), lineCharsMax),
    facts: lastsMs === undefined ? [] : [`for ${duration(lastsMs)}`],
    after: [
      `possible now: ${availableActions.map((action) => shownLine(action)).join(', ') || 'nothing'}`,
    ],
  }
}

function textOf(content: Parameters<typeof renderMail>[0]['content']): string {
  if (typeof content === 'string') return content
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('\n')
}
