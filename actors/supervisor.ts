/**
 * A supervisor starts, watches and stops children. Words and meanings are those of Erlang/OTP `supervisor`:
 *
 * - *child*: anything that can be stopped and says when it has ended; an actor, or another supervisor.
 * - *exit reason*: `normal` (it was finished), `shutdown` (it was told to end, or gave up), `failure` (it threw).
 * - *restart type*: `permanent` is restarted after every exit, `transient` after a failure only, `temporary` never.
 *   A temporary child is forgotten when it ends; the specification of any other is kept.
 * - *strategy*: who is restarted when one child must be. `one_for_one`: that child. `one_for_all`: all of them.
 *   `rest_for_one`: that child and those started after it. The others are stopped first, in reverse; temporary ones
 *   among them do not come back, children that had ended before do.
 * - *intensity*: more restarts than this within the period, and the supervisor stops all children, in reverse, and
 *   exits with `shutdown`: now its own supervisor decides. A start that fails during a restart is tried again, and
 *   counts again.
 *
 * One difference: nothing can be killed here. Stopping waits for the child; a bound belongs into the child's `stop`.
 */
import PQueue from 'p-queue'
import type { Clock } from '../mailbox/index.ts'
import { ActorError } from './errors.ts'

/** Why a child ended. */
export type Exit =
  | { readonly reason: 'normal' | 'shutdown' }
  | { readonly reason: 'failure'; readonly error: unknown }
export type ExitReason = Exit['reason']
export type Restart = 'permanent' | 'transient' | 'temporary'
export type Strategy = 'one_for_one' | 'one_for_all' | 'rest_for_one'

export interface Child {
  /** Resolves when it has ended; at once where it had. */
  stop(): Promise<void>
  /** Resolves once, when it has ended, however that came. */
  readonly exited: Promise<Exit>
}

export interface ChildSpec {
  readonly id: string
  readonly restart: Restart
  /** Makes one life of the child. Must not wait for its own supervisor. */
  readonly start: () => Child | Promise<Child>
}

export interface ChildRow {
  readonly id: string
  readonly restart: Restart
  readonly state: 'running' | 'restarting' | 'stopped'
}

export interface SupervisorOptions {
  readonly clock: Clock
  readonly strategy?: Strategy
  /** Restarts allowed within `periodMs`. */
  readonly intensity?: number
  readonly periodMs?: number
  readonly children?: readonly ChildSpec[]
  readonly report?: Report
}

/** Told of each failure of a child: it exited by one, or did not start, or did not stop. */
export type Report = (id: string, during: 'run' | 'start' | 'stop', error: unknown) => void

/** Says whether a child of this type is started again after such an exit. */
export function restarts(type: Restart, reason: ExitReason): boolean {
  return type === 'permanent' || (type === 'transient' && reason === 'failure')
}

/** Ordered: one step (a start, an exit, a stop) at a time, in the order they came. Children must not wait for it. */
export class Supervisor implements Child {
  readonly exited: Promise<Exit>
  readonly #options: SupervisorOptions
  readonly #steps = new PQueue({ concurrency: 1 })
  readonly #kept = new Map<string, Kept>() // in start order
  #restartedAtMs: number[] = []
  #isOver = false
  #resolveExited: (exit: Exit) => void = () => {}

  /**
   * Starts the children in order. When one does not start, those before it are stopped in reverse.
   *
   * @throws what the failing child's start threw
   */
  static async start(options: SupervisorOptions): Promise<Supervisor> {
    const supervisor = new Supervisor(options)
    await supervisor.#steps.add(async () => {
      try {
        for (const spec of options.children ?? []) await supervisor.#startNew(spec)
      } catch (error) {
        await supervisor.#end()
        throw error
      }
    })
    return supervisor
  }

  private constructor(options: SupervisorOptions) {
    this.#options = options
    this.exited = new Promise((resolve) => {
      this.#resolveExited = resolve
    })
  }

  /** The children it knows, in start order. */
  children(): readonly ChildRow[] {
    const row = ({ spec: { id, restart }, state }: Kept) => ({ id, restart, state })
    return [...this.#kept.values()].map(row)
  }

  /**
   * Adds a child behind the others. A child that does not start is not kept.
   *
   * @throws what its start threw
   * @throws ActorError DROVER_ACTOR_STOPPED - the supervisor is over; remedy `stop`
   */
  startChild(spec: ChildSpec): Promise<'started' | 'duplicate'> {
    return this.#steps.add(async () => {
      if (this.#isOver)
        throw new ActorError('DROVER_ACTOR_STOPPED', 'stop', `No supervisor to start ${spec.id}.`)
      if (this.#kept.has(spec.id)) return 'duplicate'
      await this.#startNew(spec)
      return 'started'
    })
  }

  /** Stops a child, and ends the attempts to restart it. Its specification stays, unless temporary. */
  terminateChild(id: string): Promise<'terminated' | 'absent'> {
    return this.#steps.add(async () => {
      const kept = this.#kept.get(id)
      if (kept === undefined) return 'absent'
      await this.#stopAll([kept])
      return 'terminated'
    })
  }

  /** Forgets a child that has ended. */
  deleteChild(id: string): Promise<'deleted' | 'running' | 'absent'> {
    return this.#steps.add(async () => {
      const kept = this.#kept.get(id)
      if (kept === undefined) return 'absent'
      if (kept.state !== 'stopped') return 'running'
      this.#kept.delete(id)
      return 'deleted'
    })
  }

  /** Stops all children in reverse and exits with `shutdown`. Waits for a start that is under way. */
  stop(): Promise<void> {
    return this.#steps.add(() => this.#end())
  }

  async #startNew(spec: ChildSpec): Promise<void> {
    const kept: Kept = { spec, state: 'stopped', child: undefined }
    await this.#startLife(kept)
    this.#kept.set(spec.id, kept)
  }

  async #startLife(kept: Kept): Promise<void> {
    try {
      const child = await kept.spec.start()
      kept.child = child
      kept.state = 'running'
      const onExit = (exit: Exit) => this.#steps.add(() => this.#exited(kept, child, exit))
      void child.exited.then(onExit, (error) => onExit({ reason: 'failure', error }))
    } catch (error) {
      this.#report(kept, 'start', error)
      throw error
    }
  }

  async #exited(kept: Kept, child: Child, exit: Exit): Promise<void> {
    if (kept.child !== child) return // stopped on purpose, and that life is over
    if (exit.reason === 'failure') this.#report(kept, 'run', exit.error)
    kept.child = undefined
    kept.state = 'stopped'
    if (kept.spec.restart === 'temporary') this.#kept.delete(kept.spec.id)
    if (!restarts(kept.spec.restart, exit.reason)) return
    kept.state = 'restarting'
    await this.#restart(kept)
  }

  async #restart(fallen: Kept): Promise<void> {
    if (fallen.state !== 'restarting') return // terminated between two attempts
    if (!this.#mayRestart()) return this.#end()
    const group = this.#fallsWith(fallen)
    await this.#stopAll(group.filter((kept) => kept !== fallen))
    for (const kept of group) {
      if (kept !== fallen && kept.spec.restart === 'temporary') continue
      try {
        await this.#startLife(kept)
      } catch {
        kept.state = 'restarting'
        void this.#steps.add(() => this.#restart(kept)) // behind what waits, so that a stop gets its turn
        return
      }
    }
  }

  #fallsWith(fallen: Kept): readonly Kept[] {
    if ((this.#options.strategy ?? 'one_for_one') === 'one_for_one') return [fallen]
    const all = [...this.#kept.values()]
    return this.#options.strategy === 'one_for_all' ? all : all.slice(all.indexOf(fallen))
  }

  #mayRestart(): boolean {
    const { clock, intensity = 1, periodMs = 5_000 } = this.#options
    const nowMs = clock.monotonic()
    this.#restartedAtMs = this.#restartedAtMs.filter((atMs) => nowMs - atMs <= periodMs)
    this.#restartedAtMs.push(nowMs)
    return this.#restartedAtMs.length <= intensity
  }

  async #stopAll(group: readonly Kept[]): Promise<void> {
    for (const kept of group.toReversed()) {
      const { child } = kept
      kept.child = undefined // its exit is no news any more
      kept.state = 'stopped'
      if (kept.spec.restart === 'temporary') this.#kept.delete(kept.spec.id)
      await child?.stop().catch((error: unknown) => this.#report(kept, 'stop', error))
    }
  }

  async #end(): Promise<void> {
    this.#isOver = true
    await this.#stopAll([...this.#kept.values()])
    this.#kept.clear()
    this.#resolveExited({ reason: 'shutdown' })
  }

  #report(kept: Kept, during: 'run' | 'start' | 'stop', error: unknown): void {
    try {
      this.#options.report?.(kept.spec.id, during, error)
    } catch {
      // A reader of reports must not end the supervision.
    }
  }
}

/** A child the supervisor knows, and its present life if it has one. */
interface Kept {
  readonly spec: ChildSpec
  state: ChildRow['state']
  child: Child | undefined
}
