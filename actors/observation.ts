import type { Clock } from '../mailbox/index.ts'
import type { ExitReason } from './supervisor.ts'

/**
 * What happened to an actor.
 *
 * Ordered: per life `spawned`, then a `message-begin` and its `message-end` for each message, then `failed` if a
 * handler threw, then `stopped`. A begin that was seen is always followed by its end, before any `failed`.
 */
export type ActorEvent =
  | { readonly type: 'spawned'; readonly name: string }
  | { readonly type: 'message-begin'; readonly name: string; readonly message: unknown }
  | { readonly type: 'message-end'; readonly name: string; readonly durationMs: number }
  | { readonly type: 'failed'; readonly name: string; readonly error: unknown }
  | { readonly type: 'stopped'; readonly name: string; readonly reason: ExitReason }

export type ActorListener = (event: ActorEvent) => void

/**
 * One stream of actor events; the REPL, traces and metrics read it.
 *
 * Nothing is kept: a listener sees what happens after it subscribed, on the actor's own time, and should be quick.
 * Costs: nobody listening, one look at `emit` per message.
 */
export class Observation {
  /** Tells every listener; undefined while there is none, so that an actor builds no event for nobody. */
  emit: ActorListener | undefined
  #listeners: readonly ActorListener[] = []

  /** Listens from now on. What a listener throws reaches neither the actor nor the other listeners. */
  subscribe(listener: ActorListener): () => void {
    const own: ActorListener = (event) => listener(event) // one function subscribed twice is two listeners
    this.#replace([...this.#listeners, own])
    return () => this.#replace(this.#listeners.filter((other) => other !== own))
  }

  /** Announces a message; what it returns announces the end of it. Call it only where there is an `emit`. */
  begin(name: string, message: unknown, clock: Clock): () => void {
    const beganMs = clock.monotonic()
    this.emit?.({ type: 'message-begin', name, message })
    return () => this.emit?.({ type: 'message-end', name, durationMs: clock.monotonic() - beganMs })
  }

  #replace(listeners: readonly ActorListener[]): void {
    this.#listeners = listeners
    this.emit = listeners.length === 0 ? undefined : (event) => tellAll(listeners, event)
  }
}

function tellAll(listeners: readonly ActorListener[], event: ActorEvent): void {
  for (const listener of listeners) {
    try {
      const result: unknown = listener(event)
      if (result instanceof Promise) result.catch(() => {}) // an async listener throws later, to nobody
    } catch {
      // The watcher's fault must never become the actor's.
    }
  }
}
