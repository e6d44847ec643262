import assert from 'node:assert/strict'
import type { Clock } from '../../mailbox/index.ts'
import {
  type Child,
  type ChildSpec,
  type Exit,
  type ExitReason,
  type Restart,
  Supervisor,
  type SupervisorOptions,
} from '../supervisor.ts'

/** One exit of each reason. */
export const exits: Readonly<Record<ExitReason, Exit>> = {
  normal: { reason: 'normal' },
  shutdown: { reason: 'shutdown' },
  failure: { reason: 'failure', error: new Error('broken') },
}

/** Children that note `+` for a start, `!` for one that failed, `-` for a stop, and end when told to. */
export class ChildWorld {
  nowMs = 0
  onFailedStart: () => void = () => {}
  readonly reports: string[] = []
  #events: string[] = []
  readonly #ends = new Map<string, (exit: Exit) => void>() // of the children that live
  readonly #failures = new Map<string, number>()

  supervise(
    children: readonly ChildSpec[],
    options: Partial<SupervisorOptions> = {},
  ): Promise<Supervisor> {
    const report = (id: string, during: string) => void this.reports.push(`${id} ${during}`)
    return Supervisor.start({ clock: this.#clock(), report, ...options, children })
  }

  children(...ids: readonly string[]): readonly ChildSpec[] {
    return ids.map((id) => this.child(id))
  }

  child(id: string, restart: Restart = 'permanent'): ChildSpec {
    return { id, restart, start: () => this.#start(id) }
  }

  /** A supervisor as a child, which gives up at the first failure. */
  nested(id: string, restart: Restart, children: readonly ChildSpec[]): ChildSpec {
    return { id, restart, start: () => this.supervise(children, { intensity: 0 }) }
  }

  /** Ends a child by itself, and waits until the supervisors have done what they do about it. */
  async exit(id: string, exit: Exit): Promise<void> {
    const end = this.#ends.get(id)
    assert.ok(end, `${id} does not run`)
    end(exit)
    await settle()
  }

  failStarts(id: string, times: number): void {
    this.#failures.set(id, times)
  }

  alive(): readonly string[] {
    return [...this.#ends.keys()]
  }

  /** What happened since the last take. */
  take(): readonly string[] {
    const events = this.#events
    this.#events = []
    return events
  }

  async #start(id: string): Promise<Child> {
    await Promise.resolve()
    const failures = this.#failures.get(id) ?? 0
    this.#failures.set(id, failures - 1)
    if (failures > 0) {
      this.#events.push(`!${id}`)
      this.onFailedStart()
      throw new Error(`${id} did not start`)
    }
    this.#events.push(`+${id}`)
    let end: (exit: Exit) => void = () => {}
    const exited = new Promise<Exit>((resolve) => {
      end = (exit) => {
        this.#ends.delete(id)
        resolve(exit)
      }
    })
    this.#ends.set(id, end)
    const stop = async () => {
      await Promise.resolve()
      this.#events.push(`-${id}`)
      end(exits.shutdown)
    }
    return { exited, stop }
  }

  #clock(): Clock {
    const none = () => () => {}
    const monotonic = () => this.nowMs
    return { now: monotonic, monotonic, after: none, background: none, yield: settle }
  }
}

/** Nothing here waits for time, so all promises are through after one turn of the event loop. */
export const settle = (): Promise<void> => new Promise<void>((resolve) => setImmediate(resolve))

/** Whether it has exited by now. */
export async function hasExited(child: Child): Promise<boolean> {
  await settle()
  return Promise.race([child.exited.then(() => true), settle().then(() => false)])
}
