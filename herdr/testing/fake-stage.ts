import { EventRing } from './fake-events.ts'
import type { Faults } from './fake-faults.ts'
import type { Setting } from './fake-records.ts'
import { World } from './fake-world.ts'

/** What every part of the server works on, and the one queue in which requests are carried out. */
export class Stage {
  readonly setting: Setting
  readonly faults: Faults
  readonly world: World
  readonly ring: EventRing
  isStopping = false
  /** Ids of panes in which processes live that the server did not start. */
  readonly adopted: Set<string> = new Set()
  #last: Promise<unknown> = Promise.resolve()

  constructor(setting: Setting, faults: Faults) {
    this.setting = setting
    this.faults = faults
    this.world = new World(setting)
    this.ring = new EventRing(setting.ringMax, faults)
  }

  /** Carries things out one after another. */
  run<T>(task: () => Promise<T> | T): Promise<T> {
    const done = this.#last.then(task)
    this.#last = done.catch(() => {})
    return done
  }

  emit(kind: string, data: Readonly<Record<string, unknown>>): void {
    this.ring.push(kind, data)
  }
}
