import * as pty from '@lydell/node-pty'
import xterm from '@xterm/headless'
import { piCommand, type Sandbox } from '../demo/pi-process.ts'
import { fact } from './support.ts'

export interface TerminalSize {
  readonly cols: number
  readonly rows: number
}

/** A Pi as a person has it before them: in a terminal of its own, with what stands on its screen. */
export class LeadTerminal {
  readonly exited: Promise<void>
  #child: pty.IPty | undefined
  readonly #screen: xterm.Terminal
  /** How often it has written to its terminal. */
  writes = 0

  constructor(place: Sandbox, { cols, rows }: TerminalSize, args: readonly string[] = []) {
    this.#screen = new xterm.Terminal({ cols, rows, scrollback: 5_000, allowProposedApi: true })
    const { file, args: all } = piCommand(args)
    const env = { ...place.env, TERM: 'xterm-256color', LANG: 'C.UTF-8' } as Record<string, string>
    const child = pty.spawn(file, [...all], { cwd: place.project, env, cols, rows })
    this.#child = child
    // The package throws what goes wrong in a pty that ends while it is written to, unless two listen.
    const emitter = child as unknown as { on(event: 'error', listener: () => void): void }
    for (const listener of [() => {}, () => {}]) emitter.on('error', listener)
    child.onData((text) => {
      this.writes += 1
      this.#screen.write(text)
    })
    this.#screen.onData((text) => this.type(text)) // what a terminal answers by itself
    this.exited = new Promise((resolve) => {
      child.onExit(() => {
        this.#child = undefined
        resolve()
      })
    })
  }

  /** Types this, key by key, as it is. */
  type(keys: string): void {
    this.#child?.write(keys)
  }

  /** Types a line and sends it. */
  say(line: string): void {
    this.type(`${line}\r`)
  }

  resize(cols: number, rows: number): void {
    this.#screen.resize(cols, rows)
    this.#child?.resize(cols, rows)
  }

  /** What stands on the screen, a line each. */
  get lines(): string[] {
    const { active } = this.#screen.buffer
    return Array.from(
      { length: this.#screen.rows },
      (_, y) => active.getLine(active.baseY + y)?.translateToString(true) ?? '',
    )
  }

  get text(): string {
    return this.lines.join('\n')
  }

  /** The screen, as soon as this is true of it. */
  async shows(what: string | RegExp, isTrue?: (text: string) => boolean): Promise<string> {
    const isThere =
      isTrue ?? ((text) => (typeof what === 'string' ? text.includes(what) : what.test(text)))
    try {
      return await fact(`the screen shows ${what}`, () => isThere(this.text) && this.text)
    } catch (error) {
      throw new Error(`${(error as Error).message}; it shows:\n${this.text}`)
    }
  }

  /** Ends it as its user would. */
  async end(): Promise<void> {
    this.type('\x04')
    await this.exited
  }
}
