import {
  type AgentRecord,
  type Clock,
  type CloseRecord,
  type FailureCode,
  type GenerationFile,
  type GenerationPaths,
  type Ids,
  limits,
  MailboxError,
  type MailboxFs,
  Outbox,
  type OwnerRecord,
  protocol,
  publishReady,
  type RejectionCode,
  type Reserve,
  type RootPaths,
  type Runtime,
  resultPath,
  type TaskRecord,
  type WholeText,
} from '../mailbox/index.ts'
import { Actor } from './actor.ts'
import { AgentMailbox } from './agent-mailbox.ts'
import { type CloseReport, keepText } from './cascade.ts'
import { head } from './delivery.ts'
import type { Observation } from './observation.ts'
import type { AgentHost, RunEnd } from './ports.ts'
import { lookThrough } from './presence.ts'

/** The agents an agent owns itself, where its definition allows it any. */
export interface OwnAgents {
  /** Whether one of them is still at work or its result not told yet. */
  readonly hasUnsettled: boolean
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
  readonly observation?: Observation
}

type Message = 'look' | { readonly runEnd: RunEnd }

/** Records of an agent differ in what follows the envelope. */
type Body = AgentRecord extends infer R
  ? R extends AgentRecord
    ? Omit<R, 'protocol' | 'id' | 'identity' | 'at'>
    : never
  : never

/**
 * The agent's side of one assignment, in the agent's own process, whatever the runner: accepts the task, has it
 * worked on, and writes one result or failure when the run is really over. Then the process ends.
 */
export class ManagedAgent {
  readonly #ports: ManagedAgentPorts
  readonly #mailbox: AgentMailbox
  readonly #outbox: Outbox<AgentRecord>
  readonly #actor: Actor<Message, void>
  readonly #ends: (() => void)[] = []
  #isLookQueued = false
  #isTurnStarted = false
  #lastEnd: RunEnd | undefined
  #isOver = false

  private constructor(ports: ManagedAgentPorts, outbox: Outbox<AgentRecord>) {
    const { fs, clock, ids, paths, generation, observation } = ports
    this.#ports = ports
    this.#outbox = outbox
    this.#mailbox = new AgentMailbox(fs, ids, paths, generation, 'quarantine')
    this.#actor = new Actor<Message, void>({
      name: generation.identity.label,
      clock,
      handle: (message) => this.#handle(message),
      ...(observation && { observation }),
    })
    // Our own bug must not leave a process that never ends: its owner sees it lost, and says so.
    void this.#actor.exited.then(({ reason }) => {
      if (reason === 'failure') this.#leave()
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
    } else if (!isSameProcess(ready.runtime, runtime)) return 'leave'
    else agent.#isTurnStarted = agent.#mailbox.assignment.phase !== 'offered' // goes on after a reload
    agent.#begin()
    return agent
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** The host turned to another session: this assignment cannot be finished any more. */
  async replaced(): Promise<void> {
    const { task } = this.#mailbox.assignment
    if (task !== undefined && !this.#isOver)
      await this.#fail(task, 'session_replaced', 'The agent was switched to another session.')
    await this.stop()
  }

  /** Lets go of everything. What is durable stays, and the owner sees the process end. */
  async stop(): Promise<void> {
    for (const end of this.#ends.splice(0)) end()
    await this.#actor.stop('drop')
  }

  #begin(): void {
    const { fs, host, paths, ownAgents } = this.#ports
    this.#ends.push(host.onRunEnd((runEnd) => this.#tell({ runEnd })))
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

  async #handle(message: Message): Promise<void> {
    if (message === 'look') this.#isLookQueued = false
    else this.#lastEnd = message.runEnd
    if (this.#isOver) return
    if ((await lookThrough(this.#ports.clock, this.#mailbox)) === 'gone') return this.#leave()
    const { close, task } = this.#mailbox.assignment
    if (close !== undefined) return this.#close(close)
    if (task === undefined) return
    await this.#answer(task)
    if (this.#isTurnStarted) await this.#conclude(task)
  }

  /** Takes the requests that wait, in the order of their owner. */
  async #answer(task: TaskRecord): Promise<void> {
    const { requests } = this.#mailbox.assignment
    for (const record of this.#mailbox.records.owner) {
      if (requests.get(record.id) !== 'pending') continue
      if (record.id === task.id)
        await this.#admit({ kind: 'ack', request: task.id, accepted: true })
      else
        await this.#reject(record, 'incompatible', `This agent takes no ${record.kind} requests.`)
    }
    this.#mailbox.look()
    if (this.#mailbox.assignment.phase === 'active' && !this.#isTurnStarted) this.#startTurn(task)
  }

  #startTurn(task: TaskRecord): void {
    if (this.#ports.host.tryStart(task.text) === 'sent') this.#isTurnStarted = true
    else this.#ports.clock.background(limits.resultRetryMs, () => this.#look())
  }

  #reject({ id }: OwnerRecord, code: RejectionCode, message: string): Promise<boolean> {
    return this.#admit({ kind: 'ack', request: id, accepted: false, code, message })
  }

  /** Ends the assignment, once the run is really over and nobody below is still at work. */
  async #conclude(task: TaskRecord): Promise<void> {
    const end = this.#lastEnd
    if (end === undefined || this.#ports.ownAgents?.hasUnsettled || !this.#ports.host.isIdle())
      return
    if (end.outcome === 'aborted') return // a person stopped the run, and may go on
    if (end.outcome === 'failed') await this.#fail(task, 'model_error', end.message)
    else if (!/\S/.test(end.text))
      await this.#fail(task, 'empty_result', 'The agent ended without an answer.')
    else await this.#complete(task, end.text)
    this.#leave()
  }

  async #complete(task: TaskRecord, text: string): Promise<void> {
    const usage = this.#ports.host.usage()
    await this.#insist(async () => {
      return { kind: 'result', request: task.id, ...(await this.#fit(text)), usage }
    })
  }

  async #fail(task: TaskRecord, code: FailureCode, message: string): Promise<void> {
    const usage = this.#ports.host.usage()
    const shown = head(message, limits.resultInlineBytesMax).trim() || code
    await this.#insist(async () => {
      return { kind: 'failure', request: task.id, code, message: shown, usage }
    })
  }

  /** A long text is durable in its own file before the record that names it. */
  async #fit(text: string): Promise<{ readonly text: string; readonly whole?: WholeText }> {
    const bytes = Buffer.byteLength(text)
    if (bytes <= limits.resultInlineBytesMax) return { text }
    const { fs, root, generation } = this.#ports
    const file = resultPath(root, generation.identity.generation)
    await keepText(fs, file, text)
    return { text: head(text.trimStart(), limits.resultInlineBytesMax), whole: { file, bytes } }
  }

  /** Writes what ends the assignment; trouble with the disk may pass, and a full one has a reserve. */
  async #insist(body: () => Promise<Body>): Promise<void> {
    const { ids, clock, reserve } = this.#ports
    const id = ids.next()
    for (let attempt = 1; attempt <= limits.resultAttemptsMax; attempt++) {
      try {
        if (await this.#admit(await body(), id)) return
      } catch (error) {
        if (!(error instanceof MailboxError)) throw error
        if (error.code === 'DROVER_MAILBOX_FULL') reserve.release()
      }
      await new Promise<void>((resolve) => clock.after(limits.resultRetryMs, resolve))
    }
  }

  async #close(close: CloseRecord): Promise<void> {
    const { host, ownAgents } = this.#ports
    host.abort()
    await this.#admit({ kind: 'ack', request: close.id, accepted: true })
    const report = (await ownAgents?.closeAll()) ?? { closed: [], notClosed: [], kept: [] }
    await this.#insist(async () => ({ kind: 'closed', request: close.id, ...report }))
    this.#leave()
  }

  #leave(): void {
    this.#isOver = true
    this.#ports.host.leave()
  }

  async #admit(body: Body, id: string = this.#ports.ids.next()): Promise<boolean> {
    const { clock, generation } = this.#ports
    const { identity } = generation
    const record = { protocol, id, identity, at: clock.now(), ...body } as AgentRecord
    const admission = await this.#outbox.admit(record)
    return !('error' in admission)
  }
}

function isSameProcess({ process: a }: Runtime, { process: b }: Runtime): boolean {
  return (
    a.host === b.host &&
    a.boot === b.boot &&
    a.namespace === b.namespace &&
    a.pid === b.pid &&
    a.started === b.started
  )
}
