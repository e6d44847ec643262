import { limits, type Placement, type ProcessIdentity } from '../../mailbox/index.ts'
import {
  type AgentPlace,
  type AgentProcess,
  type AgentRunner,
  type Capture,
  type Presence,
  presenceIn,
  type StartOrder,
  type Stopped,
} from '../index.ts'
import type { Fate } from './fates.ts'
import type { Machine, VirtualProcess } from './machine.ts'

/** Marks an agent's process, so that it can be found. */
export const generationVariable = 'DROVER_AGENT'

/** What the commands of its agents are. */
export const shellCommand = 'sleep 999'

/** What a runner needs of the world it starts agents in. */
export interface Stage {
  readonly machine: Machine
  /** What agents' processes have said, by generation. Outlives them. */
  readonly screens: Map<string, string[]>
  /** Lets an agent live its life in its process. */
  readonly play: (process: VirtualProcess, order: StartOrder<Fate>) => void
}

/** Between two looks at a process that was asked to end, ms. */
const lookMs = 50

/** Agents as processes of a virtual machine, each with the fate it was started with. */
export class FakeRunner implements AgentRunner<Fate> {
  readonly name: string
  readonly #stage: Stage
  /** The process whose runner this is. */
  readonly #process: VirtualProcess

  constructor(stage: Stage, process: VirtualProcess, name = 'fake') {
    this.#stage = stage
    this.#process = process
    this.name = name
  }

  async start(order: StartOrder<Fate>): Promise<Placement> {
    this.#process.mustLive()
    const { generation, launch } = order
    const screen = [...(launch.says ?? [])]
    this.#stage.screens.set(generation.identity.generation, screen)
    if (launch.start === 'cannot-start') throw new Error(`it could not be started: ${launch.says}`)
    const env = { [generationVariable]: generation.identity.generation, RUNNER: this.name }
    const ignoresTerm = launch.ignoresTerm ?? false
    const child = this.#stage.machine.spawn({
      ...{ parent: this.#process, env, ignoresTerm },
      command: 'pi',
    })
    for (let count = 0; count < (launch.commands ?? 0); count++)
      this.#stage.machine.spawn({ parent: child, env, command: shellCommand })
    this.#stage.play(child, order)
    return { runner: this.name, process: child.identity }
  }

  async observe({ placement }: AgentPlace): Promise<Presence> {
    this.#process.mustLive()
    return presenceIn(this.#process.processes, placement.process)
  }

  async capture({ generation }: Omit<AgentPlace, 'placement'>): Promise<Capture> {
    const screen = this.#stage.screens.get(generation.identity.generation) ?? []
    return tail(screen.slice(-limits.captureLinesMax))
  }

  async processes(place: AgentPlace): Promise<readonly AgentProcess[]> {
    const { processes } = this.#process
    return this.#identities(place).map((process) => {
      const command = processes.command(process)
      return { ...process, ...(command !== undefined && { command }) }
    })
  }

  #identities({ placement, generation }: AgentPlace): readonly ProcessIdentity[] {
    const { process } = placement
    if (process === undefined) return []
    const { processes } = this.#process
    const mark = { variable: generationVariable, value: generation.identity.generation }
    const found = [
      ...(processes.presence(process) === 'live' ? [process] : []),
      ...processes.descendants(process, mark),
      ...processes.marked(mark),
    ]
    return [...new Map(found.map((each) => [each.pid, each])).values()]
  }

  async focus(): Promise<'unsupported'> {
    return 'unsupported'
  }

  async stop(place: AgentPlace): Promise<Stopped> {
    const { process } = place.placement
    if (process === undefined)
      return { outcome: 'unproven', why: 'where its process is was never recorded' }
    const { processes } = this.#process
    if (processes.presence(process) === 'unknown')
      return { outcome: 'unproven', why: `process ${process.pid} belongs to another machine` }
    const below = this.#identities(place).filter(({ pid }) => pid !== process.pid)
    const ended: ProcessIdentity[] = []
    if (processes.signal(process, 'SIGTERM') === 'sent') ended.push(process)
    if (!(await this.#goneWithin(process, limits.stopGraceMs))) processes.signal(process, 'SIGKILL')
    for (const child of below) if (processes.signal(child, 'SIGKILL') === 'sent') ended.push(child)
    return { outcome: 'gone', ended }
  }

  async inventory(): Promise<readonly Placement[]> {
    const { machine } = this.#stage
    return machine.living
      .filter(({ env, parent }) => env['RUNNER'] === this.name && parent === undefined)
      .map(({ identity }) => ({ runner: this.name, process: identity }))
  }

  onChange(listener: () => void): () => void {
    return this.#stage.machine.onEnd((ended) => {
      if (ended.env['RUNNER'] !== this.name) return
      queueMicrotask(() => {
        if (this.#process.isAlive) listener()
      })
    })
  }

  async #goneWithin(process: ProcessIdentity, timeoutMs: number): Promise<boolean> {
    const { clock, processes } = this.#process
    const deadline = clock.monotonic() + timeoutMs
    while (processes.presence(process) !== 'gone') {
      if (clock.monotonic() >= deadline) return false
      await new Promise<void>((resolve) => clock.after(lookMs, resolve))
    }
    return true
  }
}

/** The last of some lines, as many as the limit of bytes allows. */
function tail(lines: readonly string[]): Capture {
  const kept: string[] = []
  let bytesLeft: number = limits.captureBytesMax
  for (const line of lines.toReversed()) {
    bytesLeft -= Buffer.byteLength(line) + 1
    if (bytesLeft < 0) return { lines: kept, truncated: true }
    kept.unshift(line)
  }
  return { lines: kept, truncated: false }
}
