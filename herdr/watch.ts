import type { Clock } from '../mailbox/index.ts'
import type { HerdrClient } from './client.ts'
import { HerdrError } from './errors.ts'
import { EventStream } from './event-stream.ts'
import { type Inventory, isAboutLoss, isSamePlacement } from './inventory.ts'
import { Pace } from './pace.ts'
import type { HerdrEvent } from './records.ts'

/** What a listener is told: what there is now, or that nobody can tell at present. */
export type Sight = { readonly inventory: Inventory } | { readonly failure: HerdrError }

/** Called after a change, a pane that is gone, or a look that failed or is possible again. Must not throw. */
export type SightListener = (sight: Sight) => void

/** How long a look may take, ms: closing panes blocks a herdr for most of a second each. */
const lookMs = 10_000
/** Between two looks that nobody asked for, ms. */
const rescanMs = 5_000
/** Rescans in a row that find what no event told, after which the stream is not trusted. */
const unheardMax = 2
/** Ids of lost panes that are kept between two looks. */
const namesMax = 1_000

interface Look {
  readonly at: number
  /** How many events had come when it began. */
  readonly hints: number
  readonly promise: Promise<Inventory>
}

/**
 * Sees which panes there are, for everybody who needs to know. A pane missing from a look is gone.
 *
 * Ordered: looks follow one another, so a later `at` is a later state.
 * Costs: one request per look, shared by all who wait; with listeners also one stream, and a look every 5 s.
 */
export class PaneWatch {
  readonly #client: HerdrClient
  readonly #clock: Clock
  readonly #stream: EventStream
  readonly #listeners = new Set<{ readonly tell: SightListener }>()
  readonly #pace = new Pace()
  #known: Inventory | undefined
  #knownHints = 0
  #isBlind = false
  #look: Look | undefined
  #nextLook: Promise<Inventory> | undefined
  #hints = 0
  #lookedAt = Number.NEGATIVE_INFINITY
  #lookedHints = 0
  #unheard = 0
  #lost = new Set<string>()
  #cancelFollow: (() => void) | undefined
  #followDueMs = Number.POSITIVE_INFINITY
  #cancelRescan: () => void = () => {}

  constructor(client: HerdrClient, clock: Clock) {
    this.#client = client
    this.#clock = clock
    this.#stream = new EventStream(client, clock, {
      onEvent: (event) => this.#hint(event),
      onTry: () => this.#lookBeside(),
    })
  }

  /**
   * What there is, from a look that began at most `maxAgeMs` ago and after the last event that hints at a change.
   *
   * @throws HerdrError when no look is possible
   */
  async panes(maxAgeMs: number): Promise<Inventory> {
    const since = this.#clock.monotonic() - maxAgeMs
    const known = this.#known
    if (known !== undefined && known.at >= since && this.#knownHints === this.#hints) return known
    const look = this.#look
    if (look !== undefined && look.at >= since && look.hints === this.#hints) return look.promise
    return this.#lookAfresh()
  }

  /** Something was changed from here: what was seen before is not current any more. */
  doubt(): void {
    this.#hints++
  }

  /** @returns ends it; the listener is not called any more */
  onChange(listener: SightListener): () => void {
    const entry = { tell: listener }
    this.#listeners.add(entry)
    if (this.#listeners.size === 1) this.#start()
    return () => {
      if (this.#listeners.delete(entry) && this.#listeners.size === 0) this.#stop()
    }
  }

  /** Forgets all listeners; nothing runs any more. */
  close(): void {
    this.#listeners.clear()
    this.#stop()
  }

  #start(): void {
    this.#rescanLater()
    this.#stream.open()
  }

  #stop(): void {
    this.#stream.close()
    this.#cancelRescan()
    this.#forgetFollow()
    this.#isBlind = false
  }

  /** A look that begins from now on, and not beside another. */
  #lookAfresh(): Promise<Inventory> {
    if (this.#look === undefined) return this.#begin()
    this.#nextLook ??= this.#look.promise
      .catch(() => {})
      .then(() => {
        this.#nextLook = undefined
        return this.#look?.promise ?? this.#begin()
      })
    return this.#nextLook
  }

  /** The same, for nobody but the listeners. */
  #lookBeside(): void {
    this.#lookAfresh().catch(() => {})
  }

  #begin(): Promise<Inventory> {
    const at = this.#clock.monotonic()
    const hints = this.#hints
    const promise = this.#see(at, hints)
    this.#look = { at, hints, promise }
    this.#lookedAt = at
    this.#lookedHints = hints
    return promise
  }

  async #see(at: number, hints: number): Promise<Inventory> {
    const lost = this.#lost
    this.#lost = new Set()
    try {
      const { snapshot } = await this.#client.request('session.snapshot', {}, lookMs)
      const inventory = { at, panes: snapshot.panes, tabs: snapshot.tabs }
      this.#saw(inventory, lost)
      this.#knownHints = hints
      return inventory
    } catch (error) {
      if (error instanceof HerdrError) this.#sawNothing(error)
      throw error
    } finally {
      this.#look = undefined
      this.#rescanLater()
    }
  }

  #saw(inventory: Inventory, lost: ReadonlySet<string>): void {
    const isChanged = this.#known !== undefined && !isSamePlacement(this.#known, inventory)
    const wasBlind = this.#isBlind
    this.#known = inventory
    this.#isBlind = false
    this.#pace.looked(isChanged)
    const isLost = lost.size > 0 && [...lost].some((id) => !has(inventory, id))
    if (isChanged || wasBlind || isLost) this.#tell({ inventory })
  }

  #sawNothing(failure: HerdrError): void {
    if (this.#listeners.size === 0) return
    this.#stream.renew() // a server that does not answer may have left its streams silent
    if (!this.#isBlind) this.#tell({ failure })
    this.#isBlind = true
  }

  #tell(sight: Sight): void {
    for (const entry of this.#listeners)
      queueMicrotask(() => {
        if (this.#listeners.has(entry)) entry.tell(sight)
      })
  }

  /** An event may be old, or about nothing that matters: it is a reason to look, soon, and no more. */
  #hint(event: HerdrEvent): void {
    this.#hints++
    this.#unheard = 0
    if (/^pane\.(exited|closed)$/.test(event.kind) && event.pane_id !== undefined)
      if (this.#lost.size < namesMax) this.#lost.add(event.pane_id)
    const isAlarm = this.#known !== undefined && isAboutLoss(event, this.#known)
    this.#followAt(this.#lookedAt + this.#pace.hint(this.#clock.monotonic(), isAlarm))
  }

  #followAt(dueMs: number): void {
    if (this.#followDueMs <= dueMs) return
    this.#forgetFollow()
    this.#followDueMs = dueMs
    const follow = (): void => {
      this.#forgetFollow()
      if (this.#lookedHints < this.#hints) this.#lookBeside()
    }
    const delayMs = dueMs - this.#clock.monotonic()
    if (delayMs <= 0) follow()
    else this.#cancelFollow = this.#clock.background(delayMs, follow)
  }

  #forgetFollow(): void {
    this.#cancelFollow?.()
    this.#cancelFollow = undefined
    this.#followDueMs = Number.POSITIVE_INFINITY
  }

  /** Events get lost, so without any there is a look now and then. */
  #rescanLater(): void {
    this.#cancelRescan()
    if (this.#listeners.size === 0) return
    this.#cancelRescan = this.#clock.background(rescanMs, () => void this.#rescan())
  }

  async #rescan(): Promise<void> {
    const before = this.#known
    const hints = this.#hints
    const inventory = await this.#lookAfresh().catch(() => undefined)
    if (before === undefined || inventory === undefined || hints !== this.#hints) return
    if (isSamePlacement(before, inventory)) return
    this.#unheard++
    if (this.#unheard < unheardMax) return
    this.#unheard = 0
    this.#stream.renew()
  }
}

const has = ({ panes }: Inventory, paneId: string): boolean =>
  panes.some(({ pane_id }) => pane_id === paneId)
