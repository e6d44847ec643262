import type { Attachment, GenerationFile, Placement, ReadyFile } from '../mailbox/index.ts'
import type { OwnedAgentPorts } from './owned-agent.ts'
import type { AgentRunner, AgentSession } from './ports.ts'
import type { AgentFacts } from './row.ts'

/** One task for one new agent. */
export interface DelegateOrder<Launch> {
  readonly definition: string
  readonly task: string
  readonly files?: readonly Attachment[]
  /** Used exactly, where given; otherwise the first free of the definition's name, name-2, name-3, … */
  readonly label?: string
  readonly cwd: string
  readonly session: AgentSession
  /** Bounds the start alone, ms: from here to the acceptance of the task. */
  readonly timeoutMs: number
  /** Where it is to live. */
  readonly runner: AgentRunner<Launch>
  readonly launch: Launch
}

/** An agent that has accepted its task. */
export interface Delegated {
  readonly generation: GenerationFile
  readonly request: string
  readonly placement: Placement
  readonly ready?: ReadyFile
}

/** What starting an agent needs. */
export interface StartPorts extends OwnedAgentPorts {
  readonly ownerSession: string
  readonly rootSession: string
  readonly depth: number
  readonly build: string
  /** Makes the agent one of the owner's actors: from here on it has a row. */
  readonly adopt: (generation: GenerationFile) => Promise<StartedActor>
}

/** What taking a start back came to. `result`: one was written meanwhile, and counts. */
export interface Withdrawal {
  readonly outcome: 'settled' | 'result' | 'open'
  readonly why?: string
}

/** The actor of an agent that is being started. */
export interface StartedActor {
  placed(placement: Placement): Promise<void>
  withdraw(): Promise<Withdrawal>
  /** Waits for a fact; undefined when the time ran out or the wait was aborted. */
  until(
    isTrue: (facts: AgentFacts) => boolean,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<AgentFacts | undefined>
}
