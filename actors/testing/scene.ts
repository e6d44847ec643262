import { limits, protocol, publishReady, startRuntime } from '../../mailbox/index.ts'
import type { AgentProgram } from './agent-program.ts'
import { completes, type Fate, hangs, neverReady } from './fates.ts'
import { type Lead, World } from './world.ts'

export type SceneFate =
  | 'hangs'
  | 'quick'
  | 'deaf'
  | 'neverReady'
  | 'slowStart'
  | 'lingers'
  | 'parent'
  | 'deafParent'
  | 'parentOfUnready'

/** Fates of agents, by name, so that a failing run can be read. */
const fates: Readonly<Record<SceneFate, Fate>> = {
  hangs: hangs(),
  quick: completes('quick', { workMs: 300 }),
  deaf: hangs({ isDeaf: true, ignoresTerm: true }),
  neverReady: neverReady(),
  /** Its runner takes its time. */
  slowStart: hangs(),
  /** Stays when it has nothing left to do. */
  lingers: completes('lingers', { workMs: 300, ignoresTerm: true }),
  parent: hangs({ owns: [hangs()] }),
  deafParent: hangs({ owns: [hangs()], isDeaf: true, ignoresTerm: true }),
  parentOfUnready: hangs({ owns: [neverReady()] }),
}

export const sceneFates: readonly SceneFate[] = Object.keys(fates) as SceneFate[]

/** Something that happens. A number picks an agent among those started; where there is none, nothing happens. */
export type SceneEvent =
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'delegate'; readonly fate: SceneFate }
  /** `impostor`: another process calls itself this agent. */
  | {
      readonly do: 'ask' | 'end-run' | 'reply' | 'close' | 'kill' | 'replace' | 'impostor'
      readonly agent: number
    }
  | { readonly do: 'steer'; readonly agent: number; readonly times: number }
  | { readonly do: 'busy' | 'idle' }
  /** Nothing can be moved on disk any more as this owner's process sees it, so nothing settles. */
  | { readonly do: 'jam' }
  | { readonly do: 'second-window' }
  /** The acting window dies or closes, and the session is opened again; perhaps in another container. */
  | { readonly do: 'die' | 'reopen' | 'move' }

const agentsMax = 2
const slowStartMs = 2_000

/** A session with its agents and its windows, driven by events; the same events make the same scene. */
export class Scene {
  readonly world: World = new World()
  /** Windows that have the session open; the first one acts, if any does. */
  #windows: Lead[] = []
  #delegated = 0

  static async of(events: readonly SceneEvent[]): Promise<Scene> {
    const scene = new Scene()
    await scene.#open()
    for (const event of events) {
      await scene.#meet(event)
      await scene.world.advance(0)
    }
    return scene
  }

  get windows(): readonly Lead[] {
    return this.#windows
  }

  async #meet(event: SceneEvent): Promise<void> {
    const [lead] = this.#windows
    if (lead === undefined) return
    switch (event.do) {
      case 'wait':
        return this.world.advance(event.ms)
      case 'delegate':
        return this.#delegate(lead, event.fate)
      case 'steer':
        for (let n = 0; n < event.times; n++) this.#tell(lead, 'steer', event.agent)
        return
      case 'reply':
        return this.#tell(lead, 'reply', event.agent)
      case 'close':
        return this.#expectNothing(lead.owner.close(this.#label(event.agent)))
      case 'busy':
        return lead.host.begin()
      case 'idle':
        return lead.host.end()
      case 'jam':
        lead.process.fs.rename = () => {
          throw new Error('EIO')
        }
        return
      case 'second-window':
        return this.#openSecond()
      case 'die':
      case 'reopen':
      case 'move':
        return this.#again(lead, event.do)
      default:
        return this.#meetAgent(event.do, this.#agents[event.agent])
    }
  }

  async #meetAgent(
    what: 'ask' | 'end-run' | 'kill' | 'replace' | 'impostor',
    agent: AgentProgram | undefined,
  ): Promise<void> {
    if (agent === undefined || !agent.process.isAlive) return
    if (what === 'ask') this.#expectNothing(agent.managed?.ask({ text: 'which?' }))
    else if (what === 'replace') this.#expectNothing(agent.managed?.replaced())
    else if (what === 'end-run') agent.host.end({ outcome: 'answered', text: 'done' })
    else if (what === 'kill') agent.process.end()
    else await this.#impersonate(agent)
  }

  async #impersonate({ order }: AgentProgram): Promise<void> {
    const { disk, machine, build } = this.world
    if (disk.entry(order.paths.agent) === undefined || disk.entry(order.paths.ready)) return
    const { identity } = order.generation
    const { runtime } = startRuntime(machine.spawn().processes, machine.ids)
    const head = { protocol, kind: 'ready', identity, build } as const
    await publishReady(disk, machine.ids, order.paths, { ...head, at: 0, runtime })
  }

  #delegate(lead: Lead, name: SceneFate): void {
    if (lead.owner.role !== 'acting' || this.#delegated >= agentsMax) return
    this.#delegated++
    this.#expectNothing(lead.start(fates[name], { timeoutMs: limits.startBudgetHighestMs }))
  }

  #tell(lead: Lead, kind: 'steer' | 'reply', agent: number): void {
    this.#expectNothing(lead.owner.tell(this.#label(agent), { kind, text: 'left' }))
  }

  /** What becomes of an event is not judged: an owner is asked anew, and that is. */
  #expectNothing(promise: Promise<unknown> | undefined): void {
    promise?.catch(() => {})
  }

  get #agents(): readonly AgentProgram[] {
    return [...this.world.agents.values()]
  }

  #label(agent: number): string {
    return this.#agents[agent]?.order.generation.identity.label ?? 'nobody'
  }

  async #open(namespace?: string): Promise<void> {
    const process = this.world.machine.spawn(namespace === undefined ? {} : { namespace })
    const lead = this.world.leadIn(process)
    const start = lead.runner.start.bind(lead.runner)
    lead.runner.start = async (order) => {
      if (order.launch === fates.slowStart)
        await new Promise<void>((resolve) => process.clock.after(slowStartMs, resolve))
      const placement = await start(order)
      const program = this.world.agents.get(order.generation.identity.generation)
      if (program && order.launch === fates.lingers) program.host.leave = () => {}
      return placement
    }
    await this.world.run(lead.open())
    this.#windows.push(lead)
  }

  async #openSecond(): Promise<void> {
    if (this.#windows.length < 2) await this.#open()
  }

  async #again(lead: Lead, how: 'die' | 'reopen' | 'move'): Promise<void> {
    this.#windows.shift()
    if (how === 'die') lead.kill()
    else await lead.quit()
    if (this.#windows.length === 0) await this.#open(how === 'move' ? 'pid:[2]' : undefined)
  }
}
