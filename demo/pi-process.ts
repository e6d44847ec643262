import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { StringDecoder } from 'node:string_decoder'
import { fileURLToPath } from 'node:url'
import { type ScriptRule, scriptedModel, scriptVariable } from './scripted-model.ts'

const here = dirname(fileURLToPath(import.meta.url))
const packageDirectory = dirname(here)

/**
 * A place of its own for a run: home, agent directory and project, touched by nothing else. The names have spaces in
 * them, as those of people have.
 */
export class Sandbox {
  readonly directory: string
  readonly home: string
  readonly agentDirectory: string
  readonly project: string
  readonly script: string
  /** What processes are told of their surroundings beside the usual. */
  around: NodeJS.ProcessEnv = {}

  constructor(rules: readonly ScriptRule[]) {
    this.directory = mkdtempSync(join(tmpdir(), 'drover-'))
    this.home = join(this.directory, 'home')
    this.agentDirectory = join(this.directory, 'agent dir')
    this.project = join(this.directory, 'my repo')
    this.script = join(this.directory, 'script.json')
    for (const path of [this.home, this.agentDirectory, this.project])
      mkdirSync(path, { mode: 0o700 })
    this.rules = rules
  }

  /** What the model says from the next start of a process on. */
  set rules(rules: readonly ScriptRule[]) {
    writeFileSync(this.script, JSON.stringify(rules))
  }

  /** Writes a file of the project. */
  write(name: string, text: string): void {
    writeFileSync(join(this.project, name), text)
  }

  get env(): NodeJS.ProcessEnv {
    return {
      PATH: process.env['PATH'],
      HOME: this.home,
      TMPDIR: process.env['TMPDIR'],
      TERM: 'dumb',
      PI_CODING_AGENT_DIR: this.agentDirectory,
      PI_OFFLINE: '1',
      PI_TELEMETRY: '0',
      NO_PROXY: '127.0.0.1,localhost',
      [scriptVariable]: this.script,
      ...this.around,
    }
  }
}

/** The host: the one this package has, or the one a test lane names. */
const host = {
  node: process.env['DROVER_TEST_NODE'] ?? process.execPath,
  cli:
    process.env['DROVER_TEST_PI'] ??
    join(dirname(fileURLToPath(import.meta.resolve('@mariozechner/pi-coding-agent'))), 'cli.js'),
}

/** The command line of the host with Drover and the scripted model; `args` name its mode and the rest. */
export function piCommand(args: readonly string[] = []): {
  readonly file: string
  readonly args: readonly string[]
} {
  const extensions = ['-e', packageDirectory, '-e', join(here, 'scripted-model.ts')]
  return { file: host.node, args: [host.cli, '--model', scriptedModel, ...extensions, ...args] }
}

/** Starts the host in a sandbox with Drover and the scripted model; `args` name its mode and the rest. */
export function spawnPi(
  sandbox: Sandbox,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): ChildProcessWithoutNullStreams {
  const command = piCommand(args)
  return spawn(command.file, command.args, {
    cwd: sandbox.project,
    env: { ...sandbox.env, ...env },
    stdio: 'pipe',
  })
}

export interface PiEvent {
  readonly type: string
  readonly [field: string]: unknown
}

export interface PiOptions {
  readonly sandbox: Sandbox
  /** Opens this session file; a new one without it. */
  readonly session?: string
  /** Extensions beside Drover and the scripted model. */
  readonly extensions?: readonly string[]
  readonly args?: readonly string[]
  readonly env?: NodeJS.ProcessEnv
}

/** Between two looks for a fact, ms. */
const pollMs = 20

/** A real Pi in RPC mode, driven line by line. */
export class PiProcess {
  readonly events: PiEvent[] = []
  /** Sees every event as it comes. */
  onEvent: (event: PiEvent) => void = () => {}
  readonly exited: Promise<number | NodeJS.Signals>
  readonly #child: ChildProcessWithoutNullStreams
  readonly #listeners = new Set<() => void>()
  #stderr = ''
  #isOver = false

  constructor(options: PiOptions) {
    const { sandbox, session, extensions = [], args = [], env } = options
    this.#child = spawnPi(
      sandbox,
      [
        ...['--mode', 'rpc'],
        ...extensions.flatMap((path) => ['-e', path]),
        ...(session === undefined ? [] : ['--session', session]),
        ...args,
      ],
      env,
    )
    this.#readLines()
    this.#child.stderr.on('data', (text) => {
      this.#stderr += text
    })
    this.exited = new Promise((resolve) => {
      this.#child.on('exit', (code, signal) => {
        this.#isOver = true
        this.#tell()
        resolve(signal ?? code ?? 0)
      })
    })
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  /** Sends one command. Its answer is an event of type `response`. */
  send(command: Record<string, unknown>): void {
    this.#child.stdin.write(`${JSON.stringify(command)}\n`)
  }

  prompt(message: string): void {
    this.send({ type: 'prompt', message })
  }

  /** Sends a command and waits for its answer. */
  async request(
    type: string,
    more: Record<string, unknown> = {},
  ): Promise<Record<string, unknown>> {
    const id = `${type}-${this.events.length}-${Math.round(performance.now())}`
    this.send({ id, type, ...more })
    const answer = await this.event((event) => event.type === 'response' && event['id'] === id)
    return answer['data'] as Record<string, unknown>
  }

  /** The first event, past or to come, of which this is true. */
  async event(isIt: (event: PiEvent) => boolean, timeoutMs: number = 60_000): Promise<PiEvent> {
    const found = await this.until(() => this.events.find(isIt), timeoutMs)
    return found
  }

  /** Waits for a fact about this process. Fails when the process ends, or takes too long. */
  until<T>(fact: () => T | undefined | false, timeoutMs: number = 60_000): Promise<T> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => end(new Error(`Pi took over ${timeoutMs} ms. ${this.#state()}`)),
        timeoutMs,
      )
      const look = () => {
        const value = fact()
        if (value !== undefined && value !== false) {
          end()
          resolve(value)
        } else if (this.#isOver) end(new Error(`Pi ended. ${this.#state()}`))
      }
      const end = (error?: Error) => {
        clearTimeout(timer)
        clearInterval(poll)
        this.#listeners.delete(look)
        if (error !== undefined) reject(error)
      }
      const poll = setInterval(look, pollMs) // the fact may be one of the world outside
      this.#listeners.add(look)
      look()
    })
  }

  kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<number | NodeJS.Signals> {
    this.#child.kill(signal)
    return this.exited
  }

  /** Ends it as its user would: the input closes, it says goodbye. */
  close(): Promise<number | NodeJS.Signals> {
    this.#child.stdin.end()
    return this.exited
  }

  #readLines(): void {
    const decoder = new StringDecoder('utf8')
    let rest = ''
    this.#child.stdout.on('data', (bytes: Buffer) => {
      const lines = (rest + decoder.write(bytes)).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        // Each update repeats the whole message so far: not worth its parsing.
        if (line === '' || line.startsWith('{"type":"message_update"')) continue
        const event = JSON.parse(line) as PiEvent
        this.events.push(event)
        this.onEvent(event)
      }
      this.#tell()
    })
  }

  #tell(): void {
    for (const listener of this.#listeners) listener()
  }

  #state(): string {
    const last = this.events.slice(-3).map((event) => JSON.stringify(event).slice(0, 300))
    return `stderr: ${this.#stderr.slice(-2_000)}\nlast events:\n${last.join('\n')}`
  }
}
