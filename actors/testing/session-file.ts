import { sameIdentity } from '../../mailbox/index.ts'
import type { DeliveryIdentity } from '../index.ts'

/** Compared field by field, not by a key of ours: this is what a host's file is searched for. */
function isSame(a: DeliveryIdentity, b: DeliveryIdentity): boolean {
  return sameIdentity(a, b) && a.request === b.request && a.ask === b.ask && a.notice === b.notice
}

/** The file of an owner's session: what its model and its person have really been told. Outlives every process. */
export class FakeSessionFile {
  readonly #entries: DeliveryIdentity[]
  #synced: number

  /** @param entries what is durable in it */
  constructor(entries: readonly DeliveryIdentity[] = []) {
    this.#entries = [...entries]
    this.#synced = entries.length
  }

  /** All that was told, in order. */
  get entries(): readonly DeliveryIdentity[] {
    return this.#entries
  }

  append(identities: readonly DeliveryIdentity[]): void {
    this.#entries.push(...identities)
  }

  /** Looks, and makes durable what it found. */
  find(wanted: readonly DeliveryIdentity[]): readonly DeliveryIdentity[] {
    this.#synced = this.#entries.length
    return wanted.filter((each) => this.#entries.some((entry) => isSame(entry, each)))
  }

  /** What was told of results, in order. */
  get results(): readonly DeliveryIdentity[] {
    return this.#entries.filter(({ ask, notice }) => ask === undefined && notice === undefined)
  }

  /** How often a generation's result was told. */
  count(generation: string): number {
    return this.results.filter((entry) => entry.generation === generation).length
  }

  /** The file as it is now, synced and not. */
  copy(): FakeSessionFile {
    const copy = new FakeSessionFile(this.#entries)
    copy.#synced = this.#synced
    return copy
  }

  /** What a power cut now may leave of it: all that was synced, and any part of what was appended since. */
  afterPowerLoss(): readonly FakeSessionFile[] {
    const kept = Array.from({ length: this.#entries.length - this.#synced + 1 }, (_, n) => n)
    return kept.map((n) => new FakeSessionFile(this.#entries.slice(0, this.#synced + n)))
  }
}
