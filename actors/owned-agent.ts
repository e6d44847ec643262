import {
  type Admission,
  type Attachment,
  type CloseReason,
  finishSettled,
  type GenerationFile,
  generationPaths,
  Outbox,
  type OwnerPaths,
  type OwnerRecord,
  type PlacedRecord,
  type Placement,
  protocol,
  type ReplyRecord,
  readActivity,
  runtimePresence,
  type SteerRecord,
  settleGeneration,
} from '../mailbox/index.ts'
import { AgentMailbox } from './agent-mailbox.ts'
import {
  type CascadePorts,
  type CloseReport,
  closeAgent,
  continued,
  endAgent,
  nothingClosed,
  waitForExit,
  whyOpen,
} from './cascade.ts'
import { attention } from './health.ts'
import type {
  AgentPlace,
  AgentProcess,
  Capture,
  PaneView,
  Presence,
  Report,
  StopReason,
} from './ports.ts'
import { lookThrough, presenceOf } from './presence.ts'
import { type Action, type ActionRefusal, type AgentFacts, mayDo, openQuestion } from './row.ts'

/** What an owned agent needs beyond what ending it needs. */
export interface OwnedAgentPorts extends CascadePorts {
  readonly owner: OwnerPaths
  /** The number of the lease this owner acts under. */
  readonly lease: number
  /** Largest record that is admitted, bytes. */
  readonly recordBytesMax: number
  /** Takes all there is to tell the owner of a generation, each durable. */
  readonly offer: (generation: string, reports: readonly Report[]) => void
  /** Told after every message: what is known of the agent now. */
  readonly changed: (generation: string, facts: AgentFacts) => void
  /** Told once, instead: it is no more. With the report of all attempts that led to it. */
  readonly settled: (generation: string, report: CloseReport) => void
}

export type OwnedAgentMessage =
  /** Something may have happened: a record, a process, time. */
  | { readonly type: 'look' }
  /** Its process was started here. */
  | { readonly type: 'placed'; readonly placement: Placement }
  /** Its result is in the owner's history. */
  | { readonly type: 'delivered' }
  /** Its question is. */
  | { readonly type: 'asked'; readonly ask: string }
  | { readonly type: 'close'; readonly reason: CloseReason }
  | { readonly type: 'request'; readonly request: OwnerRequest }
  | { readonly type: 'inspect' }

/** What an owner says to an agent at work. */
export interface OwnerRequest {
  readonly kind: 'steer' | 'reply'
  readonly id: string
  readonly text: string
  readonly files?: readonly Attachment[]
}

/** An action that is not possible now. */
export interface Refused {
  readonly outcome: 'not-now'
  readonly refusal: ActionRefusal
}

/** A look at an agent: what its process says and which processes there are. Changes nothing. */
export interface Inspection {
  readonly facts: AgentFacts
  readonly capture: Capture
  readonly processes: readonly AgentProcess[]
}

/** What became of a `close`. */
export type CloseAnswer =
  | { readonly outcome: 'settled' | 'open' | 'result'; readonly report: CloseReport }
  | Refused

/** `undefined`: it has settled, by this message or before it; or there is nothing to say. */
export type OwnedAgentAnswer = Admission | CloseAnswer | Inspection | Refused | undefined

/**
 * The owner's side of one agent: starting → working ⇄ blocked → settling → gone, or unknown, or lost.
 *
 * Holds nothing that is not on disk but what it has just seen, so a new life of it starts by reading its mailbox.
 */
export class OwnedAgent {
  readonly #ports: OwnedAgentPorts
  readonly #mailbox: AgentMailbox
  readonly #outbox: Outbox<OwnerRecord>
  #presence: Presence = 'unknown'
  #isDelivered = false
  /** Which question was told, and since when that is known. */
  #told: { readonly ask: string; readonly at: number } | undefined
  #isSettled = false
  /** Whether the latest look read all there is: what was not read may say otherwise. */
  #isReadable = true
  #lostSince: number | undefined
  #cleanupError: string | undefined
  /** What all attempts at ending it came to. */
  #report: CloseReport = nothingClosed

  private constructor(ports: OwnedAgentPorts, mailbox: AgentMailbox, outbox: Outbox<OwnerRecord>) {
    this.#ports = ports
    this.#mailbox = mailbox
    this.#outbox = outbox
  }

  /** @throws MailboxError DROVER_MAILBOX_GONE - it is settled */
  static async open(ports: OwnedAgentPorts, generation: GenerationFile): Promise<OwnedAgent> {
    const { fs, ids, owner, reserve } = ports
    const paths = generationPaths(owner.directory, generation.identity.generation)
    const outbox = await Outbox.open<OwnerRecord>({
      fs,
      directory: paths.owner,
      drafts: paths.ownerDrafts,
      reserve,
      bytesMax: ports.recordBytesMax,
    })
    return new OwnedAgent(ports, new AgentMailbox(fs, ids, paths, generation, 'quarantine'), outbox)
  }

  async handle(message: OwnedAgentMessage): Promise<OwnedAgentAnswer> {
    if (this.#isSettled) return undefined
    const answer = await this.#react(message)
    const { generation } = this.#mailbox.generation.identity
    if (this.#isSettled) this.#ports.settled(generation, this.#report)
    else this.#ports.changed(generation, this.#facts())
    return answer
  }

  async #react(message: OwnedAgentMessage): Promise<OwnedAgentAnswer> {
    switch (message.type) {
      case 'look':
        return this.#look()
      case 'placed':
        return this.#admitPlacement(message.placement)
      case 'delivered':
        this.#isDelivered = true
        return this.#end()
      case 'asked':
        if (this.#told?.ask !== message.ask)
          this.#told = { ask: message.ask, at: this.#ports.clock.now() }
        return undefined
      case 'close':
        return this.#close(message.reason)
      case 'request':
        return this.#request(message.request)
      case 'inspect':
        return this.#inspect()
    }
  }

  async #look(): Promise<undefined> {
    const { clock } = this.#ports
    // Presence first: a process that is gone by now has written all it ever will.
    await this.#refreshPresence()
    const state = await lookThrough(clock, this.#mailbox)
    if (state === 'gone') return this.#finish()
    this.#isReadable = state !== 'problem'
    const { conclusion, close } = this.#mailbox.assignment
    this.#offer()
    if (this.#isDelivered) await this.#end()
    else if (conclusion !== undefined) return
    else if (close !== undefined) await this.#carryOut(close.reason)
    else if (this.#isAbandonedStart()) await this.#carryOut('withdrawn')
  }

  /** Offers what there is to tell now: a result, a question, what should be looked at, or nothing any more. */
  #offer(): void {
    const { generation, assignment } = this.#mailbox
    const { conclusion } = assignment
    const ask = openQuestion({ assignment, presence: this.#presence })
    const reports: Report[] = []
    if (conclusion !== undefined && !this.#isDelivered) reports.push({ generation, conclusion })
    else if (ask !== undefined) reports.push({ generation, ask })
    const notice = attention(this.#facts(), this.#ports.clock.now())
    if (notice !== undefined && this.#isReadable && !this.#isStarting())
      reports.push({ generation, notice })
    this.#ports.offer(generation.identity.generation, reports)
  }

  /** It has been moved away, perhaps by an attempt that failed right after that: the rest may still be to do. */
  async #finish(): Promise<undefined> {
    const { fs, root, owner } = this.#ports
    const { generation, label } = this.#mailbox.generation.identity
    try {
      await settleGeneration(fs, owner, generation)
      finishSettled(fs, root, owner)
      this.#note({ outcome: 'settled', report: { ...nothingClosed, closed: [label] } })
    } catch (error) {
      this.#cleanupError = (error as Error).message
    }
  }

  async #refreshPresence(): Promise<void> {
    const presence = await presenceOf(this.#ports, this.#mailbox)
    // What was proven gone stays gone: a generation is one process life.
    if (this.#presence !== 'lost') this.#presence = presence
    if (this.#presence === 'lost') this.#lostSince ??= this.#ports.clock.now()
  }

  /** Whoever starts it here is told by the start itself. */
  #isStarting(): boolean {
    const { generation, assignment } = this.#mailbox
    return assignment.phase === 'offered' && generation.starter.nonce === this.#ports.runtime.nonce
  }

  /** Its starter died before it could say where it had put the agent. */
  #isAbandonedStart(): boolean {
    const { placement, generation, assignment } = this.#mailbox
    return (
      placement === undefined &&
      assignment.phase === 'offered' &&
      runtimePresence(this.#ports.processes, generation.starter) === 'gone'
    )
  }

  #admitPlacement(placement: Placement): Promise<Admission> {
    const { ids, clock, lease } = this.#ports
    this.#mailbox.place(placement)
    const record: PlacedRecord = {
      protocol,
      kind: 'placed',
      id: ids.next(),
      identity: this.#mailbox.generation.identity,
      at: clock.now(),
      lease,
      placement,
    }
    return this.#outbox.admit(record)
  }

  async #close(reason: CloseReason): Promise<CloseAnswer | undefined> {
    await this.#look()
    if (this.#isSettled) return undefined
    if (reason === 'closed') {
      const refused = this.#check('close')
      if (refused !== undefined) return refused
    }
    if (!this.#isDelivered) return this.#carryOut(reason)
    return (await this.#end('closed')) ?? this.#leftToTheNext()
  }

  #leftToTheNext(): CloseAnswer {
    const { label } = this.#mailbox.generation.identity
    const why = 'its session ends; whoever opens it next ends the agent'
    return { outcome: 'open', report: { ...this.#report, notClosed: [{ label, why }] } }
  }

  #check(action: Action): Refused | undefined {
    const verdict = mayDo(action, this.#facts())
    return verdict === true ? undefined : { outcome: 'not-now', refusal: verdict }
  }

  async #request({
    kind,
    id,
    text,
    files,
  }: OwnerRequest): Promise<Admission | Refused | undefined> {
    await this.#look()
    if (this.#isSettled) return undefined
    const refused = this.#check(kind)
    if (refused !== undefined) return refused
    const { clock, lease } = this.#ports
    const { generation, assignment } = this.#mailbox
    const at = clock.now()
    const { identity } = generation
    const head = { protocol, id, identity, at, lease, text, ...(files && { files }) } as const
    const record: SteerRecord | ReplyRecord =
      kind === 'steer' ? { ...head, kind } : { ...head, kind, ask: assignment.ask?.id ?? '' }
    return this.#outbox.admit(record)
  }

  /** Who it is is checked before and after the look: a replaced agent must not speak for this one. */
  async #inspect(): Promise<Inspection | Refused | undefined> {
    await this.#look()
    if (this.#isSettled) return undefined
    const refused = this.#check('inspect')
    if (refused !== undefined) return refused
    const { generation, paths, placement } = this.#mailbox
    const runner = this.#ports.runners.get(generation.runner)
    if (runner === undefined || placement === undefined || placement === 'contradictory')
      return this.#gone('where it runs is not known any more')
    const place: AgentPlace = { generation, paths, placement }
    const capture = await runner.capture(place)
    const processes = await runner.processes(place)
    await this.#look()
    if (this.#isSettled) return undefined
    return this.#check('inspect') ?? { facts: this.#facts(), capture, processes }
  }

  #gone(why: string): Refused {
    const next = 'List agents again.'
    return { outcome: 'not-now', refusal: { category: 'target_ambiguous', why, next } }
  }

  async #carryOut(reason: CloseReason): Promise<CloseAnswer> {
    const { outcome, report } = await closeAgent(this.#ports, this.#edge(), reason)
    await this.#refreshPresence()
    this.#offer()
    this.#note({ outcome, report })
    return { outcome, report: this.#report }
  }

  /** @param reason what is delivered may be left to its person; what is closed is ended */
  async #end(reason: StopReason = 'delivered'): Promise<CloseAnswer | undefined> {
    const { runners, signal } = this.#ports
    if (runners.get(this.#mailbox.generation.runner)?.agentsLeave !== false)
      await waitForExit(this.#ports, this.#mailbox)
    if (signal.aborted) return undefined // whoever opens this session next finds it told, and ends it
    const done = await endAgent(this.#ports, this.#edge(), 'delivered', reason)
    this.#note(done)
    await this.#refreshPresence()
    return { outcome: done.outcome, report: this.#report }
  }

  #note({ outcome, report }: { readonly outcome: string; readonly report: CloseReport }): void {
    this.#report = continued(this.#report, report)
    if (outcome === 'settled') this.#isSettled = true
    this.#cleanupError = outcome === 'open' ? whyOpen(report) : undefined
  }

  #edge() {
    const { owner, lease } = this.#ports
    return { owner, lease, mailbox: this.#mailbox, outbox: this.#outbox }
  }

  /** Where it is shown now; where it was put, as long as it has not been seen. */
  #pane(): PaneView | undefined {
    const { generation, paths, placement } = this.#mailbox
    if (placement === undefined || placement === 'contradictory') return undefined
    const runner = this.#ports.runners.get(placement.runner)
    return runner?.pane({ generation, paths, placement }) ?? placement.pane
  }

  #facts(): AgentFacts {
    const { generation, paths, ready, assignment, diagnostic } = this.#mailbox
    const activity = readActivity(this.#ports.fs, paths)
    const pane = this.#pane()
    return {
      generation,
      assignment,
      presence: this.#presence,
      delivered: this.#isDelivered,
      ...(ready && { ready }),
      ...(activity && { activity }),
      ...(pane && { pane }),
      ...(this.#lostSince !== undefined && { lostSince: this.#lostSince }),
      ...(this.#told && this.#told.ask === assignment.ask?.id && { askToldAt: this.#told.at }),
      ...(diagnostic !== undefined && { diagnostic }),
      ...(this.#cleanupError !== undefined && { cleanupError: this.#cleanupError }),
    }
  }
}
