import {
  type AgentRecord,
  type Clock,
  type GenerationFile,
  type Ids,
  limits,
  MailboxError,
  type Outbox,
  protocol,
  type Reserve,
  type ResultError,
} from '../mailbox/index.ts'

/** Records of an agent differ in what follows the envelope. */
export type Body = AgentRecord extends infer R
  ? R extends AgentRecord
    ? Omit<R, 'protocol' | 'id' | 'identity' | 'at'>
    : never
  : never

export interface AgentWriterPorts {
  readonly clock: Clock
  readonly ids: Ids
  readonly reserve: Reserve
  readonly generation: GenerationFile
  /** Told when the end of the assignment cannot be written, after each round of attempts. */
  readonly onResultError: (error: ResultError) => void
}

/** Writes the records of one agent. */
export class AgentWriter {
  readonly #ports: AgentWriterPorts
  readonly #outbox: Outbox<AgentRecord>
  /** Of the record that ends the assignment: one, however often it has to be tried. */
  #endId: string | undefined
  #attempts = 0
  #triedFirst = 0

  constructor(ports: AgentWriterPorts, outbox: Outbox<AgentRecord>) {
    this.#ports = ports
    this.#outbox = outbox
  }

  /** Another record ends the assignment than the one that was tried so far. */
  startAnotherEnd(): void {
    this.#endId = undefined
    this.#attempts = 0
  }

  /**
   * Writes what ends the assignment. Trouble with the disk may pass, and a full one has a reserve. What cannot be
   * written now is tried again at the next look, under the same id: finished work is never given up.
   */
  async insist(status: ResultError['status'], body: () => Promise<Body>): Promise<boolean> {
    const { ids, clock, reserve, onResultError } = this.#ports
    this.#endId ??= ids.next()
    if (this.#attempts === 0) this.#triedFirst = clock.now()
    let why = ''
    for (let attempt = 1; attempt <= limits.resultAttemptsMax; attempt++) {
      this.#attempts++
      try {
        const error = await this.attempt(await body(), this.#endId)
        if (error === undefined) return true
        why = error.message
      } catch (error) {
        if (!(error instanceof MailboxError)) throw error
        if (error.code === 'DROVER_MAILBOX_FULL') reserve.release()
        why = error.message
      }
      await new Promise<void>((resolve) => clock.after(limits.resultRetryMs, resolve))
    }
    const cause = why.slice(0, limits.resultErrorCharsMax)
    onResultError({ status, attempts: this.#attempts, cause, since: this.#triedFirst })
    return false
  }

  /** Admits one record, once. */
  async admit(body: Body): Promise<boolean> {
    return (await this.attempt(body, this.#ports.ids.next())) === undefined
  }

  /**
   * Why a record was not admitted; undefined once it is.
   *
   * @param bytesMax largest record that is admitted, bytes
   */
  async attempt(body: Body, id: string, bytesMax?: number): Promise<MailboxError | undefined> {
    const { clock, generation } = this.#ports
    const { identity } = generation
    const record = { protocol, id, identity, at: clock.now(), ...body } as AgentRecord
    const admission = await this.#outbox.admit(record, bytesMax)
    return 'error' in admission ? admission.error : undefined
  }
}
