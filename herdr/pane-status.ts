import type { Clock } from '../mailbox/index.ts'
import type { HerdrClient } from './client.ts'
import { HerdrError } from './errors.ts'

/** Who reports here. */
const source = 'drover'
/** As herdr calls the host. */
const agent = 'pi'
/** What is shown. */
const state = 'blocked'
/** A report may be dropped and is answered with ok all the same: it is looked at, and sent again so often. */
const attemptsMax = 3
/** Between two attempts, ms. */
const retryMs = 1_000

/**
 * What the pane of this process shows of it, where herdr's own integration of the host does not say it. Display only;
 * trouble with it is nobody's concern.
 */
export class PaneStatus {
  readonly #client: HerdrClient
  readonly #clock: Clock
  readonly #pane: string
  #wanted: string | undefined
  #isWorking = false

  constructor(client: HerdrClient, clock: Clock, pane: string) {
    this.#client = client
    this.#clock = clock
    this.#pane = pane
  }

  /** @param message what it is blocked by; undefined when it goes on */
  show(message: string | undefined): void {
    this.#wanted = message
    if (!this.#isWorking) void this.#work()
  }

  async #work(): Promise<void> {
    this.#isWorking = true
    for (let attempt = 1; attempt <= attemptsMax; attempt++) {
      const wanted = this.#wanted
      const isShown = await this.#tell(wanted).catch((error: unknown) => {
        if (error instanceof HerdrError) return false
        throw error
      })
      if (this.#wanted !== wanted) attempt = 0
      else if (isShown) break
      else await new Promise<void>((resolve) => this.#clock.background(retryMs, resolve))
      if (this.#wanted !== wanted) attempt = 0
    }
    this.#isWorking = false
  }

  /** @returns whether that is what herdr shows, or what its own integration is to say */
  async #tell(message: string | undefined): Promise<boolean> {
    // The id in the environment is that of the start of this process; a moved pane has another one.
    const { pane_id } = (await this.#client.request('pane.get', { pane_id: this.#pane })).pane
    const before = await this.#agentIn(pane_id)
    if (before?.agent_session?.source === `herdr:${agent}`) return true
    if ((before?.agent_status === state) === (message !== undefined)) return true
    const reporter = { pane_id, source, agent, seq: this.#clock.now() * 1_000 }
    if (message === undefined) await this.#client.request('pane.release_agent', reporter)
    else await this.#client.request('pane.report_agent', { ...reporter, state, message })
    return ((await this.#agentIn(pane_id))?.agent_status === state) === (message !== undefined)
  }

  async #agentIn(target: string) {
    try {
      return (await this.#client.request('agent.get', { target })).agent
    } catch (error) {
      if (error instanceof HerdrError && error.code === 'agent_not_found') return undefined
      throw error
    }
  }
}
