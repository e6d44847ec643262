import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync, writeFileSync } from 'node:fs'
import {
  type AgentPlace,
  type AgentProcess,
  AgentProcesses,
  type AgentRunner,
  type Capture,
  type Launch,
  notedAndSaid,
  type Presence,
  presenceIn,
  type StartOrder,
  type Stopped,
} from '../../actors/index.ts'
import type {
  Clock,
  GenerationPaths,
  MailboxFs,
  Placement,
  Processes,
} from '../../mailbox/index.ts'

/** Agents as detached processes without a terminal. They outlive their lead and end themselves. */
export class HeadlessRunner implements AgentRunner<Launch> {
  readonly name = 'headless'
  readonly agentsLeave = true
  readonly #fs: MailboxFs
  readonly #processes: Processes
  readonly #agents: AgentProcesses
  readonly #listeners = new Set<() => void>()

  constructor(fs: MailboxFs, processes: Processes, clock: Clock) {
    this.#fs = fs
    this.#processes = processes
    this.#agents = new AgentProcesses(processes, clock)
  }

  async start({ generation, paths, launch }: StartOrder<Launch>): Promise<Placement> {
    const { command, args, cwd, env, files } = launch(generation, paths, 'none')
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
    return notedAndSaid(this.#fs, paths)
  }

  async processes(place: AgentPlace): Promise<readonly AgentProcess[]> {
    return this.#agents.of(place)
  }

  async focus(): Promise<'unsupported'> {
    return 'unsupported'
  }

  stop(place: AgentPlace): Promise<Stopped> {
    return this.#agents.end(place)
  }

  pane(): undefined {
    return undefined
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #notify(): void {
    for (const listener of this.#listeners) listener()
  }
}

function spawned(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('spawn', resolve)
    child.once('error', (error) => reject(new Error(`it could not be started: ${error.message}`)))
  })
}
