import type { AgentPlace } from '../actors/index.ts'
import type { Clock, Processes } from '../mailbox/index.ts'
import type { HerdrClient } from './client.ts'
import { HerdrError, isNotFound } from './errors.ts'
import { OwnPane } from './own-pane.ts'
import { type Found, PaneFinder } from './pane-finder.ts'
import { PaneOpener } from './pane-opener.ts'
import type { PaneInfo } from './records.ts'
import { PaneWatch } from './watch.ts'

/** herdr ends the processes of a pane one after another before it answers, ms. */
const closeMs = 10_000

export interface SessionPorts {
  readonly processes: Processes
  readonly clock: Clock
}

/** The herdr this process lives in. */
export class HerdrSession {
  readonly client: HerdrClient
  readonly watch: PaneWatch
  readonly own: OwnPane
  readonly finder: PaneFinder
  readonly opener: PaneOpener
  /** Who listens for changes but has no agent yet to hear of. */
  readonly #early = new Set<() => void>()
  #isUsed = false

  constructor({ processes, clock }: SessionPorts, client: HerdrClient, pane: string) {
    this.client = client
    this.watch = new PaneWatch(client, clock)
    this.own = new OwnPane(client, processes, clock, pane)
    this.finder = new PaneFinder(client, this.watch, processes)
    this.opener = new PaneOpener(client, this.watch, { clock, processes })
  }

  /** From here on there is, or may be, an agent. Before, nothing is asked of herdr, and no stream is held. */
  use(): void {
    this.#isUsed = true
    for (const listen of this.#early) listen()
    this.#early.clear()
  }

  onChange(listener: () => void): () => void {
    if (this.#isUsed) return this.watch.onChange(listener)
    let end = (): void => {
      this.#early.delete(listen)
    }
    const listen = (): void => {
      end = this.watch.onChange(listener)
    }
    this.#early.add(listen)
    return () => end()
  }

  find(place: AgentPlace, maxAgeMs: number): Promise<Found> {
    this.use()
    return this.finder.find(place, maxAgeMs)
  }

  close(): void {
    this.#early.clear()
    this.watch.close()
  }

  /** What a pane shows; undefined where that cannot be had now. */
  async screen({ pane_id }: PaneInfo): Promise<readonly string[] | undefined> {
    try {
      for (const source of ['recent_unwrapped', 'visible'] as const) {
        const { read } = await this.client.request('pane.read', { pane_id, source, lines: 80 })
        const text = read.text.trimEnd()
        if (text !== '') return text.split('\n').map((line) => line.trimEnd())
      }
    } catch {
      // It went away, or herdr does not answer.
    }
    return undefined
  }

  /**
   * Closes a pane that was just seen to be ours. Its terminal may be another one by now: where a live handoff took it
   * over, a shell follows what ran in it. Says why it is left, if it is.
   */
  async closePane({ pane_id }: PaneInfo): Promise<string | undefined> {
    try {
      await this.client.request('pane.close', { pane_id }, closeMs)
    } catch (error) {
      if (!(error instanceof HerdrError)) throw error
      if (isNotFound(error) || error.code === 'not_running') return undefined
      if (error.code === 'confirmation_required') return undefined // herdr asks the person now
      return `its pane ${pane_id} could not be closed: ${error.message}`
    }
    return undefined
  }
}
