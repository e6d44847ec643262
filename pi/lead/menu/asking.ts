import type { ExtensionUIContext } from '@mariozechner/pi-coding-agent'
import { truncateToWidth } from '@mariozechner/pi-tui'
import type { Dialogs } from '../../dialogs.ts'
import { shownLine, shownText } from '../../shown.ts'

/** One line that can be chosen, and what choosing it means. */
export interface Choice<T> {
  readonly label: string
  readonly value: T
}

/** Lines of one page: the host shows a list whole, and a longer one would run out of a small terminal. */
const pageLines = 12
/** Columns the host puts around a line: a margin on either side, and the mark of the chosen one. */
const aroundLine = 4
/** Columns where no terminal says how many it has, as in RPC mode. */
const columnsDefault = 80
/** Longest text above a list, characters. */
const titleCharsMax = 8_192

/** Asks the person by the host's own dialogs, one at a time, until `signal` says that nobody is there any more. */
export class Asking {
  readonly #ui: ExtensionUIContext
  readonly #dialogs: Dialogs
  readonly #signal: AbortSignal

  constructor(ui: ExtensionUIContext, dialogs: Dialogs, signal: AbortSignal) {
    this.#ui = ui
    this.#dialogs = dialogs
    this.#signal = signal
  }

  /** @returns undefined when the person goes back */
  async choose<T>(title: string, choices: readonly Choice<T>[]): Promise<T | undefined> {
    let start = 0
    for (;;) {
      const page = choices.slice(start, start + pageLines)
      const left = choices.length - start - page.length
      const answer = await this.#select<T | 'later' | 'earlier'>(title, [
        ...page,
        ...(left > 0 ? [{ label: `More (${left})…`, value: 'later' as const }] : []),
        ...(start > 0 ? [{ label: 'Back to the ones before…', value: 'earlier' as const }] : []),
      ])
      if (answer === undefined) return undefined
      if (answer.value === 'later' && left > 0) start += pageLines
      else if (answer.value === 'earlier' && start > 0) start -= pageLines
      else return answer.value as T
    }
  }

  async #select<T>(title: string, choices: readonly Choice<T>[]): Promise<Choice<T> | undefined> {
    const byLine = new Map<string, Choice<T>>()
    for (const choice of choices) byLine.set(lineFor(choice.label, byLine), choice)
    const text = shownText(title, titleCharsMax)
    const line = await this.#open(() => this.#ui.select(text, [...byLine.keys()], this.#options))
    return line === undefined ? undefined : byLine.get(line)
  }

  /** @returns undefined when the person goes back, or says nothing */
  async write(title: string, placeholder: string): Promise<string | undefined> {
    const text = await this.#open(() =>
      this.#ui.input(shownText(title), placeholder, this.#options),
    )
    return text?.trim() || undefined
  }

  async confirm(title: string, text: string): Promise<boolean> {
    const answer = await this.#open(() =>
      this.#ui.confirm(shownLine(title), shownText(text, titleCharsMax), this.#options),
    )
    return answer ?? false
  }

  /** Shows a text until the person has read it. */
  async show(text: string): Promise<void> {
    await this.#select(text, [{ label: 'Back', value: undefined }])
  }

  tell(text: string, kind: 'info' | 'warning' | 'error' = 'info'): void {
    if (!this.#signal.aborted) this.#ui.notify(shownText(text), kind)
  }

  get #options() {
    return { signal: this.#signal }
  }

  /** A session that has ended has no screen; its host would refuse to be asked. */
  async #open<T>(open: () => Promise<T | undefined>): Promise<T | undefined> {
    return this.#dialogs.show(async () => (this.#signal.aborted ? undefined : open()))
  }
}

/** One line of the list, no wider than the terminal, and unlike all others: by its text the host says which was chosen. */
function lineFor(label: string, taken: ReadonlyMap<string, unknown>): string {
  const columns = Math.max(1, (process.stdout.columns || columnsDefault) - aroundLine)
  const clean = shownLine(label)
  for (let number = 1; ; number++) {
    const mark = number === 1 ? '' : ` (${number})`
    const line = `${truncateToWidth(clean, Math.max(1, columns - mark.length), '…')}${mark}`
    if (!taken.has(line)) return line
  }
}
