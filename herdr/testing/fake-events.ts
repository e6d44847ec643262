import type { Faults } from './fake-faults.ts'

export interface PlainEvent {
  readonly event: string
  readonly data: Readonly<Record<string, unknown>>
}

/** The last events of everything, oldest first, each at its place in history. */
export class EventRing {
  readonly #max: number
  readonly #faults: Faults
  #events: PlainEvent[] = []
  #firstAt = 0

  constructor(max: number, faults: Faults) {
    this.#max = max
    this.#faults = faults
  }

  get firstAt(): number {
    return this.#firstAt
  }

  get nextAt(): number {
    return this.#firstAt + this.#events.length
  }

  /** `kind` has underscores, as on the wire. */
  push(kind: string, data: Readonly<Record<string, unknown>>): void {
    if (this.#faults.losesEvent(kind)) return
    this.#events.push({ event: kind, data: sorted({ ...data, type: kind }) })
    while (this.#events.length > this.#max) {
      this.#events.shift()
      this.#firstAt += 1
    }
  }

  /** Undefined for what is not there yet, or any more. */
  at(place: number): PlainEvent | undefined {
    return this.#events[place - this.#firstAt]
  }

  /** Nothing of the past is known any more, as after a restart. */
  forget(): void {
    this.#firstAt = this.nextAt
    this.#events = []
  }
}

/** What one entry of a subscription has to say, tick by tick. */
export interface Feed {
  /** Events to send now, in order. */
  poll(): Promise<readonly unknown[]> | readonly unknown[]
}

/** One kind in 0.8: begins with everything retained, then one event per tick. What left the ring is lost. */
export class DripFeed implements Feed {
  readonly #ring: EventRing
  readonly #kind: string
  #at: number

  constructor(ring: EventRing, kind: string) {
    this.#ring = ring
    this.#kind = kind
    this.#at = ring.firstAt
  }

  poll(): readonly PlainEvent[] {
    this.#at = Math.max(this.#at, this.#ring.firstAt)
    while (this.#at < this.#ring.nextAt) {
      const event = this.#ring.at(this.#at)
      this.#at += 1
      if (event?.event === this.#kind) return [event]
    }
    return []
  }
}

/** A reader so far behind that events it had not read left the ring. */
export class EventsLost extends Error {
  override readonly name = 'EventsLost'
}

/** All plain kinds in 0.9.2: begins now, and every tick sends all there is, in order. */
export class LiveFeed implements Feed {
  readonly #ring: EventRing
  readonly #kinds: ReadonlySet<string>
  #at: number

  constructor(ring: EventRing, kinds: ReadonlySet<string>) {
    this.#ring = ring
    this.#kinds = kinds
    this.#at = ring.nextAt
  }

  poll(): readonly PlainEvent[] {
    if (this.#at < this.#ring.firstAt) throw new EventsLost('events were lost')
    const events: PlainEvent[] = []
    for (; this.#at < this.#ring.nextAt; this.#at += 1) {
      const event = this.#ring.at(this.#at)
      if (event !== undefined && this.#kinds.has(event.event)) events.push(event)
    }
    return events
  }
}

/** Pushed events have their fields in alphabetical order. */
export function sorted(record: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(record).sort(([one], [other]) => (one < other ? -1 : 1)))
}
