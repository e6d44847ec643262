import * as pty from '@lydell/node-pty'
import xterm from '@xterm/headless'
import { hostCommand, type Sandbox } from '../demo/pi-process.ts'
import { fact } from './support.ts'

/** What a person sees of a Pi in a terminal of its own, and what they press. */
export class PiTerminal {
  readonly #pty: pty.IPty
  readonly #screen: xterm.Terminal
  readonly exited: Promise<void>

  constructor(
    place: Sandbox,
    args: readonly string[],
    { cols, rows }: { readonly cols: number; readonly rows: number },
  ) {
    const [file, ...rest] = hostCommand(args)
    this.#screen = new xterm.Terminal({ cols, rows, scrollback: 5_000, allowProposedApi: true })
    this.#pty = pty.spawn(file as string, rest, {
      cwd: place.project,
      env: JSON.parse(JSON.stringify({ ...place.env, TERM: 'xterm-256color' })), // without what is undefined
      cols,
      rows,
    })
    this.#pty.onData((text) => this.#screen.write(text))
    this.#screen.onData((text) => this.#pty.write(text)) // what a terminal answers by itself
    this.exited = new Promise((resolve) => this.#pty.onExit(() => resolve()))
  }

  type(text: string): void {
    this.#pty.write(text)
  }

  /** Types a line and sends it. Pi takes what comes in one piece for a paste. */
  async enter(text: string): Promise<void> {
    this.type(text)
    await this.shows(text.slice(-15))
    this.type('\r')
  }

  resize(cols: number, rows: number): void {
    this.#screen.resize(cols, rows)
    this.#pty.resize(cols, rows)
  }

  get lines(): readonly string[] {
    const { buffer, rows } = this.#screen
    return Array.from({ length: rows }, (_, y) => {
      const line = buffer.active.getLine(buffer.active.viewportY + y)
      return line?.translateToString(true) ?? ''
    })
  }

  get text(): string {
    return this.lines.join('\n')
  }

  /** Waits until the screen shows this, and returns it. */
  async shows(what: string | RegExp, timeoutMs?: number): Promise<string> {
    const isShown = () =>
      typeof what === 'string' ? this.text.includes(what) : what.test(this.text)
    try {
      await fact(`the screen shows ${what}`, isShown, timeoutMs)
    } catch (error) {
      throw new Error(`${(error as Error).message}\n${this.text}`)
    }
    return this.text
  }

  /** Ends it at once. */
  kill(): Promise<void> {
    this.#pty.kill('SIGKILL')
    return this.exited
  }
}
