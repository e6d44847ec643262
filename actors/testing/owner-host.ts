import { type DeliveryIdentity, deliveryIdentity, type OwnerHost, type Report } from '../index.ts'
import type { VirtualProcess } from './machine.ts'
import type { FakeSessionFile } from './session-file.ts'

/**
 * What becomes of a message the host took.
 *
 * `told`: it is in the file before its run ends. `dropped`: a person's Esc comes before it is. `model-error`: it is
 * in the file, and the run ends in an error. `dies-before`, `dies-after`: the process dies before or after it is in
 * the file. `by-hand`: the test says when.
 */
export type SendFate = 'told' | 'dropped' | 'model-error' | 'dies-before' | 'dies-after' | 'by-hand'

/** Time from a send to its entry in the file, and to the end of its run, ms. */
const persistMs = 10
const runMs = 50

/** The session an owner's agents report to, as one process has it open. */
export class FakeOwnerHost implements OwnerHost {
  readonly session: FakeSessionFile
  /** Every message it took. */
  readonly messages: (readonly Report[])[] = []
  /** Fates of the next sends, first to last; `told` once they are used up. */
  readonly fates: SendFate[] = []
  /** Sends it answers with `busy` although it was idle a moment ago. */
  refusals = 0
  /** How often somebody looked into the file. */
  looks = 0
  readonly #process: VirtualProcess
  readonly #listeners = new Set<() => void>()
  #isBusy = false
  /** What was taken and is not in the file yet. */
  #sending: readonly DeliveryIdentity[] = []

  constructor(process: VirtualProcess, session: FakeSessionFile) {
    this.#process = process
    this.session = session
  }

  isIdle(): boolean {
    this.#process.mustLive()
    return !this.#isBusy
  }

  trySend(reports: readonly Report[]): 'sent' | 'busy' {
    if (!this.isIdle()) return 'busy'
    if (this.refusals > 0) {
      this.refusals--
      return 'busy'
    }
    this.messages.push(reports)
    this.#sending = reports.map(deliveryIdentity)
    this.#isBusy = true
    this.#meet(this.fates.shift() ?? 'told')
    return 'sent'
  }

  async seen(identities: readonly DeliveryIdentity[]): Promise<readonly DeliveryIdentity[]> {
    this.#process.mustLive()
    this.looks++
    await Promise.resolve() // reading takes its time, and others may run meanwhile
    this.#process.mustLive()
    return this.session.find(identities)
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  get listeners(): number {
    return this.#listeners.size
  }

  /** A person's own run begins. */
  begin(): void {
    this.#isBusy = true
    this.#changed()
  }

  /** The present run ends. What is not in the file then never will be. */
  end(): void {
    this.#sending = []
    this.#isBusy = false
    this.#changed()
  }

  /** A person presses Esc: the run ends, whatever it was to bring. */
  escape(): void {
    this.end()
  }

  /** What was taken is in the file from now on. */
  persist(): void {
    if (!this.#process.isAlive) return
    this.session.append(this.#sending)
    this.#sending = []
    this.#changed()
  }

  #meet(fate: SendFate): void {
    const { hostClock: clock } = this.#process
    if (fate === 'by-hand') return
    if (fate === 'dies-before') return void clock.after(persistMs, () => this.#process.end())
    if (fate === 'dropped') return void clock.after(persistMs, () => this.escape())
    clock.after(persistMs, () => {
      this.persist()
      if (fate === 'dies-after') this.#process.end()
    })
    clock.after(runMs, () => this.end())
  }

  /** Never from inside: what it is called by may be a host event. */
  #changed(): void {
    queueMicrotask(() => {
      if (!this.#process.isAlive) return
      for (const listener of [...this.#listeners]) listener()
    })
  }
}
