import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import {
  type AgentPlace,
  type AgentProcess,
  type AgentRunner,
  type Capture,
  type Presence,
  presenceIn,
  type StartOrder,
  type Stopped,
} from '../../actors/index.ts'
import {
  type Clock,
  type GenerationPaths,
  limits,
  type MailboxFs,
  type Placement,
  type Processes,
  type ProcessIdentity,
  readActivity,
} from '../../mailbox/index.ts'
import { generationVariable, type Launch } from '../launch.ts'

/** Between two looks at a process that was asked to end, ms. */
const lookMs = 50

/** Agents as detached processes without a terminal. They outlive their lead and end themselves. */
export class HeadlessRunner implements AgentRunner<Launch> {
  readonly name = 'headless'
  readonly #fs: MailboxFs
  readonly #processes: Processes
  readonly #clock: Clock
  readonly #listeners = new Set<() => void>()

  constructor(fs: MailboxFs, processes: Processes, clock: Clock) {
    this.#fs = fs
    this.#processes = processes
    this.#clock = clock
  }

  async start({ generation, paths, launch }: StartOrder<Launch>): Promise<Placement> {
    const { command, args, cwd, env, files } = launch(generation, paths)
    for (const { path, text } of files) writeFileSync(path, text, { mode: 0o600, flag: 'wx' })
    const log = openSync(paths.errorLog, 'a', 0o600)
    let child: ChildProcess
    try {
      child = spawn(command, args, {
        cwd,
        env,
        detached: true, // its own session: neither our end nor our terminal reaches it
        stdio: ['ignore', 'ignore', log],
      })
      await spawned(child)
    } finally {
      closeSync(log)
    }
    child.once('exit', () => this.#notify())
    child.unref()
    const process = child.pid === undefined ? undefined : this.#processes.identify(child.pid)
    if (process === undefined) {
      child.kill('SIGKILL') // by the handle of our own child: it can be no other process
      throw new Error('its process ended at once, or cannot be told from others')
    }
    return { runner: this.name, process }
  }

  async observe({ placement }: AgentPlace): Promise<Presence> {
    return presenceIn(this.#processes, placement.process)
  }

  /** What the agent notes of its own work, then what it said on its error output. */
  async capture({ paths }: { readonly paths: GenerationPaths }): Promise<Capture> {
    const noted = readActivity(this.#fs, paths)?.lines.join('\n') ?? ''
    return tail(
      Buffer.concat([Buffer.from(noted === '' ? '' : `${noted}\n`), readLog(paths.errorLog)]),
    )
  }

  async processes(place: AgentPlace): Promise<readonly AgentProcess[]> {
    return this.#identities(place).map((process) => {
      const command = this.#processes.command(process)
      return { ...process, ...(command !== undefined && { command }) }
    })
  }

  #identities({ placement, generation }: AgentPlace): readonly ProcessIdentity[] {
    if (placement.process === undefined) return []
    const mark = { variable: generationVariable, value: generation.identity.generation }
    const isLive = this.#processes.presence(placement.process) === 'live'
    return unique([
      ...(isLive ? [placement.process] : []),
      // Agents this agent has started are its children too, but theirs to end: with their own mailbox.
      ...this.#processes.descendants(placement.process, mark),
      ...this.#processes.marked(mark),
    ])
  }

  async focus(): Promise<'unsupported'> {
    return 'unsupported'
  }

  async stop(place: AgentPlace): Promise<Stopped> {
    const { process } = place.placement
    if (process === undefined)
      return { outcome: 'unproven', why: 'where its process is was never recorded' }
    if (this.#processes.presence(process) === 'unknown')
      return {
        outcome: 'unproven',
        why: `process ${process.pid} belongs to another machine or container`,
      }
    // Listed before it is ended: children of a killed process belong to nobody.
    const below = this.#identities(place).filter(({ pid }) => pid !== process.pid)
    const ended: ProcessIdentity[] = []
    if (this.#processes.signal(process, 'SIGTERM') === 'sent') ended.push(process)
    if (!(await this.#goneWithin(process, limits.stopGraceMs))) {
      this.#processes.signal(process, 'SIGKILL')
      if (!(await this.#goneWithin(process, limits.stopGraceMs)))
        return { outcome: 'unproven', why: `process ${process.pid} did not end when killed` }
    }
    for (const child of unique([...below, ...this.#identities(place)])) {
      if (this.#processes.signal(child, 'SIGKILL') === 'sent') ended.push(child)
      if (!(await this.#goneWithin(child, limits.stopGraceMs)))
        return {
          outcome: 'unproven',
          why: `its child process ${child.pid} did not end when killed`,
        }
    }
    return { outcome: 'gone', ended }
  }

  /** Headless agents are found by their mailboxes; nothing else lists them. */
  async inventory(): Promise<readonly Placement[]> {
    return []
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #notify(): void {
    for (const listener of this.#listeners) listener()
  }

  async #goneWithin(process: ProcessIdentity, timeoutMs: number): Promise<boolean> {
    const deadline = this.#clock.monotonic() + timeoutMs
    for (;;) {
      if (this.#processes.presence(process) === 'gone') return true
      if (this.#clock.monotonic() >= deadline) return false
      await new Promise<void>((resolve) => this.#clock.after(lookMs, resolve))
    }
  }
}

function spawned(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('spawn', resolve)
    child.once('error', (error) => reject(new Error(`it could not be started: ${error.message}`)))
  })
}

function unique(processes: readonly ProcessIdentity[]): ProcessIdentity[] {
  return [
    ...new Map(processes.map((process) => [`${process.pid} ${process.started}`, process])).values(),
  ]
}

function readLog(file: string): Buffer {
  try {
    return readFileSync(file)
  } catch {
    return Buffer.alloc(0)
  }
}

/** The end of what was said: so many lines, so many bytes, cut between characters. */
function tail(bytes: Buffer): Capture {
  if (bytes.length === 0) return { lines: [], truncated: false }
  const truncated = bytes.length > limits.captureBytesMax
  let from = truncated ? bytes.length - limits.captureBytesMax : 0
  while (((bytes[from] ?? 0) & 0xc0) === 0x80) from++ // the rest of a character that was cut
  const lines = bytes.subarray(from).toString().replace(/\n$/, '').split('\n')
  return { lines: lines.slice(-limits.captureLinesMax), truncated }
}
