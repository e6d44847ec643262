import {
  type Admission,
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
  runtimePresence,
  settleGeneration,
} from '../mailbox/index.ts'
import { AgentMailbox } from './agent-mailbox.ts'
import {
  type CascadePorts,
  type CloseReport,
  closeAgent,
  endAgent,
  waitForExit,
} from './cascade.ts'
import type { Presence, ResultReport } from './ports.ts'
import { lookThrough, presenceOf } from './presence.ts'
import { type ActionRefusal, type AgentFacts, mayClose } from './row.ts'

/** What an owned agent needs beyond what ending it needs. */
export interface OwnedAgentPorts extends CascadePorts {
  readonly owner: OwnerPaths
  /** The number of the lease this owner acts under. */
  readonly lease: number
  /** Takes a durable result on its way to the owner. */
  readonly offer: (report: ResultReport) => void
  /** Told after every message: what is known of the agent now, or that it is no more. */
  readonly changed: (generation: string, facts: AgentFacts | 'settled') => void
}

export type OwnedAgentMessage =
  /** Something may have happened: a record, a process, time. */
  | { readonly type: 'look' }
  /** Its process was started here. */
  | { readonly type: 'placed'; readonly placement: Placement }
  /** Its result is in the owner's history. */
  | { readonly type: 'delivered' }
  | { readonly type: 'close'; readonly reason: CloseReason }

/** What became of a `close`. */
export type CloseAnswer =
  | { readonly outcome: 'settled' | 'open' | 'result'; readonly report: CloseReport }
  | { readonly outcome: 'refused'; readonly refusal: ActionRefusal }

export type OwnedAgentAnswer = Admission | CloseAnswer | undefined

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
  #isSettled = false
  #cleanupError: string | undefined

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
    })
    return new OwnedAgent(ports, new AgentMailbox(fs, ids, paths, generation, 'quarantine'), outbox)
  }

  async handle(message: OwnedAgentMessage): Promise<OwnedAgentAnswer> {
    if (this.#isSettled) return undefined
    const answer = await this.#react(message)
    const { generation } = this.#mailbox.generation.identity
    this.#ports.changed(generation, this.#isSettled ? 'settled' : this.#facts())
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
      case 'close':
        return this.#close(message.reason)
    }
  }

  async #look(): Promise<undefined> {
    const { clock, offer } = this.#ports
    // Presence first: a process that is gone by now has written all it ever will.
    await this.#refreshPresence()
    if ((await lookThrough(clock, this.#mailbox)) === 'gone') return this.#finish()
    const { conclusion, close } = this.#mailbox.assignment
    if (this.#isDelivered) await this.#end()
    else if (conclusion !== undefined) offer({ generation: this.#mailbox.generation, conclusion })
    else if (close !== undefined) await this.#carryOut(close.reason)
    else if (this.#isAbandonedStart()) await this.#carryOut('withdrawn')
  }

  /** It has been moved away, perhaps by an attempt that failed right after that: the rest may still be to do. */
  async #finish(): Promise<undefined> {
    const { fs, root, owner } = this.#ports
    try {
      await settleGeneration(fs, owner, this.#mailbox.generation.identity.generation)
      finishSettled(fs, root, owner)
      this.#isSettled = true
    } catch (error) {
      this.#cleanupError = (error as Error).message
    }
  }

  async #refreshPresence(): Promise<void> {
    const presence = await presenceOf(this.#ports, this.#mailbox)
    // What was proven gone stays gone: a generation is one process life.
    if (this.#presence !== 'lost') this.#presence = presence
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

  async #close(reason: CloseReason): Promise<CloseAnswer> {
    await this.#look()
    if (this.#isSettled)
      return { outcome: 'settled', report: { closed: [], notClosed: [], kept: [] } }
    if (reason === 'closed') {
      const verdict = mayClose(this.#facts())
      if (verdict !== true) return { outcome: 'refused', refusal: verdict }
    }
    return this.#carryOut(reason)
  }

  async #carryOut(reason: CloseReason): Promise<CloseAnswer> {
    const done = await closeAgent(this.#ports, this.#edge(), reason)
    await this.#refreshPresence()
    const { conclusion } = this.#mailbox.assignment
    if (done.outcome === 'result' && conclusion !== undefined)
      this.#ports.offer({ generation: this.#mailbox.generation, conclusion })
    this.#note(done)
    return done
  }

  async #end(): Promise<undefined> {
    await waitForExit(this.#ports, this.#mailbox)
    if (this.#ports.signal.aborted) return // whoever opens this session next finds it told, and ends it
    this.#note(await endAgent(this.#ports, this.#edge(), 'delivered'))
    await this.#refreshPresence()
  }

  #note({ outcome, report }: { readonly outcome: string; readonly report: CloseReport }): void {
    if (outcome === 'settled') this.#isSettled = true
    this.#cleanupError =
      outcome === 'open'
        ? report.notClosed.map(({ label, why }) => `${label}: ${why}`).join('; ')
        : undefined
  }

  #edge() {
    const { owner, lease } = this.#ports
    return { owner, lease, mailbox: this.#mailbox, outbox: this.#outbox }
  }

  #facts(): AgentFacts {
    const { generation, ready, assignment, diagnostic } = this.#mailbox
    return {
      generation,
      assignment,
      presence: this.#presence,
      delivered: this.#isDelivered,
      ...(ready && { ready }),
      ...(diagnostic !== undefined && { diagnostic }),
      ...(this.#cleanupError !== undefined && { cleanupError: this.#cleanupError }),
    }
  }
}
