import type { ExtensionContext, Theme } from '@mariozechner/pi-coding-agent'
import {
  type Component,
  type Focusable,
  Input,
  matchesKey,
  type TUI,
  wrapTextWithAnsi,
} from '@mariozechner/pi-tui'
import type { Clock } from '../../../mailbox/index.ts'
import { shownLine } from '../../shown.ts'
import { clipped, drawn } from './drawn.ts'
import { DrawnCache } from './drawn-cache.ts'
import type { Item } from './entries.ts'
import { fittingKeys, headline, question } from './frame.ts'
import { Transcript } from './transcript.ts'
import { Viewport } from './viewport.ts'
import { type Answer, type ViewedAgents, WatchedAgent } from './watched-agent.ts'

/** Between two drawings because something grew, ms. Keys draw at once. */
const drawMs = 250
/** Lines of an answer that are shown. */
const answerLinesMax = 6

/** What the person does beside looking. */
type Doing =
  | { readonly what: 'steer' | 'reply'; readonly input: Input }
  | { readonly what: 'close' }
  | undefined

/** The whole screen: one agent's conversation as it grows. Leaving it stops nothing. */
class AgentView implements Component, Focusable {
  readonly #tui: TUI
  readonly #theme: Theme
  readonly #clock: Clock
  readonly #leave: () => void
  readonly #agent: WatchedAgent
  readonly #transcript: Transcript
  readonly #viewport = new Viewport()
  readonly #cache = new DrawnCache()
  readonly #earlier: Item
  #note: { readonly text: string; readonly item: Item } | undefined
  #isExpanded = false
  #isFocused = false
  #doing: Doing
  #isBusy = false
  #answer: Answer | undefined
  #drawnMs = Number.NEGATIVE_INFINITY
  #cancelDraw: (() => void) | undefined

  constructor({ tui, theme, clock, leave }: Stage, agent: WatchedAgent, transcript: Transcript) {
    this.#tui = tui
    this.#theme = theme
    this.#clock = clock
    this.#leave = leave
    this.#agent = agent
    this.#transcript = transcript
    const file = shownLine(agent.row.facts.generation.identity.sessionFile)
    this.#earlier = { block: { kind: 'note', text: `What was said earlier is in ${file}` } }
  }

  get focused(): boolean {
    return this.#isFocused
  }

  set focused(isFocused: boolean) {
    this.#isFocused = isFocused
    if (this.#doing !== undefined && 'input' in this.#doing) this.#doing.input.focused = isFocused
  }

  /** Draws soon: at most so often, and not at all while nothing changes. */
  grown(): void {
    if (this.#agent.isOver) {
      this.#leave()
      return
    }
    this.#cancelDraw ??= this.#clock.background(
      Math.max(0, this.#drawnMs + drawMs - this.#clock.monotonic()),
      () => {
        this.#cancelDraw = undefined
        this.#drawnMs = this.#clock.monotonic()
        this.#tui.requestRender()
      },
    )
  }

  dispose(): void {
    this.#cancelDraw?.()
  }

  invalidate(): void {
    this.#cache.clear()
  }

  render(width: number): string[] {
    const rows = Math.max(1, this.#tui.terminal.rows)
    const above = [this.#bar(headline(this.#agent, width), width), ...this.#question(width)]
    const below = [...this.#below(width), this.#bar(this.#keys(width), width)]
    const height = Math.max(1, rows - above.length - below.length)
    const body = this.#viewport.show(this.#items(), height, (item) => this.#draw(item, width))
    const empty = Array<string>(height - body.length).fill('')
    return [...above, ...body, ...empty, ...below].slice(-rows).map((line) => clipped(line, width))
  }

  handleInput(data: string): void {
    if (this.#doing === undefined) this.#look(data)
    else if ('input' in this.#doing) this.#doing.input.handleInput(data)
    else this.#confirm(data)
  }

  #look(data: string): void {
    const isKey = (key: Parameters<typeof matchesKey>[1]) => matchesKey(data, key)
    this.#answer = this.#isBusy ? this.#answer : undefined
    if (isKey('escape') || isKey('ctrl+c') || isKey('q')) this.#leave()
    else if (isKey('up')) this.#viewport.scroll(-1, 'lines')
    else if (isKey('down')) this.#viewport.scroll(1, 'lines')
    else if (isKey('pageUp')) this.#viewport.scroll(-1, 'screens')
    else if (isKey('pageDown')) this.#viewport.scroll(1, 'screens')
    else if (isKey('home')) this.#viewport.toStart()
    else if (isKey('end')) this.#viewport.toEnd()
    else if (isKey('o') || isKey('ctrl+o')) this.#isExpanded = !this.#isExpanded
    else if (isKey('s')) this.#begin('steer')
    else if (isKey('r')) this.#begin('reply')
    else if (isKey('x')) this.#begin('close')
  }

  #begin(what: 'steer' | 'reply' | 'close'): void {
    if (this.#isBusy) return
    this.#answer = this.#agent.refusal(what)
    if (this.#answer !== undefined) return
    this.#doing = what === 'close' ? { what } : { what, input: this.#input(what) }
  }

  #input(what: 'steer' | 'reply'): Input {
    const input = new Input()
    input.focused = this.#isFocused
    input.onEscape = () => {
      this.#doing = undefined
    }
    input.onSubmit = (message) => {
      this.#doing = undefined
      if (/\S/.test(message)) this.#do(this.#agent.tell(what, message))
    }
    return input
  }

  #confirm(data: string): void {
    const isYes = matchesKey(data, 'y')
    if (!isYes && !matchesKey(data, 'n') && !matchesKey(data, 'escape')) return
    this.#doing = undefined
    if (isYes) this.#do(this.#agent.close())
  }

  #do(act: Promise<Answer>): void {
    this.#isBusy = true
    this.#answer = { text: '…', isError: false }
    void act.then((answer) => {
      this.#isBusy = false
      this.#answer = answer
      this.grown()
    })
  }

  #items(): readonly Item[] {
    const { items, hasEarlier, problem } = this.#transcript
    const isEmpty = items.length === 0 && problem === undefined
    const said = isEmpty ? 'Nothing has been said yet.' : problem
    const note = said === undefined ? [] : [this.#noteOf(said)]
    return [...(hasEarlier ? [this.#earlier] : []), ...items, ...note]
  }

  /** One object while it says the same, so that it is drawn once. */
  #noteOf(text: string): Item {
    if (this.#note?.text !== text)
      this.#note = { text, item: { block: { kind: 'note', text: shownLine(text) } } }
    return this.#note.item
  }

  #draw(item: Item, width: number): readonly string[] {
    const { cwd } = this.#agent.row.facts.generation.identity
    const canvas = { tui: this.#tui, theme: this.#theme, cwd }
    const isExpanded = this.#isExpanded
    return this.#cache.lines(item, `${width} ${isExpanded}`, () =>
      drawn(item, width, isExpanded, canvas),
    )
  }

  #bar(text: string, width: number): string {
    return this.#theme.bg('selectedBg', this.#theme.bold(clipped(text, width)))
  }

  #question(width: number): readonly string[] {
    const asked = this.#agent.isGone ? undefined : question(this.#agent.row)
    return asked === undefined
      ? []
      : wrapTextWithAnsi(this.#theme.fg('warning', asked), width).slice(0, 3)
  }

  #below(width: number): readonly string[] {
    const doing = this.#doing
    if (doing !== undefined && 'input' in doing)
      return [
        this.#theme.fg('accent', `${doing.what}: ${this.#agent.label}`),
        ...doing.input.render(width),
      ]
    if (doing !== undefined) {
      const asked = `Close ${this.#agent.label}? What it does is discarded, and all below it is closed too.`
      return wrapTextWithAnsi(this.#theme.fg('warning', asked), width)
    }
    if (this.#answer === undefined) return []
    const { text, isError } = this.#answer
    const colour = isError ? 'error' : 'success'
    return text
      .split('\n')
      .flatMap((line) => wrapTextWithAnsi(this.#theme.fg(colour, line), width))
      .slice(0, answerLinesMax)
  }

  #keys(width: number): string {
    if (this.#doing !== undefined)
      return 'input' in this.#doing ? ' Enter send · Esc back' : ' y yes · n no'
    return fittingKeys(width, {
      followsEnd: this.#viewport.followsEnd,
      actions: this.#agent.isGone ? [] : this.#agent.row.actions,
    })
  }
}

interface Stage {
  readonly tui: TUI
  readonly theme: Theme
  readonly clock: Clock
  readonly leave: () => void
}

/**
 * Shows one agent on the whole screen until the person leaves it. One view or dialog may be open at a time: 0.73.1 never
 * settles the first of two.
 *
 * @returns `no_screen` - this host has no terminal; nothing was shown
 * @throws OperationError `target_not_found` - no agent of this session or below it is called so
 */
export async function openAgentView(
  ctx: ExtensionContext,
  ports: { readonly agents: ViewedAgents; readonly clock: Clock },
  label: string,
): Promise<'left' | 'no_screen'> {
  let view: AgentView | undefined
  const grown = () => view?.grown()
  const agent = await WatchedAgent.find(ports, ctx, label, grown)
  const { sessionFile } = agent.row.facts.generation.identity
  const transcript = new Transcript(sessionFile, ports, () => {
    agent.lookSoon()
    grown()
  })
  try {
    await ctx.ui.custom<void>(
      (tui, theme, _keys, done) => {
        view = new AgentView(
          { tui, theme, clock: ports.clock, leave: () => done() },
          agent,
          transcript,
        )
        void transcript.start()
        return view
      },
      { overlay: true, overlayOptions: wholeScreen },
    )
  } finally {
    agent.stop()
    await transcript.stop()
  }
  return view === undefined ? 'no_screen' : 'left'
}

const wholeScreen = { width: '100%', maxHeight: '100%', row: 0, col: 0, margin: 0 } as const
