import type { Clock, CloseReason, GenerationFile, MailboxFs, Placement } from '../mailbox/index.ts'
import { fold } from './assignment.ts'
import type { CloseReport } from './cascade.ts'
import { type ErrorCategory, OperationError } from './operation-error.ts'
import type { CloseAnswer, OwnedAgentAnswer, OwnedAgentMessage } from './owned-agent.ts'
import type { AgentFacts } from './row.ts'
import type { StartedActor, Withdrawal } from './start.ts'
import type { ActorRef } from './system.ts'

/** Closing takes the agent's answer, its end by force, and the same below it, ms. */
const closeWaitMs = 120_000

/** How long a list waits for one agent's latest facts, ms. */
const lookWaitMs = 1_000

/** One agent's actor as its owner holds it: what to tell it, its latest facts, its watch. */
export class OwnedActor implements StartedActor {
  facts: AgentFacts
  readonly #ref: ActorRef<OwnedAgentMessage, OwnedAgentAnswer>
  readonly #clock: Clock
  readonly #arm: () => () => void
  readonly #waiting = new Set<(facts: AgentFacts | 'settled') => void>()
  #disarm: (() => void) | undefined
  #isSettled = false

  /** @param directory where the agent's records appear */
  constructor(
    { fs, clock }: { readonly fs: MailboxFs; readonly clock: Clock },
    ref: ActorRef<OwnedAgentMessage, OwnedAgentAnswer>,
    generation: GenerationFile,
    directory: string,
  ) {
    this.#ref = ref
    this.facts = { generation, assignment: fold([], []), presence: 'unknown', delivered: false }
    this.#clock = clock
    this.#arm = () => fs.watch(directory, () => this.tell({ type: 'look' }))
    this.watch()
    this.tell({ type: 'look' })
  }

  get label(): string {
    return this.facts.generation.identity.label
  }

  /** Tells the actor, if there is one now: a new life of it begins with a look of its own. */
  tell(message: OwnedAgentMessage): void {
    try {
      this.#ref.tell(message)
    } catch {
      // Between two lives, or full of looks: it will find all of it in its mailbox and in the history.
    }
  }

  /** Looks now. An agent that is being closed may take longer than a list can wait: its latest facts have to do. */
  async look(): Promise<void> {
    try {
      await this.#ref.ask({ type: 'look' }, lookWaitMs)
    } catch {}
  }

  /** Arms the watch, if it is not armed: having none costs latency, never a record. */
  watch(): void {
    try {
      this.#disarm ??= this.#arm()
    } catch {}
  }

  release(): void {
    this.#disarm?.()
    this.#disarm = undefined
  }

  update(facts: AgentFacts | 'settled'): void {
    if (facts === 'settled') this.#isSettled = true
    else this.facts = facts
    for (const tell of this.#waiting) tell(facts)
  }

  async placed(placement: Placement): Promise<void> {
    const answer = await this.#ref.ask({ type: 'placed', placement }, closeWaitMs)
    if (answer !== undefined && 'error' in answer) throw answer.error
    this.tell({ type: 'look' })
  }

  /** @throws OperationError - it may not be closed now, or did not come to an end */
  async close(): Promise<CloseReport> {
    const answer = await this.#askToClose('closed')
    if (answer.outcome === 'settled') return answer.report
    if (answer.outcome === 'refused')
      throw this.#notClosed(answer.refusal.category, `${answer.refusal.why}.`, answer.refusal.next)
    if (answer.outcome === 'result')
      throw this.#notClosed(
        'agent_busy',
        `${this.label} came to a result while it was being closed.`,
        'End your turn: the result arrives by itself and the agent is closed then.',
      )
    const why = whyOpen(answer.report)
    throw this.#notClosed('rollback_failure', `Not all is closed. ${why}.`, 'Close it again later.')
  }

  /** Ends it whatever it has not told yet. What stays open is in the report. */
  async end(): Promise<CloseReport> {
    try {
      const answer = await this.#askToClose('stopped')
      if (answer.outcome !== 'refused') return answer.report
      return this.#open(answer.refusal.why)
    } catch (error) {
      return this.#open((error as Error).message)
    }
  }

  async withdraw(): Promise<Withdrawal> {
    const answer = await this.#askToClose('withdrawn')
    if (answer.outcome === 'refused') return { outcome: 'open', why: answer.refusal.why }
    const why = whyOpen(answer.report)
    return { outcome: answer.outcome, ...(why !== '' && { why }) }
  }

  until(
    isTrue: (facts: AgentFacts) => boolean,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<AgentFacts | undefined> {
    if (isTrue(this.facts)) return Promise.resolve(this.facts)
    if (signal.aborted) return Promise.resolve(undefined) // an abort that came before is not announced again
    return new Promise((resolve) => {
      const end = (facts?: AgentFacts) => {
        this.#waiting.delete(tell)
        cancel()
        signal.removeEventListener('abort', giveUp)
        resolve(facts)
      }
      const giveUp = () => end()
      const tell = (facts: AgentFacts | 'settled') => {
        if (facts === 'settled') end()
        else if (isTrue(facts)) end(facts)
      }
      const cancel = this.#clock.after(Math.max(0, timeoutMs), giveUp)
      this.#waiting.add(tell)
      signal.addEventListener('abort', giveUp)
    })
  }

  async #askToClose(reason: CloseReason): Promise<CloseAnswer> {
    const { label } = this
    const answer = await this.#ref.ask({ type: 'close', reason }, closeWaitMs).catch((error) => {
      if (!this.#isSettled) throw error
    })
    // It had settled by itself before it came to this message.
    const settled = { closed: [label], notClosed: [], kept: [] }
    return (answer as CloseAnswer | undefined) ?? { outcome: 'settled', report: settled }
  }

  #open(why: string): CloseReport {
    return { closed: [], notClosed: [{ label: this.label, why }], kept: [] }
  }

  #notClosed(category: ErrorCategory, message: string, nextAction: string): OperationError {
    return new OperationError({
      category,
      operation: 'close',
      stage: 'close',
      message,
      nextAction,
      agent: this.label,
      generation: this.facts.generation.identity.generation,
      rollbackOccurred: false,
    })
  }
}

function whyOpen({ notClosed }: CloseReport): string {
  return notClosed.map(({ label, why }) => `${label}: ${why}`).join('; ')
}
