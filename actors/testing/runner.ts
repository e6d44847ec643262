import type { Placement } from '../../mailbox/index.ts'
import {
  type AgentPlace,
  type AgentProcess,
  AgentProcesses,
  type AgentRunner,
  type AgentTrace,
  type Capture,
  generationVariable,
  lastLines,
  type Presence,
  presenceIn,
  type StartOrder,
} from '../index.ts'
import type { Fate } from './fates.ts'
import type { Machine, VirtualProcess } from './machine.ts'

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

/** Agents as processes of a virtual machine, each with the fate it was started with. */
export class FakeRunner implements AgentRunner<Fate> {
  readonly name: string
  readonly agentsLeave = true
  readonly #stage: Stage
  /** The process whose runner this is. */
  readonly #process: VirtualProcess
  readonly #agents: AgentProcesses

  constructor(stage: Stage, process: VirtualProcess, name = 'fake') {
    this.#stage = stage
    this.#process = process
    this.#agents = new AgentProcesses(process.processes, process.clock)
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

  async capture({ generation }: AgentTrace): Promise<Capture> {
    return lastLines(this.#stage.screens.get(generation.identity.generation) ?? [])
  }

  async processes(place: AgentPlace): Promise<readonly AgentProcess[]> {
    return this.#agents.of(place)
  }

  async focus(): Promise<'unsupported'> {
    return 'unsupported'
  }

  stop: AgentRunner['stop'] = (place) => this.#agents.end(place)

  pane(): undefined {
    return undefined
  }

  onChange(listener: () => void): () => void {
    return this.#stage.machine.onEnd((ended) => {
      if (ended.env['RUNNER'] !== this.name) return
      queueMicrotask(() => {
        if (this.#process.isAlive) listener()
      })
    })
  }
}
