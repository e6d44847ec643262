import {
  type AgentHost,
  type DeliveryIdentity,
  deliveryIdentity,
  deliveryKey,
  type Earlier,
  type OwnerHost,
  type Report,
  type RunEnd,
} from '../../actors/index.ts'
import type { Usage } from '../../mailbox/index.ts'

/** An owner's session that is always idle, and keeps what it is sent at once. */
export class IdleOwnerHost implements OwnerHost {
  /** All that was ever sent, in order. */
  readonly sent: Report[] = []
  readonly #listeners = new Set<() => void>()

  isIdle(): boolean {
    return true
  }

  trySend(reports: readonly Report[]): 'sent' {
    this.sent.push(...reports)
    setImmediate(() => {
      for (const listener of this.#listeners) listener()
    })
    return 'sent'
  }

  async seen(identities: readonly DeliveryIdentity[]): Promise<readonly DeliveryIdentity[]> {
    const kept = new Set(this.sent.map((report) => deliveryKey(deliveryIdentity(report))))
    return identities.filter((identity) => kept.has(deliveryKey(identity)))
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}

/** An agent's session in which every run answers after a while. */
export class AnsweringHost implements AgentHost {
  readonly hasPerson = false
  readonly #afterMs: number
  readonly #left: () => void
  readonly #listeners = new Set<(end: RunEnd) => void>()
  #run: NodeJS.Timeout | undefined

  /** @param left called when the agent has nothing left to do and may end its process */
  constructor(afterMs: number, left: (end: 'over' | 'closed') => void) {
    this.#afterMs = afterMs
    this.#left = () => left('closed')
  }

  tryStart(text: string): 'sent' | 'busy' {
    if (this.#run !== undefined) return 'busy'
    this.#run = setTimeout(
      () => this.#end({ outcome: 'answered', text: `done: ${text}` }),
      this.#afterMs,
    )
    return 'sent'
  }

  steer(): 'idle' {
    return 'idle'
  }

  isIdle(): boolean {
    return this.#run === undefined
  }

  abort(): void {
    if (this.#run !== undefined) this.#end({ outcome: 'aborted' })
  }

  #end(end: RunEnd): void {
    clearTimeout(this.#run)
    this.#run = undefined
    for (const listener of [...this.#listeners]) listener(end)
  }

  usage(): Usage {
    return { elapsedMs: this.#afterMs, turns: 1 }
  }

  onShown(): () => void {
    return () => {}
  }

  onRunEnd(listener: (end: RunEnd) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  earlier(): Earlier {
    return { told: new Set() }
  }

  leave(end: 'over' | 'closed'): void {
    if (end === 'closed') this.#left()
  }
}
