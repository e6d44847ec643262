/** What goes wrong with one request. */
export type Fault =
  /** The connection ends without an answer; nothing was done. */
  | { readonly kind: 'drop' }
  /** Carried out; the connection ends without an answer. */
  | { readonly kind: 'dropAfter' }
  /** Waits before it is carried out. */
  | { readonly kind: 'delay'; readonly ms: number }
  /** Carried out, then waits before the answer. */
  | { readonly kind: 'delayAfter'; readonly ms: number }
  /** Half of the answer, then the connection ends. */
  | { readonly kind: 'cut' }
  /** The answer comes in pieces of so many bytes (default 7). */
  | { readonly kind: 'split'; readonly bytes?: number }
  /** Never answers, and does nothing. */
  | { readonly kind: 'silent' }
  | { readonly kind: 'error'; readonly code: string; readonly message?: string }
  /** Answers `ok` and does nothing; for requests that `ok` answers. */
  | { readonly kind: 'lie' }

interface Planned {
  readonly fault: Fault
  left: number
}

/** Everything that can go wrong; mutable while the server runs. */
export class Faults {
  /** Decides for the nth request (from 1) of a method what goes wrong with it; planned faults come first. */
  decide: ((method: string, nth: number) => Fault | undefined) | undefined
  /** So many of the next events, or the kinds this is true for, are lost. */
  loseEvents: number | ((kind: string) => boolean) = 0
  /** So long a new pane is in no list, and busy for `agent.start`; ms. */
  latePanes = 0
  /** What is typed into a new shell within this time is lost; ms. */
  swallowInputMs = 0
  /** Of one typed text so many bytes arrive. */
  inputBytesMax: number = Number.POSITIVE_INFINITY
  /** What `agent.start` started stays pending for ever. */
  stuckPending = false
  /** Every agent is shown working for ever. */
  statusLies = false
  /** The next agent report is dropped, and answered `ok`. */
  dropFirstReport = false
  /** Reads of `recent` show only what has scrolled off. */
  recentWithoutScreen = false

  readonly #planned = new Map<string, Planned[]>()
  readonly #counts = new Map<string, number>()

  /** Plans a fault for the next `count` requests of a method, `*` for any; plans of one method queue up. */
  on(method: string, fault: Fault, count = 1): void {
    const planned = this.#planned.get(method) ?? []
    this.#planned.set(method, [...planned, { fault, left: count }])
  }

  /** Forgets every plan. */
  clear(): void {
    this.#planned.clear()
    this.decide = undefined
  }

  /** For the server: what goes wrong with the request that has just come. */
  next(method: string): Fault | undefined {
    const nth = (this.#counts.get(method) ?? 0) + 1
    this.#counts.set(method, nth)
    return this.#take(method) ?? this.#take('*') ?? this.decide?.(method, nth)
  }

  /** For the server: whether this event is lost. */
  losesEvent(kind: string): boolean {
    if (typeof this.loseEvents === 'function') return this.loseEvents(kind)
    if (this.loseEvents <= 0) return false
    this.loseEvents -= 1
    return true
  }

  /** For the server: whether this agent report is dropped. */
  dropsReport(): boolean {
    const drops = this.dropFirstReport
    this.dropFirstReport = false
    return drops
  }

  #take(method: string): Fault | undefined {
    const planned = this.#planned.get(method)?.find(({ left }) => left > 0)
    if (planned === undefined) return undefined
    planned.left -= 1
    return planned.fault
  }
}
