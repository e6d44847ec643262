import { createInterface } from 'node:readline/promises'
import { type Clock, systemClock } from '../../mailbox/index.ts'
import { shownLine } from '../shown.ts'
import { clipped, wrapped } from './width.ts'

/** What was asked for takes so long before a person is told that it goes on, ms. */
const patienceMs = 1_000

export type Colour = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan'

const codes: Readonly<Record<Colour, readonly [number, number]>> = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
}

/** What this command is told about where its words go. */
export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly out: NodeJS.WriteStream
  readonly err: NodeJS.WriteStream
  readonly input: NodeJS.ReadStream
  readonly clock: Clock
}

/** Where the words of this command go: a terminal with a width and colours, or a file with neither. */
export class Terminal {
  readonly #around: Surroundings
  readonly #hasColours: boolean

  constructor(around: Partial<Surroundings> = {}) {
    this.#around = {
      env: process.env,
      out: process.stdout,
      err: process.stderr,
      input: process.stdin,
      clock: systemClock,
      ...around,
    }
    const { env, out } = this.#around
    this.#hasColours = out.isTTY === true && !env['NO_COLOR'] && env['TERM'] !== 'dumb'
  }

  /** Columns of the terminal; endless where it is none, so that programs get whole lines. */
  get columns(): number {
    const { out } = this.#around
    return out.isTTY === true ? out.columns || 80 : Number.POSITIVE_INFINITY
  }

  /** Whether a person can be asked. */
  get canAsk(): boolean {
    return this.#around.input.isTTY === true && this.#around.err.isTTY === true
  }

  /** Prints a line that is clean and short enough already. */
  line(text: string = ''): void {
    this.#around.out.write(`${text}\n`)
  }

  /** Prints text of anybody as one line, cut where the terminal ends. */
  clip(text: string, ...colours: Colour[]): void {
    this.line(this.paint(clipped(shownLine(text), this.columns), ...colours))
  }

  data(value: unknown): void {
    this.line(JSON.stringify(value, undefined, 2))
  }

  /** One JSON value on a line of its own. */
  datum(value: unknown): void {
    this.line(JSON.stringify(value))
  }

  /** Says something that is not the answer itself. Lines that are set in stay whole, to be copied. */
  note(text: string): void {
    const { err } = this.#around
    const columns = err.isTTY === true ? err.columns || 80 : Number.POSITIVE_INFINITY
    const lines = text.split('\n')
    for (const line of lines.flatMap((each) => (/^ /.test(each) ? [each] : wrapped(each, columns))))
      err.write(`${line}\n`)
  }

  paint(text: string, ...colours: Colour[]): string {
    if (!this.#hasColours || text === '') return text
    return colours.reduce((inner, colour) => {
      const [on, off] = codes[colour]
      return `\x1b[${on}m${inner}\x1b[${off}m`
    }, text)
  }

  /** Does some work; when it takes over a second, says on the error output that it goes on, and for how long. */
  async during<T>(what: string, work: () => Promise<T>): Promise<T> {
    const { clock, err } = this.#around
    const began = clock.monotonic()
    let cancel = () => {}
    let isShown = false
    const tick = () => {
      const seconds = Math.floor((clock.monotonic() - began) / 1_000)
      if (err.isTTY === true)
        err.write(`\r\x1b[K${clipped(`${what} (${seconds}s)`, err.columns || 80)}`)
      else if (!isShown) err.write(`${what}\n`)
      isShown = true
      cancel = clock.after(patienceMs, tick)
    }
    cancel = clock.after(patienceMs, tick)
    try {
      return await work()
    } finally {
      cancel()
      if (isShown && err.isTTY === true) err.write('\r\x1b[K')
    }
  }

  /** Whether a person says yes. Anything else is no. */
  async confirm(question: string): Promise<boolean> {
    const { input, err } = this.#around
    const asking = createInterface({ input, output: err })
    try {
      return await new Promise<boolean>((resolve, reject) => {
        asking.once('close', () => resolve(false)) // the end of the input, or ^C
        asking
          .question(`${question} [y/N] `)
          .then((answer) => resolve(/^y(es)?$/i.test(answer.trim())), reject)
      })
    } finally {
      asking.close()
    }
  }
}
