import type { GenerationFile, ReadyFile } from '../mailbox/index.ts'
import type { Assignment } from './assignment.ts'
import type { Presence } from './ports.ts'

/** What a person or model sees of an agent. `starting` is how a person is shown a settling start. */
export type PublicState = 'working' | 'blocked' | 'settling' | 'unknown' | 'lost'

export type Action = 'close'

/** All that is known of one agent, from its records and from fresh evidence. */
export interface AgentFacts {
  readonly generation: GenerationFile
  readonly ready?: ReadyFile
  readonly assignment: Assignment
  readonly presence: Presence
  /** Its result is in the owner's history. */
  readonly delivered: boolean
  readonly cleanupError?: string
  readonly diagnostic?: string
}

/** One line of a list. Whoever shows agents shows these. */
export interface Row {
  readonly agent: string
  readonly state: PublicState
  readonly starting: boolean
  readonly actions: readonly Action[]
  readonly facts: AgentFacts
}

export function row(facts: AgentFacts): Row {
  return {
    agent: facts.generation.identity.label,
    state: publicState(facts),
    starting: isStarting(facts),
    actions: mayClose(facts) === true ? ['close'] : [],
    facts,
  }
}

/** The first that fits: what the records prove, then what the process proves. */
export function publicState({ assignment, presence, delivered }: AgentFacts): PublicState {
  if (assignment.conclusion !== undefined && !delivered) return 'settling'
  if (presence === 'lost') return 'lost'
  if (presence === 'unknown') return 'unknown'
  if ([...assignment.requests.values()].includes('pending')) return 'settling'
  if (assignment.ask !== undefined) return 'blocked'
  if (assignment.phase === 'active') return 'working'
  return 'settling'
}

function isStarting({ assignment, presence }: AgentFacts): boolean {
  return assignment.phase === 'offered' && presence !== 'lost'
}

/** Why an action is not possible now, and what is. */
export interface ActionRefusal {
  readonly category: 'agent_busy' | 'target_ambiguous'
  readonly why: string
  readonly next: string
}

/** The check behind `close`: what lists offer is what the action accepts. */
export function mayClose(facts: AgentFacts): true | ActionRefusal {
  const { label } = facts.generation.identity
  if (facts.assignment.conclusion !== undefined && !facts.delivered)
    return {
      category: 'agent_busy',
      why: `${label} has a result that has not been delivered yet`,
      next: 'End your turn: the result arrives by itself and the agent is closed then.',
    }
  if (facts.presence === 'unknown')
    return {
      category: 'target_ambiguous',
      why: `it cannot be proved whether the process of ${label} runs`,
      next: 'List agents again later; close works once its process can be seen or is proven gone.',
    }
  return true
}
