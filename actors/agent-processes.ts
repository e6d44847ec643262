import { type Clock, limits, type Processes, type ProcessIdentity } from '../mailbox/index.ts'
import type { AgentPlace, AgentProcess, Stopped } from './ports.ts'

/** Marks all processes of one generation, so that they can be found when their parent is gone. No authority. */
export const generationVariable = 'DROVER_AGENT'

/** Between two looks at a process that was asked to end, ms. */
const lookMs = 50

/** The processes of agents, as the process table of this machine has them: for every runner whose agents have some. */
export class AgentProcesses {
  readonly #processes: Processes
  readonly #clock: Clock

  constructor(processes: Processes, clock: Clock) {
    this.#processes = processes
    this.#clock = clock
  }

  /** Whether a mark that is not found proves anything. */
  get seesMarks(): boolean {
    return this.#processes.seesMarks
  }

  /** The agent's process and those below it, with what each runs. */
  of(place: AgentPlace): readonly AgentProcess[] {
    return this.#identities(place).map((process) => {
      const command = this.#processes.command(process)
      return { ...process, ...(command !== undefined && { command }) }
    })
  }

  /** Whether some process that was started as this generation lives; one whose environment is closed to us does not count. */
  isMarked(generation: string): boolean {
    return this.#processes.marked({ variable: generationVariable, value: generation }).length > 0
  }

  /**
   * Ends an agent's process and what it started: asks, waits, forces, and proves it gone. Repeating it is harmless.
   * Signals nothing whose identity is not proven.
   */
  async end(place: AgentPlace): Promise<Stopped> {
    const { process } = place.placement
    // Its starter may have died before it could record it.
    if (process === undefined) return this.endMarked(place.generation.identity.generation)
    if (this.#processes.presence(process) === 'unknown')
      return {
        outcome: 'unproven',
        why: `process ${process.pid} belongs to another machine or container`,
      }
    // Listed before it is ended: children of a killed process belong to nobody.
    const below = this.#identities(place).filter(({ pid }) => pid !== process.pid)
    const ended: ProcessIdentity[] = []
    if (!(await this.#endOne(process, ended)))
      return { outcome: 'unproven', why: `process ${process.pid} did not end when killed` }
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

  /** Ends, in the same way, what bears the mark of a generation that has named no process. */
  async endMarked(generation: string): Promise<Stopped> {
    const ended: ProcessIdentity[] = []
    const mark = { variable: generationVariable, value: generation }
    for (const process of this.#processes.marked(mark))
      if (!(await this.#endOne(process, ended)))
        return { outcome: 'unproven', why: `process ${process.pid} did not end when killed` }
    return { outcome: 'gone', ended }
  }

  /** @param ended what was asked to end, added to */
  async #endOne(process: ProcessIdentity, ended: ProcessIdentity[]): Promise<boolean> {
    if (this.#processes.signal(process, 'SIGTERM') === 'sent') ended.push(process)
    if (await this.#goneWithin(process, limits.stopGraceMs)) return true
    this.#processes.signal(process, 'SIGKILL')
    return this.#goneWithin(process, limits.stopGraceMs)
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

  async #goneWithin(process: ProcessIdentity, timeoutMs: number): Promise<boolean> {
    const deadline = this.#clock.monotonic() + timeoutMs
    for (;;) {
      if (this.#processes.presence(process) === 'gone') return true
      if (this.#clock.monotonic() >= deadline) return false
      await new Promise<void>((resolve) => this.#clock.after(lookMs, resolve))
    }
  }
}

function unique(processes: readonly ProcessIdentity[]): ProcessIdentity[] {
  return [
    ...new Map(processes.map((process) => [`${process.pid} ${process.started}`, process])).values(),
  ]
}
