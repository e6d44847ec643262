/** Prints what happens as it happens: elapsed seconds, who, what. Colours only on a terminal. */
export class Timeline {
  readonly #startedMs = performance.now()
  readonly #hasColours: boolean =
    process.stdout.isTTY === true && process.env['NO_COLOR'] === undefined

  get elapsedMs(): number {
    return performance.now() - this.#startedMs
  }

  event(who: string, what: string): void {
    const seconds = (this.elapsedMs / 1_000).toFixed(2).padStart(6)
    console.log(
      `${this.#paint(dim, `${seconds} s`)}  ${this.#paint(bold, who.padEnd(nameWidth))} ${what}`,
    )
  }

  /** A line that belongs to the event above it. */
  under(text: string): void {
    console.log(`${' '.repeat(10)} ${' '.repeat(nameWidth)} ${this.#paint(dim, text)}`)
  }

  heading(text: string): void {
    console.log(`\n${this.#paint(bold, text)}`)
  }

  fact(text: string, isTrue: boolean): void {
    console.log(`  ${isTrue ? this.#paint(green, '✓') : this.#paint(red, '✗')} ${text}`)
  }

  line(text: string): void {
    console.log(`  ${text}`)
  }

  #paint(code: number, text: string): string {
    return this.#hasColours ? `\u001b[${code}m${text}\u001b[0m` : text
  }
}

const nameWidth = 10
const bold = 1
const dim = 2
const red = 31
const green = 32

/** The first line of a text, so much of it as fits. */
export function brief(text: string, length: number = 72): string {
  const line = text.trim().split('\n', 1)[0] ?? ''
  return line.length > length ? `${line.slice(0, length - 1)}…` : line
}
