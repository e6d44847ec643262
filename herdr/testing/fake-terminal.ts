import { statSync } from 'node:fs'
import * as pty from '@lydell/node-pty'
import { newTerminalId } from './fake-ids.ts'
import {
  describe,
  isAlive,
  type ProcessDetail,
  type ProcessRow,
  processRow,
  processRows,
  sessionMembers,
  signal,
} from './fake-processes.ts'
import { Screen } from './fake-screen.ts'

export interface TerminalPlan {
  readonly argv: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly cols: number
  readonly rows: number
}

export interface Foreground {
  readonly group: number
  readonly processes: readonly ProcessDetail[]
}

const signalsApartMs = 250
const lookMs = 10

/** One pty with the process that was started in it, or a process of someone else. */
export class Terminal {
  id: string = newTerminalId()
  readonly screen: Screen
  /** Exactly these arguments were run, without a shell. */
  readonly startedAt: number = performance.now()
  /** Resolves when the direct child has ended. */
  readonly gone: Promise<void>
  readonly isOurs: boolean
  #pid: number | undefined
  #pty: pty.IPty | undefined
  #isGone = false
  #markGone: () => void = () => {}

  private constructor(screen: Screen, pid: number | undefined, child?: pty.IPty) {
    this.screen = screen
    this.#pid = pid
    this.#pty = child
    this.isOurs = child !== undefined
    this.gone = new Promise((resolve) => {
      this.#markGone = () => {
        this.#isGone = true
        resolve()
      }
    })
  }

  static start(plan: TerminalPlan): Terminal {
    const { argv, env, cols, rows } = plan
    const [file = '/bin/sh', ...args] = argv
    const cwd = isDirectory(plan.cwd) ? plan.cwd : (env['HOME'] ?? '/')
    const child = pty.spawn(file, args, { cwd, env, cols, rows })
    const terminal = new Terminal(new Screen(cols, rows), child.pid, child)
    ignoreErrors(child)
    child.onData((text) => terminal.screen.write(text))
    terminal.screen.onReply((text) => terminal.write(text))
    child.onExit(() => {
      terminal.#pty = undefined
      terminal.#markGone()
    })
    return terminal
  }

  /** A terminal in which a process of someone else is the shell. It shows nothing and hears nothing. */
  static adopt(pid: number | undefined, cols: number, rows: number): Terminal {
    return new Terminal(new Screen(cols, rows), pid)
  }

  get pid(): number | undefined {
    return this.#pid
  }

  /** Names the process of an adopted terminal. */
  bind(pid: number): void {
    if (!this.isOurs) this.#pid = pid
  }

  /** For adopted processes, whose end nobody reports. */
  look(): void {
    if (!this.isOurs && this.#pid !== undefined && !isAlive(this.#pid)) this.#markGone()
  }

  write(text: string): void {
    if (!this.#isGone) this.#pty?.write(text)
  }

  resize(cols: number, rows: number): void {
    if (this.#isGone) return
    this.screen.resize(cols, rows)
    try {
      this.#pty?.resize(cols, rows)
    } catch {
      // its child is ending
    }
  }

  /** Who runs in the foreground; where that cannot be seen, the direct child alone. */
  foreground(rows: readonly ProcessRow[] = processRows()): Foreground | undefined {
    if (this.#pid === undefined) return undefined
    const row = processRow(this.#pid)
    const group = row?.terminalGroup ?? -1
    if (row === undefined || group <= 0)
      return { group: row?.group ?? this.#pid, processes: [describe(this.#pid)] }
    const members = rows.filter((each) => each.group === group)
    return { group, processes: members.map(({ pid }) => describe(pid)) }
  }

  /** True while nothing but the direct child is in the foreground. */
  get isAtPrompt(): boolean {
    if (this.#pid === undefined || !this.isOurs) return false
    const row = processRow(this.#pid)
    return row === undefined || row.terminalGroup === row.group
  }

  /** Ends every process of the session: SIGHUP, SIGTERM, SIGKILL. A child in a session of its own survives. */
  async end(): Promise<void> {
    for (const name of ['SIGHUP', 'SIGTERM', 'SIGKILL'] as const) {
      const members = this.members()
      if (members.length === 0) break
      for (const pid of members) signal(pid, name)
      await this.#until(() => this.members().length === 0, signalsApartMs)
    }
    if (!this.isOurs) this.#markGone()
  }

  /** The processes that end with this terminal. Never the process that runs this server. */
  members(): readonly number[] {
    const pid = this.#pid
    if (pid === undefined || pid === process.pid) return []
    if (this.isOurs) return sessionMembers(pid)
    if (!isAlive(pid)) return []
    return processRow(pid)?.session === pid ? sessionMembers(pid) : [pid]
  }

  async #until(isTrue: () => boolean, withinMs: number): Promise<void> {
    const deadline = performance.now() + withinMs
    while (!isTrue() && performance.now() < deadline)
      await new Promise((resolve) => setTimeout(resolve, lookMs))
  }
}

export function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}

/** The package throws an error of a pty that ends while it is written to, unless two listen. */
function ignoreErrors(child: pty.IPty): void {
  const emitter = child as unknown as { on(name: 'error', listener: () => void): void }
  emitter.on('error', () => {})
  emitter.on('error', () => {})
}
