import assert from 'node:assert/strict'
import { type Clock, limits } from '../mailbox/index.ts'
import { ActorError } from './errors.ts'
import type { Observation } from './observation.ts'
import type { Exit } from './supervisor.ts'

/** Handles one message; what it returns answers the asker. Throwing ends the actor. */
export type Handler<M, R> = (message: M, self: Actor<M, R>) => R | Promise<R>

/** `stopping` takes no message but still handles some; `stopped` is over. */
export type ActorState = 'running' | 'stopping' | 'stopped'

export interface ActorOptions<M, R> {
  readonly name: string
  readonly clock: Clock
  readonly handle: Handler<M, R>
  /** Messages that may wait, the running one not counted. */
  readonly queueMax?: number
  readonly observation?: Observation
}

/** The event loop is given back after this many messages, or this much time, whichever comes first. */
const turnMessagesMax = 64
const turnMs = 8
/** Reading the clock costs as much as a message: it is read after every fourth, so a turn may last three more. */
const messagesPerLook = 4

/**
 * A named thing that handles one message at a time, from its own queue.
 *
 * Ordered: messages are handled in the order they were told or asked, each at most once, none inside `tell`.
 * Costs: under a microsecond per message while busy, about 10 to wake an idle actor; about 0.4 KB of heap at rest,
 * 1.1 once it was ever told something.
 */
export class Actor<M, R = unknown> {
  readonly name: string
  /** Resolves once, when the last handler is over, with why it ended. Never rejects. */
  readonly exited: Promise<Exit>
  readonly #clock: Clock
  readonly #handle: Handler<M, R>
  readonly #queueMax: number
  readonly #observation: Observation | undefined
  #waiting: (M | Asked<M, R> | undefined)[] = []
  #head = 0 // the oldest that waits; `shift` would move all the others
  #state: ActorState = 'running'
  #stopReason: 'normal' | 'shutdown' = 'normal'
  #resolveExited: (exit: Exit) => void = () => {}
  #isDraining = false
  #turnMessages = 0 // since the event loop was last given back, over all drains: two actors that
  #turnMs = 0 //       answer each other are one endless row of short drains

  constructor(options: ActorOptions<M, R>) {
    this.name = options.name
    this.#clock = options.clock
    this.#handle = options.handle
    this.#queueMax = options.queueMax ?? limits.actorQueueMax
    this.#observation = options.observation
    assert.ok(this.#queueMax >= 1, 'an actor needs room for one message')
    this.exited = new Promise((resolve) => {
      this.#resolveExited = resolve
    })
    this.#observation?.emit?.({ type: 'spawned', name: this.name })
  }

  get state(): ActorState {
    return this.#state
  }

  /** Messages waiting; the running one is not counted. */
  get queueDepth(): number {
    return this.#waiting.length - this.#head
  }

  /**
   * Puts one message into the queue, to be handled later.
   *
   * @throws ActorError DROVER_ACTOR_FULL - `queueMax` messages wait; remedy `retry`
   * @throws ActorError DROVER_ACTOR_STOPPED - stopping or over; remedy `stop`
   */
  tell(message: M): void {
    this.#enqueue(message)
  }

  /**
   * Tells, and resolves with what the handler returned or rejects with what it threw.
   *
   * Unknown: after a timeout the message stays in the queue, and may or may not be handled.
   * Never ask an actor from its own handler: it would wait for itself.
   *
   * @throws ActorError DROVER_ACTOR_FULL, DROVER_ACTOR_STOPPED - as `tell`, but as a rejection; the second also when
   * the actor ends before it came to this message
   * @throws ActorError DROVER_ASK_TIMEOUT - no answer within `timeoutMs`; remedy `report`
   */
  ask(message: M, timeoutMs: number): Promise<R> {
    return new Promise((resolve, reject) => {
      const asked = new Asked<M, R>(message, resolve, reject)
      this.#enqueue(asked)
      asked.cancelDeadline = this.#clock.after(timeoutMs, () => {
        const late = `${this.name} did not answer within ${timeoutMs} ms.`
        reject(new ActorError('DROVER_ASK_TIMEOUT', 'report', late))
      })
    })
  }

  /**
   * Takes no more messages, and resolves when the running handler is over and the actor has ended.
   *
   * `drain` handles first what waits; `drop` handles none of it and rejects its askers. A drop may follow a drain.
   * The first stop gives the reason of the exit, unless a handler throws on the way. A handler may stop its own actor
   * but must not wait for it.
   */
  async stop(how: 'drain' | 'drop', reason: 'normal' | 'shutdown' = 'normal'): Promise<void> {
    if (this.#state === 'running') {
      this.#state = 'stopping'
      this.#stopReason = reason
    }
    if (how === 'drop') this.#rejectWaiting()
    if (!this.#isDraining) this.#exit({ reason: this.#stopReason }) // else the drain ends it
    await this.exited
  }

  #enqueue(item: M | Asked<M, R>): void {
    if (this.#state !== 'running') throw this.#stopped()
    if (this.queueDepth >= this.#queueMax) {
      const full = `${this.name} has ${this.#queueMax} messages waiting.`
      throw new ActorError('DROVER_ACTOR_FULL', 'retry', full)
    }
    this.#waiting.push(item)
    if (this.#isDraining) return
    this.#isDraining = true
    void this.#drain() // one for all that waits
  }

  async #drain(): Promise<void> {
    await undefined // nothing is handled inside the caller's `tell`
    let sinceMs = this.#clock.monotonic()
    while (this.queueDepth > 0) {
      if (this.#turnMessages >= turnMessagesMax || this.#turnMs >= turnMs) {
        await this.#clock.yield()
        this.#turnMessages = 0
        this.#turnMs = 0
        sinceMs = this.#clock.monotonic()
        continue // a stop may have emptied the queue meanwhile
      }
      const item = this.#take()
      const asked = item instanceof Asked ? item : undefined
      const message = item instanceof Asked ? item.message : item
      const end =
        this.#observation?.emit && this.#observation.begin(this.name, message, this.#clock)
      try {
        const result = this.#handle(message, this)
        // Awaited only where there is something to wait for: awaiting a value would halve the speed.
        this.#answer(result instanceof Promise ? await result : result, asked, end)
      } catch (error) {
        this.#fail(error, asked, end)
      }
      this.#turnMessages += 1
      if (this.#turnMessages % messagesPerLook !== 0) continue
      const nowMs = this.#clock.monotonic()
      this.#turnMs += nowMs - sinceMs
      sinceMs = nowMs
    }
    this.#isDraining = false
    if (this.#state === 'stopping') this.#exit({ reason: this.#stopReason })
  }

  #take(): M | Asked<M, R> {
    const item = this.#waiting[this.#head] as M | Asked<M, R>
    this.#waiting[this.#head++] = undefined // what was handled must not live as long as the queue
    const isWasteful = this.#head >= 1_024 && this.#head * 2 >= this.#waiting.length
    if (isWasteful || this.#head === this.#waiting.length) {
      this.#waiting = this.#waiting.slice(this.#head)
      this.#head = 0
    }
    return item
  }

  #answer(value: R, asked: Asked<M, R> | undefined, end: (() => void) | undefined): void {
    end?.()
    asked?.cancelDeadline?.()
    asked?.resolve(value)
  }

  #fail(error: unknown, asked: Asked<M, R> | undefined, end: (() => void) | undefined): void {
    end?.()
    asked?.cancelDeadline?.()
    asked?.reject(error)
    this.#observation?.emit?.({ type: 'failed', name: this.name, error })
    this.#exit({ reason: 'failure', error })
  }

  #exit(exit: Exit): void {
    if (this.#state === 'stopped') return
    this.#state = 'stopped'
    this.#rejectWaiting()
    this.#resolveExited(exit)
    this.#observation?.emit?.({ type: 'stopped', name: this.name, reason: exit.reason })
  }

  #rejectWaiting(): void {
    while (this.queueDepth > 0) {
      const item = this.#take()
      if (!(item instanceof Asked)) continue
      item.cancelDeadline?.()
      item.reject(this.#stopped())
    }
  }

  #stopped(): ActorError {
    return new ActorError('DROVER_ACTOR_STOPPED', 'stop', `${this.name} has stopped.`)
  }
}

/** A message somebody waits for. A told message is kept bare, which costs nothing. */
class Asked<M, R> {
  readonly message: M
  readonly resolve: (value: R) => void
  readonly reject: (error: unknown) => void
  cancelDeadline: (() => void) | undefined

  constructor(message: M, resolve: (value: R) => void, reject: (error: unknown) => void) {
    this.message = message
    this.resolve = resolve
    this.reject = reject
  }
}
