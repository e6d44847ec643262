import {
  type Clock,
  type CloseReason,
  type GenerationFile,
  type GenerationPaths,
  limits,
  type Placement,
  readActivity,
} from '../mailbox/index.ts'
import { fold, type RequestOutcome } from './assignment.ts'
import { type CloseReport, notAllClosed, nothingClosed, whyOpen } from './cascade.ts'
import { type ErrorCategory, OperationError } from './operation-error.ts'
import type {
  CloseAnswer,
  Inspection,
  OwnedAgentAnswer,
  OwnedAgentMessage,
  OwnerRequest,
} from './owned-agent.ts'
import { takeUpAgain } from './refusals.ts'
import type { Action, ActionRefusal, AgentFacts } from './row.ts'
import type { StartedActor, Withdrawal } from './start-ports.ts'
import { type SurveyPorts, surveyed } from './survey.ts'
import type { ActorRef } from './system.ts'

/** Closing takes the agent's answer, its end by force, and the same below it, ms. */
const closeWaitMs = 120_000

/** How long a list waits for one agent's latest facts, ms. */
const lookWaitMs = 1_000

/** What holding an agent needs. */
export interface OwnedActorPorts extends SurveyPorts {
  readonly clock: Clock
  /** Called when the agent may have said anew what it does. */
  readonly stirred: () => void
}

/** One agent's actor as its owner holds it: what to tell it, its latest facts, its watch. */
export class OwnedActor implements StartedActor {
  facts: AgentFacts
  readonly #ports: OwnedActorPorts
  readonly #ref: ActorRef<OwnedAgentMessage, OwnedAgentAnswer>
  readonly #paths: GenerationPaths
  readonly #arms: readonly (() => () => void)[]
  readonly #waiting = new Set<(facts: AgentFacts | 'settled') => void>()
  readonly #disarms = new Map<() => () => void, () => void>()
  /** Where it was put here: known even if it could not be recorded. */
  #placement: Placement | undefined
  /** What its actor last said could not be trusted: files it has put aside are not found again. */
  #diagnostic: string | undefined
  /** What ending it came to; undefined as long as it is there. */
  #settled: CloseReport | undefined

  constructor(
    ports: OwnedActorPorts,
    ref: ActorRef<OwnedAgentMessage, OwnedAgentAnswer>,
    generation: GenerationFile,
    paths: GenerationPaths,
  ) {
    this.#ports = ports
    this.#ref = ref
    this.#paths = paths
    this.facts = { generation, assignment: fold([], []), presence: 'unknown', delivered: false }
    this.#arms = [
      () => ports.fs.watch(paths.agent, () => this.tell({ type: 'look' })),
      () => ports.fs.watch(paths.activity, ports.stirred),
    ]
    this.watch()
    this.tell({ type: 'look' })
  }

  get label(): string {
    return this.facts.generation.identity.label
  }

  /** What was last known of it, with what it says now that it does. Asks its actor nothing. */
  get lastSeen(): AgentFacts {
    const activity = readActivity(this.#ports.fs, this.#paths)
    return { ...this.facts, ...(activity && { activity }) }
  }

  /** Tells the actor, if there is one now: a new life of it begins with a look of its own. */
  tell(message: OwnedAgentMessage): void {
    try {
      this.#ref.tell(message)
    } catch {
      // Between two lives, or full of looks: it will find all of it in its mailbox and in the history.
    }
  }

  /** Looks now. Where its actor takes longer than a list can wait, as in a close, its files and process are read. */
  async look(): Promise<void> {
    try {
      await this.#ref.ask({ type: 'look' }, lookWaitMs)
    } catch {
      this.#lookPastActor()
    }
  }

  #lookPastActor(): void {
    const seen = surveyed(this.#ports, this.#paths, this.facts.generation, this.#placement)
    if (seen === undefined) return // it is being settled, and its actor says so
    const { presence, delivered, cleanupError, lostSince, askToldAt, assignment } = this.facts
    const isSameAsk = assignment.ask?.id === seen.facts.assignment.ask?.id
    const diagnostics = new Set([this.#diagnostic, seen.facts.diagnostic])
    diagnostics.delete(undefined)
    this.facts = {
      ...seen.facts,
      // What was proven gone stays gone: a generation is one process life.
      presence: presence === 'lost' ? presence : seen.facts.presence,
      delivered,
      ...(diagnostics.size > 0 && { diagnostic: [...diagnostics].join('; ') }),
      ...(cleanupError !== undefined && { cleanupError }),
      ...(lostSince !== undefined && { lostSince }),
      ...(askToldAt !== undefined && isSameAsk && { askToldAt }),
    }
  }

  /** Arms the watches that are not armed: having none costs latency, never a record. */
  watch(): void {
    for (const arm of this.#arms)
      try {
        if (!this.#disarms.has(arm)) this.#disarms.set(arm, arm())
      } catch {}
  }

  release(): void {
    for (const disarm of this.#disarms.values()) disarm()
    this.#disarms.clear()
  }

  update(facts: AgentFacts): void {
    this.facts = facts
    this.#diagnostic = facts.diagnostic
    for (const tell of this.#waiting) tell(facts)
  }

  settle(report: CloseReport): void {
    this.#settled = report
    for (const tell of this.#waiting) tell('settled')
  }

  /**
   * Says something to an agent at work, and waits a while for its answer.
   *
   * @returns what became of it; `pending` where the agent did not answer in time: it may still act on it
   * @throws OperationError - not possible now, or not admitted; the message says what is possible
   */
  async request(request: OwnerRequest): Promise<RequestOutcome> {
    const { kind, id } = request
    const answer = await this.#ask({ type: 'request', request })
    if (answer === undefined) throw this.#notNow(kind, this.#settledMeanwhile())
    if ('refusal' in answer) throw this.#notNow(kind, answer.refusal)
    if ('error' in answer)
      throw this.#failed(kind, 'admission', 'internal_failure', answer.error.message, {
        nextAction:
          answer.outcome === 'refused'
            ? 'Nothing was sent. Mend the cause, then try again.'
            : 'It may or may not arrive. List agents to see; do not send it again blindly.',
      })
    const outcome = (facts: AgentFacts) => facts.assignment.requests.get(id) ?? 'pending'
    const facts = await this.until(
      (now) => outcome(now) !== 'pending',
      limits.acknowledgementWaitMs,
      new AbortController().signal,
    )
    return facts === undefined ? 'pending' : outcome(facts)
  }

  /** @throws OperationError - not possible now */
  async inspect(): Promise<Inspection> {
    const answer = await this.#ask({ type: 'inspect' })
    if (answer === undefined) throw this.#notNow('inspect', this.#settledMeanwhile())
    if ('refusal' in answer) throw this.#notNow('inspect', answer.refusal)
    return answer as Inspection
  }

  async placed(placement: Placement): Promise<void> {
    this.#placement = placement
    const answer = await this.#ref.ask({ type: 'placed', placement }, closeWaitMs)
    if (answer !== undefined && 'error' in answer) throw answer.error
    this.tell({ type: 'look' })
  }

  /** @throws OperationError - it may not be closed now, or did not come to an end */
  async close(): Promise<CloseReport> {
    const answer = await this.#askToClose('closed')
    if (answer.outcome === 'settled') return answer.report
    if (answer.outcome === 'not-now') throw this.#notNow('close', answer.refusal)
    if (answer.outcome === 'result')
      throw this.#failed(
        'close',
        'close',
        'agent_busy',
        `${this.label} came to a result meanwhile.`,
        {
          nextAction: 'End your turn: the result arrives by itself and the agent is closed then.',
        },
      )
    throw this.#failed('close', 'close', 'rollback_failure', notAllClosed(answer.report), {
      nextAction: 'Close it again later.',
    })
  }

  /** Ends it whatever it has not told yet. What stays open is in the report. */
  async end(): Promise<CloseReport> {
    try {
      const answer = await this.#askToClose('stopped')
      if (answer.outcome !== 'not-now') return answer.report
      return this.#open(answer.refusal.why)
    } catch (error) {
      return this.#open((error as Error).message)
    }
  }

  async withdraw(): Promise<Withdrawal> {
    const answer = await this.#askToClose('withdrawn')
    if (answer.outcome === 'not-now') return { outcome: 'open', why: answer.refusal.why }
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
      const cancel = this.#ports.clock.after(Math.max(0, timeoutMs), giveUp)
      this.#waiting.add(tell)
      signal.addEventListener('abort', giveUp)
    })
  }

  async #askToClose(reason: CloseReason): Promise<CloseAnswer> {
    const answer = await this.#ask({ type: 'close', reason })
    if (answer !== undefined) return answer as CloseAnswer
    // It settled before it came to this message, or in the look for it: all that this took is one report.
    const report = this.#settled ?? { ...nothingClosed, closed: [this.label] }
    return { outcome: 'settled', report }
  }

  /** @returns undefined where it settled by itself before it came to this message, or when it looked because of it */
  #ask(message: OwnedAgentMessage): Promise<OwnedAgentAnswer> {
    return this.#ref.ask(message, closeWaitMs).catch((error) => {
      if (this.#settled === undefined) throw error
      return undefined
    })
  }

  #open(why: string): CloseReport {
    return { ...nothingClosed, notClosed: [{ label: this.label, why }] }
  }

  #settledMeanwhile(): ActionRefusal {
    const why = `${this.label} has come to its end`
    return {
      category: 'agent_busy',
      why,
      next: takeUpAgain,
    }
  }

  #notNow(action: Action, { category, why, next }: ActionRefusal): OperationError {
    return this.#failed(action, 'preconditions', category, `${why}.`, { nextAction: next })
  }

  #failed(
    operation: Action,
    stage: string,
    category: ErrorCategory,
    message: string,
    { nextAction }: { readonly nextAction: string },
  ): OperationError {
    const { generation } = this.facts.generation.identity
    return new OperationError({
      category,
      operation,
      stage,
      message,
      nextAction,
      agent: this.label,
      generation,
      rollbackOccurred: false,
    })
  }
}
