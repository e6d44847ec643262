import type { Clock } from '../mailbox/index.ts'
import type { HerdrClient, Unsubscribe } from './client.ts'
import { HerdrError } from './errors.ts'
import { hints, type PaneInfo, type TabInfo } from './protocol.ts'

/** All panes there are, at one moment. */
export interface Inventory {
  /** When it was asked for, on the monotonic clock, ms. */
  readonly at: number
  readonly panes: readonly PaneInfo[]
  readonly tabs: readonly TabInfo[]
}

/** Between a hint and the look it leads to, ms: a replayed ring of events comes as hundreds. */
const gatherMs = 250
const backOffLowestMs = 250
const backOffHighestMs = 30_000

/**
 * What panes there are. Events only hint that something may be different: they come late, twice, long after, or not at
 * all. What counts is a complete inventory, taken after a hint, and slowly without one.
 */
export class PaneWatch {
  readonly #client: HerdrClient
  readonly #clock: Clock
  readonly #listeners = new Set<() => void>()
  #latest: Inventory | undefined
  #asking: Promise<Inventory> | undefined
  #isStale = true
  #stream: Stream | undefined

  constructor(client: HerdrClient, clock: Clock) {
    this.#client = client
    this.#clock = clock
  }

  /**
   * @param maxAgeMs how old it may be; one that an event has cast doubt on is taken anew whatever its age
   * @throws HerdrError - there is none to be had now
   */
  panes(maxAgeMs: number): Promise<Inventory> {
    const latest = this.#latest
    if (latest !== undefined && !this.#isStale && this.#clock.monotonic() - latest.at < maxAgeMs)
      return Promise.resolve(latest)
    // One that was asked for before this moment would not be fresh.
    if (maxAgeMs > 0 && this.#asking !== undefined) return this.#asking
    const asking = this.#ask().finally(() => {
      if (this.#asking === asking) this.#asking = undefined
    })
    this.#asking = asking
    return asking
  }

  async #ask(): Promise<Inventory> {
    const at = this.#clock.monotonic()
    this.#isStale = false
    try {
      const { snapshot } = await this.#client.request('session.snapshot', {})
      const inventory = { at, panes: snapshot.panes, tabs: snapshot.tabs }
      if (this.#latest === undefined || this.#latest.at <= at) this.#latest = inventory
      return inventory
    } catch (error) {
      this.#isStale = true
      throw error
    }
  }

  /** We have changed something ourselves: the next inventory is taken anew. */
  doubt(): void {
    this.#isStale = true
  }

  /** Calls back when panes may have come, gone or moved. Returns its end. Costs nothing while nobody listens. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    this.#stream ??= new Stream(this.#client, this.#clock, () => this.#hint())
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size === 0) this.close()
    }
  }

  close(): void {
    this.#stream?.end()
    this.#stream = undefined
    this.#listeners.clear()
  }

  #hint(): void {
    this.doubt()
    for (const listener of this.#listeners) listener()
  }
}

/** A stream of hints that is opened again whenever it ends. */
class Stream {
  readonly #client: HerdrClient
  readonly #clock: Clock
  readonly #hint: () => void
  #unsubscribe: Unsubscribe = () => {}
  #cancel: () => void = () => {}
  #isEnded = false
  #isHintDue = false
  #backOffMs = backOffLowestMs

  constructor(client: HerdrClient, clock: Clock, hint: () => void) {
    this.#client = client
    this.#clock = clock
    this.#hint = hint
    void this.#open()
  }

  end(): void {
    this.#isEnded = true
    this.#cancel()
    this.#unsubscribe()
  }

  async #open(): Promise<void> {
    try {
      await this.#client.server()
      const unsubscribe = await this.#client.subscribe(
        hints,
        () => this.#hintSoon(),
        () => this.#again(),
      )
      if (this.#isEnded) return unsubscribe()
      this.#unsubscribe = unsubscribe
      this.#backOffMs = backOffLowestMs
    } catch (error) {
      if (!(error instanceof HerdrError)) throw error
      this.#again()
      return
    }
    this.#hintSoon() // what happened while nobody listened
  }

  /** The server stopped, was replaced, or we were too slow. What it did meanwhile is seen by the next look. */
  #again(): void {
    if (this.#isEnded) return
    this.#client.forgetServer()
    this.#hintSoon()
    const delayMs = this.#backOffMs
    this.#backOffMs = Math.min(backOffHighestMs, 2 * delayMs)
    this.#cancel()
    this.#cancel = this.#clock.background(delayMs, () => void this.#open())
  }

  #hintSoon(): void {
    if (this.#isHintDue || this.#isEnded) return
    this.#isHintDue = true
    this.#clock.background(gatherMs, () => {
      this.#isHintDue = false
      if (!this.#isEnded) this.#hint()
    })
  }
}
