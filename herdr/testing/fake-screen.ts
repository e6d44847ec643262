import xterm from '@xterm/headless'
import type { Scroll } from './fake-records.ts'

export type ReadSource = 'visible' | 'recent' | 'recent_unwrapped' | 'detection'

export interface Reading {
  readonly text: string
  readonly truncated: boolean
}

interface Row {
  readonly text: string
  readonly continues: boolean
}

const defaultRows = 80
const rowsMax = 1000

/** What a terminal shows, and what has scrolled off. */
export class Screen {
  readonly #terminal: xterm.Terminal
  title = ''

  constructor(cols: number, rows: number) {
    this.#terminal = new xterm.Terminal({ cols, rows, scrollback: 10_000, allowProposedApi: true })
    this.#terminal.onTitleChange((title) => {
      this.title = title
    })
  }

  /** Hears what a terminal answers by itself, such as where its cursor is. */
  onReply(listener: (text: string) => void): void {
    this.#terminal.onData(listener)
  }

  write(text: string): void {
    this.#terminal.write(text)
  }

  /** Resolves once everything written so far is on the screen. */
  settled(): Promise<void> {
    return new Promise((resolve) => this.#terminal.write('', resolve))
  }

  resize(cols: number, rows: number): void {
    this.#terminal.resize(cols, rows)
  }

  get wantsMarkedPaste(): boolean {
    return this.#terminal.modes.bracketedPasteMode
  }

  get wantsApplicationArrows(): boolean {
    return this.#terminal.modes.applicationCursorKeysMode
  }

  get isFullScreen(): boolean {
    return this.#terminal.buffer.active.type === 'alternate'
  }

  get scroll(): Scroll {
    const { baseY, viewportY } = this.#terminal.buffer.active
    return {
      offset_from_bottom: baseY - viewportY,
      max_offset_from_bottom: baseY,
      viewport_rows: this.#terminal.rows,
    }
  }

  /** Rows are counted before lines are put together again. */
  read(source: ReadSource, lines?: number, scrolledOnly = false): Reading {
    const { baseY } = this.#terminal.buffer.active
    const isRecent = source === 'recent' || source === 'recent_unwrapped'
    const all = this.#rows(isRecent ? 0 : baseY, isRecent && scrolledOnly ? baseY : undefined)
    const count = isRecent ? Math.min(lines ?? defaultRows, rowsMax) : (lines ?? all.length)
    const rows = count === 0 ? [] : all.slice(-count)
    return {
      text: source === 'recent_unwrapped' ? unwrapped(rows) : rows.map(textOf).join('\n'),
      truncated: rows.length < all.length,
    }
  }

  #rows(from: number, to?: number): Row[] {
    const buffer = this.#terminal.buffer.active
    const rows: Row[] = []
    for (let y = from; y < (to ?? buffer.length); y += 1) {
      const line = buffer.getLine(y)
      rows.push({ text: line?.translateToString(true) ?? '', continues: line?.isWrapped ?? false })
    }
    while (rows.at(-1)?.text === '') rows.pop()
    return rows
  }
}

const textOf = ({ text }: Row): string => text

function unwrapped(rows: readonly Row[]): string {
  return rows.reduce(
    (text, row, index) => text + (index > 0 && !row.continues ? '\n' : '') + row.text,
    '',
  )
}
