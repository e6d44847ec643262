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
    return tail(readActivity(this.#fs, paths)?.lines ?? [], readLog(paths.errorLog).toString())
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

/** The end of what was noted and said: so many lines, of which what was said takes half at most, and so many bytes. */
function tail(noted: readonly string[], log: string): Capture {
  const said = log === '' ? [] : log.replace(/\n$/, '').split('\n')
  const most = limits.captureLinesMax
  const room = noted.length === 0 ? most : Math.max(most / 2, most - noted.length)
  const kept = said.slice(-room)
  const lines = [...noted.slice(-(most - kept.length)), ...kept]
  const bytes = Buffer.from(lines.join('\n'))
  if (bytes.length <= limits.captureBytesMax) return { lines, truncated: false }
  let from = bytes.length - limits.captureBytesMax
  while (((bytes[from] ?? 0) & 0xc0) === 0x80) from++ // the rest of a character that was cut
  return { lines: bytes.subarray(from).toString().split('\n'), truncated: true }
}
