import {
  type AgentRecord,
  type AgentStatus,
  type Attachment,
  type Clock,
  type CloseRecord,
  type GenerationFile,
  type GenerationPaths,
  type Ids,
  isSameProcess,
  limits,
  type MailboxFs,
  Outbox,
  type OwnerRecord,
  protocol,
  publishReady,
  type RejectionCode,
  type ReplyRecord,
  type Reserve,
  type RootPaths,
  type Runtime,
  type SteerRecord,
  type TaskRecord,
} from '../mailbox/index.ts'
import { Actor } from './actor.ts'
import { AgentEnd } from './agent-end.ts'
import { AgentMailbox } from './agent-mailbox.ts'
import { AgentWriter } from './agent-writer.ts'
import { type CloseReport, nothingClosed } from './cascade.ts'
import { controlText, messageText } from './message-text.ts'
import type { Observation } from './observation.ts'
import type { AgentHost, RunEnd } from './ports.ts'
import { lookThrough } from './presence.ts'

/** The agents an agent owns itself, where its definition allows it any. */
export interface OwnAgents {
  /** Whether one of them is still at work or its result not told yet. */
  readonly hasUnsettled: boolean
  /** Whether each of those waits for an answer of its owner. */
  readonly areAllAsking: boolean
  closeAll(): Promise<CloseReport>
  onChange(listener: () => void): () => void
}

export interface ManagedAgentPorts {
  readonly fs: MailboxFs
  readonly clock: Clock
  readonly ids: Ids
  readonly root: RootPaths
  readonly reserve: Reserve
  readonly runtime: Runtime
  readonly build: string
  readonly paths: GenerationPaths
  readonly generation: GenerationFile
  readonly host: AgentHost
  readonly ownAgents?: OwnAgents
  /** Told what the agent waits for whenever that changes; advice for whoever looks at it. */
  readonly onStatus: (status: AgentStatus) => void
  readonly observation?: Observation
}

type Message =
  | 'look'
  | { readonly shown: string }
  | { readonly question: Question; readonly bytesMax: number }

/** What an agent wants to know of its owner. */
export interface Question {
  readonly text: string
  readonly files?: readonly Attachment[]
}

/** `refused`: why it cannot be asked now, and what the agent may do. */
export type AskAnswer =
  | { readonly outcome: 'asked'; readonly ask: string; readonly request: string }
  | { readonly outcome: 'refused'; readonly why: string; readonly next: string }

/** Admitting a question takes two syncs; a disk that takes longer has other troubles, ms. */
const askWaitMs = 30_000

/**
 * The agent's side of one assignment, in the agent's own process, whatever the runner: accepts the task, has it
 * worked on, and writes one result or failure when the run is really over. Then the process ends, or is left to the
 * person before it until its owner ends it.
 */
export class ManagedAgent {
  readonly #ports: ManagedAgentPorts
  readonly #mailbox: AgentMailbox
  readonly #writer: AgentWriter
  readonly #end: AgentEnd
  readonly #actor: Actor<Message, AskAnswer | undefined>
  readonly #ends: (() => void)[] = []
  #isLookQueued = false
  #isTurnStarted = false
  /** Noted as it is told, past the queue: what is handled meanwhile must not take the run before for the last. */
  #lastEnd: RunEnd | undefined
  /** What the model is to be told as soon as no run goes on. */
  readonly #toStart: { readonly text: string; readonly request: string }[] = []
  /** Steers that were accepted and not shown to the model yet. */
  readonly #unshown = new Map<string, string>()
  /** Ends the wait before a busy host is asked again: one, however often we look meanwhile. */
  #retry: (() => void) | undefined
  #isOver = false
  #status: AgentStatus = {}

  private constructor(ports: ManagedAgentPorts, outbox: Outbox<AgentRecord>) {
    const { fs, clock, ids, paths, generation, observation } = ports
    this.#ports = ports
    this.#writer = new AgentWriter(
      { ...ports, onResultError: (resultError) => this.#note({ resultError }) },
      outbox,
    )
    this.#end = new AgentEnd(ports, this.#writer)
    this.#mailbox = new AgentMailbox(fs, ids, paths, generation, 'quarantine')
    this.#actor = new Actor<Message, AskAnswer | undefined>({
      name: generation.identity.label,
      clock,
      handle: (message) => this.#handle(message),
      ...(observation && { observation }),
    })
    // Our own bug must not leave a process that never ends: its owner sees it lost, and says so.
    void this.#actor.exited.then(({ reason }) => {
      if (reason === 'failure') this.#leave('closed')
    })
  }

  /**
   * Takes up an assignment.
   *
   * `leave`: there is none to take up; it was closed before it began, is settled, or another process has it.
   *
   * @throws MailboxError - the mailbox cannot be read or written
   */
  static async open(ports: ManagedAgentPorts): Promise<ManagedAgent | 'leave'> {
    const { fs, clock, ids, paths, generation, build, runtime } = ports
    const outbox = await Outbox.open<AgentRecord>({
      fs,
      directory: paths.agent,
      drafts: paths.agentDrafts,
      reserve: ports.reserve,
      bytesMax: limits.recordReadBytesMax,
    })
    const agent = new ManagedAgent(ports, outbox)
    const state = await lookThrough(clock, agent.#mailbox)
    if (state === 'gone' || agent.#mailbox.assignment.close !== undefined) return 'leave'
    const { ready } = agent.#mailbox
    if (ready === undefined) {
      const { identity } = generation
      const file = { protocol, kind: 'ready', identity, build, at: clock.now(), runtime } as const
      if ((await publishReady(fs, ids, paths, file)) === 'exists') return 'leave'
    } else if (!isSameProcess(ready.runtime.process, runtime.process)) return 'leave'
    else if (agent.#mailbox.assignment.conclusion === undefined) agent.#goOn()
    else return agent.#rest()
    agent.#begin()
    return agent
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /**
   * Asks the owner one question; the assignment is blocked until it answers or closes.
   *
   * Durable: once `asked`, the question survives whatever dies.
   *
   * @param bytesMax largest record it may become, bytes
   */
  async ask(question: Question, bytesMax: number = limits.recordBytesDefault): Promise<AskAnswer> {
    const answer = await this.#actor.ask({ question, bytesMax }, askWaitMs)
    return answer ?? { outcome: 'refused', why: 'the assignment is over', next: 'End your turn.' }
  }

  /** The host turned to another session: this assignment cannot be finished any more. */
  async replaced(): Promise<void> {
    const { task } = this.#mailbox.assignment
    if (task !== undefined && !this.#isOver)
      await this.#end.fail(task, 'session_replaced', 'The agent was switched to another session.')
    await this.stop()
  }

  /** Lets go of everything. What is durable stays, and the owner sees the process end. */
  async stop(): Promise<void> {
    for (const end of this.#ends.splice(0)) end()
    await this.#actor.stop('drop')
    this.#cancelRetry() // what was handled to its end may have set it
  }

  /** Its end is written; it is only here until its owner has been told. */
  #rest(): this {
    this.#leave('over')
    return this
  }

  /** Takes up what an earlier life in this process had accepted: a reload came between. */
  #goOn(): void {
    const { records, assignment } = this.#mailbox
    const { told, end } = this.#ports.host.earlier()
    for (const record of records.owner) {
      const outcome = assignment.requests.get(record.id)
      if (record.kind === 'steer') {
        if (outcome !== 'accepted') continue
        this.#unshown.set(record.id, controlText(record))
        if (told.has(record.id)) this.#tell({ shown: record.id })
      } else if (
        (record.kind === 'task' || record.kind === 'reply') &&
        outcome === 'accepted' &&
        !told.has(record.id)
      )
        this.#toStart.push(toTell(record))
    }
    this.#isTurnStarted = records.owner.some(({ id }) => told.has(id))
    if (this.#isTurnStarted) this.#lastEnd = end
  }

  #begin(): void {
    const { fs, host, paths, ownAgents } = this.#ports
    this.#ends.push(
      host.onRunEnd((end) => {
        this.#lastEnd = end
        this.#status = {} // a run has been since: whatever it was, it is told anew
        this.#look()
      }),
    )
    this.#ends.push(host.onShown((shown) => this.#tell({ shown })))
    if (ownAgents) this.#ends.push(ownAgents.onChange(() => this.#look()))
    try {
      this.#ends.push(fs.watch(paths.owner, () => this.#look()))
    } catch {
      // Without a watch the rescan finds everything, later.
    }
    this.#rescan()
    this.#look()
  }

  #rescan(): void {
    const cancel = this.#ports.clock.background(limits.rescanMs, () => {
      this.#ends.splice(this.#ends.indexOf(cancel), 1)
      this.#look()
      this.#rescan()
    })
    this.#ends.push(cancel)
  }

  #look(): void {
    if (this.#isLookQueued) return
    this.#isLookQueued = true
    this.#tell('look')
  }

  #tell(message: Message): void {
    if (this.#actor.state === 'running') this.#actor.tell(message)
  }

  async #handle(message: Message): Promise<AskAnswer | undefined> {
    if (message === 'look') this.#isLookQueued = false
    if (this.#isOver) return undefined
    if ((await lookThrough(this.#ports.clock, this.#mailbox)) === 'gone') return this.#leave('over')
    const { close, task } = this.#mailbox.assignment
    if (close !== undefined) return this.#close(close)
    if (task === undefined) return undefined
    if (typeof message === 'object' && 'question' in message)
      return this.#putQuestion(task, message.question, message.bytesMax)
    if (typeof message === 'object' && 'shown' in message) await this.#noteShown(message.shown)
    await this.#answer(task)
    this.#startNext()
    if (this.#isTurnStarted) await this.#conclude(task)
    return undefined
  }

  /** Takes the requests that wait, in the order of their owner. */
  async #answer(task: TaskRecord): Promise<void> {
    for (const record of this.#mailbox.records.owner) {
      const { requests } = this.#mailbox.assignment
      if (requests.get(record.id) !== 'pending') continue
      if (record.kind === 'task' && record.id === task.id) await this.#acceptTask(task)
      else if (record.kind === 'steer') await this.#takeSteer(record)
      else if (record.kind === 'reply') await this.#takeReply(record)
      else await this.#reject(record, 'busy', 'This agent has its task already.')
      this.#mailbox.look()
    }
  }

  async #acceptTask(task: TaskRecord): Promise<void> {
    if (await this.#accept(task)) this.#toStart.push(toTell(task))
  }

  async #takeSteer(steer: SteerRecord): Promise<void> {
    const { phase, ask } = this.#mailbox.assignment
    if (phase !== 'active') return void (await this.#reject(steer, 'idle', 'No work goes on.'))
    if (ask !== undefined)
      return void (await this.#reject(
        steer,
        'busy',
        'The agent waits for an answer to its question.',
      ))
    if (!(await this.#accept(steer))) return
    const text = controlText(steer)
    this.#unshown.set(steer.id, text)
    if (this.#ports.host.steer(text, steer.id) === 'idle')
      this.#toStart.push({ text, request: steer.id })
  }

  async #takeReply(reply: ReplyRecord): Promise<void> {
    const { ask } = this.#mailbox.assignment
    if (ask?.id !== reply.ask)
      return void (await this.#reject(reply, 'identity', 'That question is not open any more.'))
    if (await this.#accept(reply)) this.#toStart.push(toTell(reply))
  }

  #accept({ id }: OwnerRecord): Promise<boolean> {
    return this.#writer.admit({ kind: 'ack', request: id, accepted: true })
  }

  async #noteShown(request: string): Promise<void> {
    if (!this.#unshown.delete(request)) return
    await this.#writer.admit({ kind: 'consumed', request })
    this.#mailbox.look()
  }

  /** Starts a turn with what waits, one at a time, as soon as the host is idle. */
  #startNext(): void {
    const [next] = this.#toStart
    if (next === undefined) return
    if (this.#ports.host.tryStart(next.text, next.request) === 'sent') {
      this.#toStart.shift()
      this.#isTurnStarted = true
      this.#lastEnd = undefined
      this.#tell({ shown: next.request })
    } else
      this.#retry ??= this.#ports.clock.background(limits.resultRetryMs, () => {
        this.#retry = undefined
        this.#look()
      })
  }

  #cancelRetry(): void {
    this.#retry?.()
    this.#retry = undefined
  }

  async #putQuestion(task: TaskRecord, question: Question, bytesMax: number): Promise<AskAnswer> {
    const refusal = this.#whyNoQuestion()
    if (refusal !== undefined) return { outcome: 'refused', ...refusal }
    const ask = this.#ports.ids.next()
    const body = { kind: 'ask', request: task.id, ...question } as const
    const error = await this.#writer.attempt(body, ask, bytesMax)
    if (error !== undefined)
      return {
        outcome: 'refused',
        why: `it could not be kept: ${error.message}`,
        next: 'Ask again, shorter or later, or go on by yourself.',
      }
    this.#mailbox.look()
    return { outcome: 'asked', ask, request: task.id }
  }

  #whyNoQuestion(): { readonly why: string; readonly next: string } | undefined {
    const { phase, ask, requests } = this.#mailbox.assignment
    const { ownAgents } = this.#ports
    if (phase !== 'active') return { why: 'there is no assignment at work', next: 'End your turn.' }
    if (ask !== undefined)
      return {
        why: 'a question is open already, and there is one at a time',
        next: 'End your turn: the answer starts you again.',
      }
    if ([...requests.values()].includes('pending'))
      return {
        why: 'a request of the owner waits to be taken',
        next: 'Go on, and ask again in the next turn.',
      }
    if (ownAgents?.hasUnsettled && !ownAgents.areAllAsking)
      return {
        why: 'your own agents are still at work',
        next: 'End your turn and wait for their results, or close them.',
      }
    return undefined
  }

  #reject({ id }: OwnerRecord, code: RejectionCode, message: string): Promise<boolean> {
    return this.#writer.admit({ kind: 'ack', request: id, accepted: false, code, message })
  }

  /** Ends the assignment, once the run is really over and nobody below is still at work. */
  async #conclude(task: TaskRecord): Promise<void> {
    const waiting = this.#waitsFor()
    if (waiting === 'owner') this.#lastEnd = undefined // the reply starts another run
    const end = this.#lastEnd
    this.#note({ ...(waiting && { waiting }), resultError: this.#status.resultError })
    if (end === undefined || waiting !== undefined || !this.#ports.host.isIdle()) return
    if (this.#toStart.length > 0) return
    const [missed] = this.#unshown // it came too late for the run that has ended, and counts all the same
    if (missed !== undefined && end.outcome !== 'aborted') {
      this.#toStart.push({ request: missed[0], text: missed[1] })
      return this.#startNext()
    }
    if (await this.#end.write(task, end)) this.#leave('over')
  }

  /** What keeps an assignment open whose run is over. */
  #waitsFor(): AgentStatus['waiting'] {
    const { host, ownAgents } = this.#ports
    if (this.#mailbox.assignment.ask !== undefined) return 'owner'
    if (this.#lastEnd === undefined || !host.isIdle() || this.#toStart.length > 0) return undefined
    if (ownAgents?.hasUnsettled) return 'agents'
    return this.#lastEnd.outcome === 'aborted' && host.hasPerson ? 'person' : undefined
  }

  #note(status: AgentStatus): void {
    const { waiting, resultError } = this.#status
    if (status.waiting === waiting && status.resultError === resultError) return
    this.#status = status
    this.#ports.onStatus(status)
  }

  async #close(close: CloseRecord): Promise<undefined> {
    const { host, ownAgents } = this.#ports
    host.abort()
    // Before anything else is waited for: what its agents found would start another run in a host that has none now.
    const closing = ownAgents?.closeAll()
    closing?.catch(() => {}) // it is awaited below
    if (this.#mailbox.assignment.requests.get(close.id) === 'pending') await this.#accept(close)
    const report = (await closing) ?? nothingClosed
    await this.#end.close(close, report)
    this.#leave('closed')
  }

  #leave(end: 'over' | 'closed'): undefined {
    this.#isOver = true
    this.#cancelRetry()
    this.#ports.host.leave(end)
  }
}

const toTell = (record: TaskRecord | ReplyRecord): { text: string; request: string } => ({
  text: record.kind === 'task' ? messageText(record) : controlText(record),
  request: record.id,
})
