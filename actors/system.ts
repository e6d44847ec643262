import type { Clock } from '../mailbox/index.ts'
import { Actor, type ActorState, type Handler } from './actor.ts'
import { ActorError } from './errors.ts'
import { Observation } from './observation.ts'
import {
  type Child,
  type Exit,
  type Report,
  type Restart,
  restarts,
  Supervisor,
} from './supervisor.ts'

/** How one named actor is made, again for each of its lives. */
export interface ActorSpec<M, R> {
  readonly name: string
  readonly restart: Restart
  /** What becomes of waiting messages when the system stops it. */
  readonly stop: 'drain' | 'drop'
  /** Makes the handler of a new life: the place to rebuild its state from what lasts. */
  readonly build: () => Handler<M, R> | Promise<Handler<M, R>>
  readonly queueMax?: number
}

/**
 * A name. What is told to it reaches the life it has at that moment; between two lives it
 * refuses with `retry`, after the last with `stop`.
 */
export interface ActorRef<M, R = unknown> {
  readonly name: string
  /** As `Actor.tell`. */
  tell(message: M): void
  /** As `Actor.ask`. An ask is answered by the life that took it, or rejected when that ends. */
  ask(message: M, timeoutMs: number): Promise<R>
}

export interface ActorRow {
  readonly name: string
  readonly restart: Restart
  /** `starting` covers the first start and every restart. */
  readonly state: ActorState | 'starting'
  readonly queueDepth: number
}

export interface ActorSystemOptions {
  readonly clock: Clock
  readonly observation?: Observation
  /** Restarts allowed within `periodMs`, all actors together; one more stops the system. */
  readonly intensity?: number
  readonly periodMs?: number
  readonly report?: Report
}

/** Names to actors, each under one `one_for_one` supervisor. Is a child itself, so that systems nest. */
export class ActorSystem implements Child {
  readonly observation: Observation
  readonly exited: Promise<Exit>
  readonly #clock: Clock
  readonly #supervisor: Supervisor
  readonly #named = new Map<string, Listed>()

  static async start(options: ActorSystemOptions): Promise<ActorSystem> {
    return new ActorSystem(options, await Supervisor.start(options))
  }

  private constructor(options: ActorSystemOptions, supervisor: Supervisor) {
    this.observation = options.observation ?? new Observation()
    this.#clock = options.clock
    this.#supervisor = supervisor
    this.exited = supervisor.exited.then((exit) => {
      for (const named of this.#named.values()) named.isOver = true
      this.#named.clear()
      return exit
    })
  }

  /**
   * Starts an actor under a name nobody has; undefined when the name is taken.
   *
   * A name is free again once its actor has ended and is not to be restarted.
   *
   * @throws what `build` threw; the name stays free
   * @throws ActorError DROVER_ACTOR_STOPPED - the system is over; remedy `stop`
   */
  async spawn<M, R = unknown>(spec: ActorSpec<M, R>): Promise<ActorRef<M, R> | undefined> {
    if (this.#named.has(spec.name)) return undefined
    const named = new Named(spec)
    this.#named.set(spec.name, named)
    const start = () => this.#startLife(spec, named)
    try {
      await this.#supervisor.startChild({ id: spec.name, restart: spec.restart, start })
    } catch (error) {
      this.#named.delete(spec.name)
      throw error
    }
    return named
  }

  /** The actor of that name, for tools that know names only; its messages are not checked. */
  find(name: string): ActorRef<unknown> | undefined {
    return this.#named.get(name)
  }

  list(): readonly ActorRow[] {
    return [...this.#named.values()].map((named) => named.row())
  }

  /** Stops one actor for good, its waiting messages treated as its spec says, and frees its name. */
  async stopActor(name: string): Promise<'stopped' | 'absent'> {
    const named = this.#named.get(name)
    if (named === undefined) return 'absent'
    await this.#forget(named)
    return 'stopped'
  }

  /** Stops all actors, the youngest first. */
  async stop(): Promise<void> {
    await this.#supervisor.stop()
    await this.exited
  }

  async #startLife<M, R>(spec: ActorSpec<M, R>, named: Named<M, R>): Promise<Child> {
    const { name, queueMax } = spec
    const handle = await spec.build()
    const limit = queueMax === undefined ? {} : { queueMax }
    const { observation } = this
    const life = new Actor<M, R>({ name, clock: this.#clock, handle, observation, ...limit })
    named.life = life
    const exited = life.exited
    void exited.then(async (exit) => {
      if (!restarts(spec.restart, exit.reason)) await this.#forget(named)
    })
    return { exited, stop: () => life.stop(spec.stop, 'shutdown') }
  }

  /** Terminates before it deletes: the supervisor may not have seen the exit yet. */
  async #forget(named: Listed): Promise<void> {
    named.isOver = true
    await this.#supervisor.terminateChild(named.name)
    await this.#supervisor.deleteChild(named.name)
    if (this.#named.get(named.name) === named) this.#named.delete(named.name)
  }
}

interface Listed extends ActorRef<unknown> {
  isOver: boolean
  row(): ActorRow
}

/** A name and the present life behind it. */
class Named<M, R> implements ActorRef<M, R> {
  readonly name: string
  readonly #restart: Restart
  life: Actor<M, R> | undefined
  isOver = false // no life follows

  constructor(spec: ActorSpec<M, R>) {
    this.name = spec.name
    this.#restart = spec.restart
  }

  tell(message: M): void {
    this.#living().tell(message)
  }

  async ask(message: M, timeoutMs: number): Promise<R> {
    return this.#living().ask(message, timeoutMs)
  }

  row(): ActorRow {
    const { name, life } = this
    const state = life === undefined || life.state === 'stopped' ? 'starting' : life.state
    return { name, restart: this.#restart, state, queueDepth: life?.queueDepth ?? 0 }
  }

  #living(): Actor<M, R> {
    if (this.life?.state === 'running') return this.life
    const remedy = this.isOver ? 'stop' : 'retry'
    throw new ActorError('DROVER_ACTOR_STOPPED', remedy, `${this.name} is not running now.`)
  }
}
