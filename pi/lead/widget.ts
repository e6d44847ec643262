import type { ExtensionContext, Theme, ThemeColor } from '@mariozechner/pi-coding-agent'
import type { Component, TUI } from '@mariozechner/pi-tui'
import type { Clock } from '../../mailbox/index.ts'
import { screenOf } from '../host.ts'
import { Narrow } from './clipped.ts'
import type { Delegation } from './delegation.ts'
import { type Tone, type WidgetRow, widgetLines, widgetRows } from './widget-rows.ts'

/** What hides the widget and shows it again. Neither host binds it; every terminal sends it. */
export const widgetKey = 'alt+a'

/** Between two draws, ms: four a second at most. */
const drawMs = 250
/** Share of the terminal's lines it may take, and how many are left to the editor, the footer and what was said last. */
const heightShare = 0.5
const othersLines = 7
/** From so many columns on, the widget keeps the margin that the host keeps. */
const marginFrom = 20
/** Columns of what is handed to a client: how wide that shows it is not known. */
const clientColumns = 80

const name = 'drover'

const colours: Readonly<Record<Tone, ThemeColor>> = {
  title: 'accent',
  wanted: 'warning',
  bad: 'error',
  good: 'success',
  quiet: 'dim',
  plain: 'text',
}

/** Where the host's context is found now; one kept longer would be stale. */
interface ContextSource {
  readonly ctx: ExtensionContext | undefined
}

interface Shown {
  readonly rows: readonly WidgetRow[]
  readonly isObserving: boolean
}

const nothing: Shown = { rows: [], isObserving: false }

/**
 * The agents of a lead above its editor, from the first delegation to the last settlement.
 *
 * Costs: nothing while nothing changes. A change is drawn at once, or 250 ms after the last one. How long an agent has
 * been at work is counted whenever the host draws, whatever for, and never by a timer of its own.
 */
export class StatusWidget {
  readonly #clock: Clock
  readonly #gate: ContextSource
  readonly #delegation: Pick<Delegation, 'watch' | 'lastSeen'>
  readonly #unwatch: () => void
  #shown: Shown = nothing
  #isHidden = false
  #isOver = false
  #isDue = false
  #drawnMs = Number.NEGATIVE_INFINITY
  #cancel: () => void = () => {}
  /** Draws again what is on the screen; absent while nothing is. */
  #redraw: (() => void) | undefined

  constructor(
    clock: Clock,
    gate: ContextSource,
    delegation: Pick<Delegation, 'watch' | 'lastSeen'>,
  ) {
    this.#clock = clock
    this.#gate = gate
    this.#delegation = delegation
    this.#unwatch = delegation.watch(() => this.#changed())
  }

  /** Hides it, or shows it again. Hidden, it stays hidden until it is shown again. */
  toggle(): void {
    this.#isHidden = !this.#isHidden
    this.#draw()
  }

  end(): void {
    this.#isOver = true
    this.#unwatch()
    this.#cancel()
    this.#shown = nothing
    this.#draw()
  }

  #changed(): void {
    if (this.#isDue || this.#isOver) return
    this.#isDue = true
    const waitMs = Math.max(0, this.#drawnMs + drawMs - this.#clock.monotonic())
    this.#cancel = this.#clock.background(waitMs, () => void this.#look())
  }

  async #look(): Promise<void> {
    this.#drawnMs = this.#clock.monotonic()
    this.#isDue = false
    try {
      const { rows, below, role } = await this.#delegation.lastSeen()
      if (this.#isOver) return
      const now: Shown = { rows: widgetRows(rows, below), isObserving: role === 'observing' }
      if (JSON.stringify(now) === JSON.stringify(this.#shown)) return
      this.#shown = now
      this.#draw()
    } catch {
      // The mailboxes cannot be read now: what was seen last stays, and the next change looks again.
    }
  }

  #draw(): void {
    const { ctx } = this.#gate
    try {
      const screen = ctx === undefined ? 'none' : screenOf(ctx)
      if (ctx === undefined || screen === 'none') return
      const isEmpty = this.#isHidden || this.#shown.rows.length === 0
      if (isEmpty) {
        if (this.#redraw !== undefined) ctx.ui.setWidget(name, undefined)
        this.#redraw = undefined
      } else if (screen === 'client') {
        ctx.ui.setWidget(name, this.#clientLines())
        this.#redraw = () => {}
      } else if (this.#redraw === undefined)
        ctx.ui.setWidget(name, (tui, theme) => new Narrow(this.#component(tui, theme)))
      else this.#redraw()
    } catch {
      this.#redraw = undefined // a stale context: the session is being replaced
    }
  }

  #clientLines(): string[] {
    return this.#lines(clientColumns, Number.POSITIVE_INFINITY, (_, text) => text)
  }

  #component(tui: TUI, theme: Theme): Component {
    this.#redraw = () => tui.requestRender()
    return {
      render: (width) => {
        const margin = width < marginFrom ? '' : ' '
        const { rows } = tui.terminal
        const height = Math.floor(Math.min(rows * heightShare, rows - othersLines))
        const paint = (tone: Tone, text: string) => theme.fg(colours[tone], text)
        return this.#lines(width - 2 * margin.length, height, paint, widgetKey).map(
          (line) => margin + line,
        )
      },
      invalidate: () => {},
    }
  }

  #lines(
    width: number,
    height: number,
    paint: (tone: Tone, text: string) => string,
    key?: string,
  ): string[] {
    const space = { width, height, now: this.#clock.now(), paint, ...(key && { key }) }
    return widgetLines(this.#shown.rows, space, this.#shown.isObserving)
  }
}
