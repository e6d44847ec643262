import type { Clock } from '../mailbox/index.ts'
import type { HerdrClient } from './client.ts'
import { HerdrError } from './errors.ts'
import type { HerdrEvent } from './records.ts'

const subscriptions = [
  'pane.exited',
  'pane.closed',
  'pane.moved',
  'pane.created',
  'tab.closed',
  'workspace.closed',
  'tab.moved',
].map((type) => ({ type }))

const pauseMinMs = 250
const pauseMaxMs = 30_000
/** A stream that stood this long was a good one, ms. */
const goodMs = 5_000

export interface StreamListener {
  onEvent(event: HerdrEvent): void
  /** A stream was opened, or could not be: events from before are lost, so look. */
  onTry(): void
}

/** Events about panes coming and going, for as long as it is open: it opens another stream when one ends. */
export class EventStream {
  readonly #client: HerdrClient
  readonly #clock: Clock
  readonly #listener: StreamListener
  #turn = 0
  #pauseMs = pauseMinMs
  #openedAt: number | undefined
  #hangUp: () => void = () => {}

  constructor(client: HerdrClient, clock: Clock, listener: StreamListener) {
    this.#client = client
    this.#clock = clock
    this.#listener = listener
  }

  open(): void {
    this.#pauseMs = pauseMinMs
    void this.#try()
  }

  close(): void {
    this.#turn++
    this.#hangUp()
    this.#hangUp = () => {}
    this.#openedAt = undefined
  }

  /** Trusts the present stream no more: after a pause there is another. Does nothing while there is none. */
  renew(): void {
    if (this.#openedAt !== undefined) this.#tryLater()
  }

  async #try(): Promise<void> {
    const turn = ++this.#turn
    const isCurrent = (): boolean => turn === this.#turn
    try {
      const hangUp = await this.#client.subscribe(
        subscriptions,
        (event) => isCurrent() && this.#listener.onEvent(event),
        () => isCurrent() && this.#tryLater(),
      )
      if (!isCurrent()) return hangUp()
      this.#hangUp = hangUp
      this.#openedAt = this.#clock.monotonic()
    } catch (error) {
      if (!(error instanceof HerdrError)) throw error
      if (!isCurrent()) return
      this.#tryLater()
    }
    this.#listener.onTry()
  }

  #tryLater(): void {
    const now = this.#clock.monotonic()
    const stoodMs = now - (this.#openedAt ?? now)
    this.close()
    if (stoodMs >= goodMs) this.#pauseMs = pauseMinMs
    this.#hangUp = this.#clock.background(this.#pauseMs, () => void this.#try())
    this.#pauseMs = Math.min(2 * this.#pauseMs, pauseMaxMs)
  }
}
