import {
  type AgentRecord,
  decodeAgentRecord,
  decodeOwnerRecord,
  type GenerationFile,
  type GenerationPaths,
  type Ids,
  isSameProcess,
  Journal,
  type JournalOptions,
  type MailboxFs,
  type MailboxRecord,
  type OwnerRecord,
  type Placement,
  type ReadyFile,
  readReady,
} from '../mailbox/index.ts'
import { type Assignment, fold } from './assignment.ts'

/** What a look at a mailbox says about the mailbox itself. `gone`: it is settled. */
export type MailboxState = 'current' | 'more' | 'gone' | 'problem'

const readyName = new Set(['ready.json'])

/** One generation as its records tell it: read by its owner, a second window, a listing, after a crash, all alike. */
export class AgentMailbox {
  readonly paths: GenerationPaths
  readonly generation: GenerationFile
  readonly #fs: MailboxFs
  readonly #owner: Journal<OwnerRecord>
  readonly #agent: Journal<AgentRecord>
  readonly #ownerRecords: OwnerRecord[] = []
  readonly #agentRecords: AgentRecord[] = []
  #assignment: Assignment | undefined
  #ready: ReadyFile | undefined
  #placedHere: Placement | undefined
  #quarantined = 0
  #lastUntrusted = ''
  /** What the latest look came upon, if anything. */
  #problemNow: string | undefined

  constructor(
    fs: MailboxFs,
    ids: Ids,
    paths: GenerationPaths,
    generation: GenerationFile,
    untrusted: JournalOptions<MailboxRecord>['untrusted'],
  ) {
    this.paths = paths
    this.generation = generation
    this.#fs = fs
    const common = {
      fs,
      ids,
      quarantine: paths.quarantine,
      identity: generation.identity,
      untrusted,
    }
    this.#owner = new Journal({ ...common, directory: paths.owner, decode: decodeOwnerRecord })
    this.#agent = new Journal({
      ...common,
      directory: paths.agent,
      decode: decodeAgentRecord,
      ignore: readyName,
    })
  }

  get assignment(): Assignment {
    this.#assignment ??= fold(this.#ownerRecords, this.#agentRecords)
    return this.#assignment
  }

  get ready(): ReadyFile | undefined {
    return this.#ready
  }

  /** What could never be trusted, and what cannot be read now, for a person. */
  get diagnostic(): string | undefined {
    if (this.#quarantined === 0) return this.#problemNow
    const untrusted = `${this.#quarantined} untrusted file(s), last: ${this.#lastUntrusted}`
    return this.#problemNow === undefined ? untrusted : `${untrusted}; ${this.#problemNow}`
  }

  /** The owner's records and the agent's, in the order of their writers. */
  get records(): {
    readonly owner: readonly OwnerRecord[]
    readonly agent: readonly AgentRecord[]
  } {
    return { owner: this.#ownerRecords, agent: this.#agentRecords }
  }

  /** Reads what is new. On `more`, let the event loop go on and look again. Never throws. */
  look(): MailboxState {
    this.#problemNow = undefined
    const owner = this.#owner.scan()
    const agent = this.#agent.scan()
    this.#ownerRecords.push(...owner.records)
    this.#agentRecords.push(...agent.records)
    if (owner.records.length + agent.records.length > 0) this.#assignment = undefined
    for (const { name, reason } of [...owner.quarantined, ...agent.quarantined]) {
      this.#quarantined++
      this.#lastUntrusted = `${name} (${reason})`
    }
    if (owner.gone || agent.gone) return 'gone'
    try {
      this.#lookForReady()
    } catch (error) {
      return this.#problem(error)
    }
    const problem = owner.problem ?? agent.problem
    if (problem !== undefined) return this.#problem(problem)
    return owner.more || agent.more ? 'more' : 'current'
  }

  #lookForReady(): void {
    if (this.#ready !== undefined) return
    const ready = readReady(this.#fs, this.paths)
    if (typeof ready === 'object') this.#ready = ready
    else if (ready === 'unreadable') this.#problemNow = 'ready.json cannot be trusted'
  }

  #problem(error: unknown): 'problem' {
    this.#problemNow = (error as Error).message
    return 'problem'
  }

  /** Where this very process has put the agent: known here even if it could not be recorded. */
  place(placement: Placement): void {
    this.#placedHere = placement
  }

  /**
   * Where the agent's process is, as far as the records prove it. `contradictory`: its owner started one process,
   * and another one calls itself this agent.
   */
  get placement(): Placement | 'contradictory' | undefined {
    const placement = this.assignment.placement ?? this.#placedHere
    const process = this.#ready?.runtime.process
    if (process === undefined) return placement
    if (placement === undefined) return { runner: this.generation.runner, process }
    const started = placement.process
    if (started === undefined) return { ...placement, process }
    return isSameProcess(started, process) ? placement : 'contradictory'
  }
}
