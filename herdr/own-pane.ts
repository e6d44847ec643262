import type { Clock, Processes } from '../mailbox/index.ts'
import type { HerdrClient } from './client.ts'
import { HerdrError, isUnsupported } from './errors.ts'
import type { PaneInfo } from './records.ts'

/** How long an answer about the own pane holds, ms: a person may move it at any time. */
const provenMs = 2_000

/** The pane this process lives in, as far as its environment is right about it. */
export class OwnPane {
  readonly #client: HerdrClient
  readonly #processes: Processes
  readonly #clock: Clock
  readonly #id: string
  #last: { readonly at: number; readonly pane: Promise<PaneInfo> } | undefined

  constructor(client: HerdrClient, processes: Processes, clock: Clock, id: string) {
    this.#client = client
    this.#processes = processes
    this.#clock = clock
    this.#id = id
  }

  /**
   * Where it is now. The id in the environment is that of its start, and may be inherited by processes that live
   * elsewhere: the pane counts only if this process runs in it.
   *
   * @throws HerdrError foreign_pane - this process does not run in it
   * @throws HerdrError - herdr cannot be asked
   */
  find(): Promise<PaneInfo> {
    const now = this.#clock.monotonic()
    if (this.#last === undefined || now - this.#last.at > provenMs) {
      const pane = this.#prove()
      this.#last = { at: now, pane }
      pane.catch(() => {
        this.#last = undefined
      })
    }
    return this.#last.pane
  }

  async #prove(): Promise<PaneInfo> {
    await this.#client.server()
    const { pane } = await this.#client.request('pane.get', { pane_id: this.#id })
    if (await this.#isOurs(pane)) return pane
    throw new HerdrError({
      code: 'foreign_pane',
      method: 'pane.process_info',
      outcome: 'refused',
      message: `HERDR_PANE_ID names the pane ${this.#id}, but this process does not run in it.`,
    })
  }

  async #isOurs({ pane_id }: PaneInfo): Promise<boolean> {
    try {
      const { process_info: info } = await this.#client.request('pane.process_info', { pane_id })
      const { pid } = this.#processes.self()
      const roots = [info.shell_pid, ...info.foreground_processes.map((process) => process.pid)]
      return roots.some((root) => root !== undefined && (root === pid || this.#isBelow(root, pid)))
    } catch (error) {
      if (error instanceof HerdrError && isUnsupported(error)) return true // nothing contradicts it
      throw error
    }
  }

  #isBelow(root: number, pid: number): boolean {
    const identity = this.#processes.identify(root)
    return (
      identity !== undefined &&
      this.#processes.descendants(identity).some((process) => process.pid === pid)
    )
  }
}
