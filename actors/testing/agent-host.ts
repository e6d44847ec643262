import type { Usage } from '../../mailbox/index.ts'
import type { AgentHost, Earlier, RunEnd } from '../index.ts'
import type { VirtualProcess } from './machine.ts'

/** A session an agent works in. Runs take the time and end in the way they are told to. */
export class FakeAgentHost implements AgentHost {
  /** What turns were started with. */
  readonly texts: string[] = []
  readonly #process: VirtualProcess
  readonly #onLeave: () => void
  readonly #listeners = new Set<(end: RunEnd) => void>()
  #cancel: (() => void) | undefined
  #isRunning = false
  #isBlocked = false
  #lastEnd: RunEnd | undefined
  readonly #told = new Set<string>()
  hasLeft = false
  hasPerson = false
  /** What is put before the model comes too late for its run. */
  losesSteers = false
  readonly #shown = new Set<(request: string) => void>()
  /** How the next runs end, and after which time; without, they go on until somebody ends them. */
  next: { readonly end: RunEnd; readonly afterMs: number } | undefined

  constructor(process: VirtualProcess, onLeave: () => void = () => {}) {
    this.#process = process
    this.#onLeave = onLeave
  }

  tryStart(text: string, request: string): 'sent' | 'busy' {
    this.#process.mustLive()
    if (!this.isIdle()) return 'busy'
    this.texts.push(text)
    this.#told.add(request)
    this.begin()
    return 'sent'
  }

  steer(text: string, request: string): 'sent' | 'idle' {
    this.#process.mustLive()
    if (!this.#isRunning) return 'idle'
    this.texts.push(text)
    if (!this.losesSteers) this.show(request)
    return 'sent'
  }

  /** The model is shown a steer. */
  show(request: string): void {
    queueMicrotask(() => {
      if (this.#process.isAlive) for (const listener of [...this.#shown]) listener(request)
    })
  }

  onShown(listener: (request: string) => void): () => void {
    this.#shown.add(listener)
    return () => this.#shown.delete(listener)
  }

  /** A run begins, by a message of ours or by a person's. */
  begin(): void {
    this.#isRunning = true
    const { next } = this
    if (next) this.#cancel = this.#process.hostClock.after(next.afterMs, () => this.end(next.end))
  }

  /** The present run has really ended. */
  end(end: RunEnd): void {
    if (!this.#isRunning) return
    this.#isRunning = false
    this.#lastEnd = end
    this.#cancel?.()
    queueMicrotask(() => {
      if (!this.#process.isAlive) return
      for (const listener of [...this.#listeners]) listener(end)
    })
  }

  /** The host is busy with something that is no run of ours. */
  block(isBlocked: boolean): void {
    this.#isBlocked = isBlocked
  }

  isIdle(): boolean {
    return !this.#isRunning && !this.#isBlocked
  }

  abort(): void {
    if (!this.#process.isAlive) return
    this.end({ outcome: 'aborted' })
  }

  usage(): Usage {
    return { elapsedMs: this.#process.clock.now(), turns: this.texts.length }
  }

  onRunEnd(listener: (end: RunEnd) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  get listeners(): number {
    return this.#listeners.size
  }

  earlier(): Earlier {
    return { told: this.#told, ...(this.#lastEnd && { end: this.#lastEnd }) }
  }

  leave(): void {
    if (!this.#process.isAlive) return
    this.hasLeft = true
    this.#onLeave()
  }
}
