import assert from 'node:assert/strict'
import type { Clock } from '../../mailbox/index.ts'

interface Timer {
  readonly dueMs: number
  readonly order: number
  readonly face: ClockFace
  readonly callback: () => void
}

/** Longest virtual time a test waits for a fact, ms. */
const patienceMs = 600_000

/**
 * Time that passes only when a test lets it, and always in the same way.
 *
 * Everything over the memory file system runs in microtasks, so one turn of the real event loop brings all of it to
 * rest; only then the next timer fires.
 */
export class VirtualClock {
  #nowMs = 0
  #order = 0
  #timers: Timer[] = [] // soonest first
  #yields: (() => void)[] = []

  get nowMs(): number {
    return this.#nowMs
  }

  /** The clock as one process has it: its timers end with it. */
  face(): ClockFace {
    return new ClockFace(this)
  }

  /** Lets everything that is ready run, until nothing is. No time passes. */
  async settle(): Promise<void> {
    for (;;) {
      await new Promise<void>((resolve) => setImmediate(resolve))
      const yields = this.#yields.splice(0)
      if (yields.length === 0) return
      for (const resume of yields) resume()
    }
  }

  /** Lets `durationMs` pass, with all that happens in it. */
  async advance(durationMs: number): Promise<void> {
    const end = this.#nowMs + durationMs
    await this.settle()
    while (await this.#step(end)) {}
    this.#nowMs = end
  }

  /** Lets time pass until a promise is settled, and answers as it does. */
  async run<T>(promise: Promise<T>, withinMs: number = patienceMs): Promise<T> {
    let isSettled = false
    const settled = () => {
      isSettled = true
    }
    promise.then(settled, settled)
    await this.until(() => isSettled, withinMs)
    return promise
  }

  /** Lets time pass until something is true. */
  async until(
    isTrue: () => boolean | Promise<boolean>,
    withinMs: number = patienceMs,
  ): Promise<void> {
    const deadline = this.#nowMs + withinMs
    await this.settle()
    while (!(await isTrue()))
      assert.ok(await this.#step(deadline), `still waiting after ${withinMs} ms: ${isTrue}`)
  }

  /** Timers that somebody still waits for. */
  get pending(): number {
    return this.#timers.length
  }

  async #step(deadline: number): Promise<boolean> {
    const next = this.#timers[0]
    if (next === undefined || next.dueMs > deadline) return false
    this.#timers.shift()
    next.face.forget(next)
    this.#nowMs = Math.max(this.#nowMs, next.dueMs)
    next.callback()
    await this.settle()
    return true
  }

  /** @internal for `ClockFace` */
  schedule(face: ClockFace, delayMs: number, callback: () => void): Timer {
    const timer = { dueMs: this.#nowMs + delayMs, order: this.#order++, face, callback }
    let place = this.#timers.length
    while (place > 0 && (this.#timers[place - 1]?.dueMs ?? 0) > timer.dueMs) place--
    this.#timers.splice(place, 0, timer)
    return timer
  }

  /** @internal for `ClockFace` */
  cancel(timer: Timer): void {
    const place = this.#timers.indexOf(timer)
    if (place !== -1) this.#timers.splice(place, 1)
  }

  /** @internal for `ClockFace` */
  yieldTo(resume: () => void): void {
    this.#yields.push(resume)
  }
}

/** One process's clock. When the process dies, all it waited for never comes. */
export class ClockFace implements Clock {
  readonly #clock: VirtualClock
  readonly #timers = new Set<Timer>()
  #isDead = false

  constructor(clock: VirtualClock) {
    this.#clock = clock
  }

  now(): number {
    return Math.round(this.#clock.nowMs)
  }

  monotonic(): number {
    return this.#clock.nowMs
  }

  after(delayMs: number, callback: () => void): () => void {
    if (this.#isDead) return () => {}
    const timer = this.#clock.schedule(this, delayMs, callback)
    this.#timers.add(timer)
    return () => {
      this.#timers.delete(timer)
      this.#clock.cancel(timer)
    }
  }

  background(delayMs: number, callback: () => void): () => void {
    return this.after(delayMs, callback)
  }

  yield(): Promise<void> {
    return new Promise((resolve) => {
      if (!this.#isDead) this.#clock.yieldTo(resolve)
    })
  }

  /** Timers this process has set and not cancelled. */
  get pending(): number {
    return this.#timers.size
  }

  die(): void {
    this.#isDead = true
    for (const timer of this.#timers) this.#clock.cancel(timer)
    this.#timers.clear()
  }

  /** @internal for `VirtualClock` */
  forget(timer: Timer): void {
    this.#timers.delete(timer)
  }
}
