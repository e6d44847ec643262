import * as pty from '@lydell/node-pty'
import xterm from '@xterm/headless'
import { piCommand, type Sandbox } from '../demo/pi-process.ts'
import { fact } from './support.ts'

export interface TerminalSize {
  readonly cols: number
  readonly rows: number
}

/** A Pi as a person has it before them: in a terminal of its own, with what stands on its screen. */
export class PiTerminal {
  readonly exited: Promise<void>
  #child: pty.IPty | undefined
  readonly #screen: xterm.Terminal

  constructor(place: Sandbox, { cols, rows }: TerminalSize, args: readonly string[] = []) {
    this.#screen = new xterm.Terminal({ cols, rows, scrollback: 5_000, allowProposedApi: true })
    const command = piCommand(args)
    const child = pty.spawn(command.file, [...command.args], {
      cwd: place.project,
      env: defined({ ...place.env, TERM: 'xterm-256color', LANG: 'C.UTF-8' }),
      cols,
      rows,
    })
    this.#child = child
    // The package throws what goes wrong in a pty that ends while it is written to, unless two listen.
    const emitter = child as unknown as { on(event: 'error', listener: () => void): void }
    for (const listener of [() => {}, () => {}]) emitter.on('error', listener)
    child.onData((text) => this.#screen.write(text))
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

  /** Types a line and sends it. Pi takes what comes in one piece for a paste. */
  async enter(text: string): Promise<void> {
    this.type(text)
    await this.shows(text.slice(-15))
    this.type('\r')
  }

  resize(cols: number, rows: number): void {
    this.#screen.resize(cols, rows)
    this.#child?.resize(cols, rows)
  }

  /** What stands on the screen, a line each. */
  get lines(): readonly string[] {
    const { active } = this.#screen.buffer
    return Array.from(
      { length: this.#screen.rows },
      (_, y) => active.getLine(active.baseY + y)?.translateToString(true) ?? '',
    )
  }

  get text(): string {
    return this.lines.join('\n')
  }

  /** The screen, as soon as it shows this. */
  shows(what: string | RegExp): Promise<string> {
    return this.until(`${what}`, (text) =>
      typeof what === 'string' ? text.includes(what) : what.test(text),
    )
  }

  /** The screen, as soon as this is true of it. */
  async until(what: string, isTrue: (text: string) => boolean): Promise<string> {
    try {
      return await fact(`the screen shows ${what}`, () => isTrue(this.text) && this.text, screenMs)
    } catch (error) {
      throw new Error(`${(error as Error).message}; it shows:\n${this.text}`)
    }
  }

  /** Ends it at once. */
  kill(): Promise<void> {
    this.#child?.kill('SIGKILL')
    return this.exited
  }

  /** Ends it as its user would. */
  end(): Promise<void> {
    this.type('\x04')
    return this.exited
  }
}

/** Real Pi processes have to come up before some of it is shown, ms. */
const screenMs = 60_000

/** The package passes what is undefined on as that word. */
const defined = (env: NodeJS.ProcessEnv): Record<string, string> =>
  Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
