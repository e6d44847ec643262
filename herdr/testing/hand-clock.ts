import { VirtualClock } from '../../actors/testing/index.ts'
import type { Clock } from '../../mailbox/index.ts'

/** So many turns of the event loop without a request under way count as rest. */
const restTurns = 5

/** Time that passes only by hand, beside sockets that are real. */
export class HandClock implements Clock {
  readonly #virtual = new VirtualClock()
  readonly #face = this.#virtual.face()
  /** Requests under way: each has a deadline. */
  #deadlines = 0

  now(): number {
    return this.#face.now()
  }

  monotonic(): number {
    return this.#face.monotonic()
  }

  after(delayMs: number, callback: () => void): () => void {
    this.#deadlines++
    let isOver = false
    const over = (): void => {
      if (!isOver) this.#deadlines--
      isOver = true
    }
    const cancel = this.#face.after(delayMs, () => {
      over()
      callback()
    })
    return () => {
      over()
      cancel()
    }
  }

  background(delayMs: number, callback: () => void): () => void {
    return this.#face.background(delayMs, callback)
  }

  yield(): Promise<void> {
    return this.#face.yield()
  }

  /** Timers that are set. */
  get pending(): number {
    return this.#face.pending
  }

  /** Waits, without time passing, until no request is under way. */
  async rest(): Promise<void> {
    for (let turns = 0; turns < restTurns; turns++) {
      await new Promise<void>((resolve) => setImmediate(resolve))
      if (this.#deadlines > 0) turns = 0
    }
  }

  /** Lets time pass, with all requests that it brings about. */
  async pass(durationMs: number): Promise<void> {
    const end = this.#virtual.nowMs + durationMs
    await this.rest()
    while (this.#virtual.nowMs < end) {
      await this.#virtual.advance(Math.min(50, end - this.#virtual.nowMs))
      await this.rest()
    }
  }

  /** Lets time pass though requests are under way: their deadlines come. */
  async passOver(durationMs: number): Promise<void> {
    await this.#virtual.advance(durationMs)
  }
}
