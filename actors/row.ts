import {
  type Activity,
  type AskRecord,
  type GenerationFile,
  limits,
  type ReadyFile,
} from '../mailbox/index.ts'
import type { Assignment } from './assignment.ts'
import type { PaneView, Presence } from './ports.ts'

/** What a person or model sees of an agent. `starting` is how a person is shown a settling start. */
export type PublicState = 'working' | 'blocked' | 'settling' | 'unknown' | 'lost'

export type Action = 'steer' | 'reply' | 'inspect' | 'close'

/** All that is known of one agent, from its records and from fresh evidence. */
export interface AgentFacts {
  readonly generation: GenerationFile
  readonly ready?: ReadyFile
  readonly assignment: Assignment
  readonly presence: Presence
  /** Its result is in the owner's history. */
  readonly delivered: boolean
  /** What the agent says it does; advice only. */
  readonly activity?: Activity
  /** Where a person finds it. */
  readonly pane?: PaneView
  /** When its process was found to be gone, milliseconds since the epoch. */
  readonly lostSince?: number
  /** When its open question was found to be told, milliseconds since the epoch. */
  readonly askToldAt?: number
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
    actions: agentActions.filter((action) => mayDo(action, facts) === true),
    facts,
  }
}

/** The first that fits: what the records prove, then what the process proves. */
export function publicState({
  assignment,
  presence,
  delivered,
  activity,
}: AgentFacts): PublicState {
  if (assignment.conclusion !== undefined && !delivered) return 'settling'
  if (presence === 'lost') return 'lost'
  if (presence === 'unknown') return 'unknown'
  if ([...assignment.requests.values()].includes('pending')) return 'settling'
  if (assignment.ask !== undefined) return 'blocked'
  if (assignment.phase !== 'active' || activity?.resultError !== undefined) return 'settling'
  return activity?.waiting === undefined ? 'working' : 'blocked'
}

/** The question that waits for an answer: none whose agent is gone and could not hear it. */
export function openQuestion({
  assignment,
  presence,
}: Pick<AgentFacts, 'assignment' | 'presence'>): AskRecord | undefined {
  return presence === 'lost' ? undefined : assignment.ask
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

type Check = (facts: AgentFacts) => true | ActionRefusal

const waitForResult = 'End your turn: the result arrives by itself and the agent is closed then.'

const isProven: Check = ({ generation, presence }) =>
  presence === 'unknown'
    ? {
        category: 'target_ambiguous',
        why: `it cannot be proved whether the process of ${generation.identity.label} runs`,
        next: 'List agents again later; it can be used once its process can be seen or is proven gone.',
      }
    : true

const hasNoResult: Check = ({ generation, assignment, delivered }) =>
  assignment.conclusion !== undefined && !delivered
    ? {
        category: 'agent_busy',
        why: `${generation.identity.label} has a result that has not been delivered yet`,
        next: waitForResult,
      }
    : true

const isLive: Check = (facts) =>
  facts.presence === 'lost'
    ? {
        category: 'agent_busy',
        why: `the process of ${facts.generation.identity.label} is gone`,
        next: hasNoResult(facts) === true ? 'Close it, then delegate again.' : waitForResult,
      }
    : true

const isAtWork: Check = ({ generation, assignment }) =>
  assignment.phase === 'active'
    ? true
    : {
        category: 'agent_busy',
        why: `${generation.identity.label} has no work that goes on (${assignment.phase})`,
        next: 'List agents to see what can be done with it.',
      }

/** Its own word, as its activity is; it alone knows, and a steer would come too late. */
const isNotAtItsEnd: Check = ({ generation, activity }) =>
  activity?.resultError === undefined
    ? true
    : {
        category: 'agent_busy',
        why: `${generation.identity.label} has come to its end and cannot write that down: ${activity.resultError.cause}`,
        next: 'Mend the cause and its result comes by itself; or close it, which discards the result.',
      }

const asksNothing: Check = ({ generation, assignment }) =>
  assignment.ask === undefined
    ? true
    : {
        category: 'agent_busy',
        why: `${generation.identity.label} waits for an answer to its question`,
        next: 'Answer it with reply, or close the agent.',
      }

const asks: Check = (facts) =>
  facts.assignment.ask !== undefined
    ? true
    : {
        category: 'agent_busy',
        why: `${facts.generation.identity.label} asks nothing now`,
        next: `Wait for its question${hasRoomForSteers(facts) === true ? ', or use steer to change its direction' : ''}.`,
      }

const hasRoomForSteers: Check = ({ generation, assignment }) => {
  const waiting = [...assignment.requests.values()].filter(
    (outcome) => outcome === 'pending',
  ).length
  return waiting < limits.unacknowledgedSteersMax
    ? true
    : {
        category: 'agent_busy',
        why: `${generation.identity.label} has not answered ${waiting} requests yet`,
        next: 'Wait until it has taken them, or close it.',
      }
}

/** Its actor sees the close through before it answers anything else. */
const isNotClosed: Check = ({ generation, assignment }) =>
  assignment.phase === 'closing' || assignment.phase === 'closed'
    ? {
        category: 'agent_busy',
        why: `${generation.identity.label} is being closed`,
        next: 'List agents again: it is gone soon, or the list says why not.',
      }
    : true

/** What each action needs, in the order it is told. Lists offer what passes; the action itself checks the same. */
const needs: Readonly<Record<Action, readonly Check[]>> = {
  steer: [hasNoResult, isProven, isLive, isAtWork, isNotAtItsEnd, asksNothing, hasRoomForSteers],
  reply: [hasNoResult, isProven, isLive, isAtWork, asks],
  inspect: [isProven, isLive, isNotClosed],
  close: [hasNoResult, isProven],
}

/** Whether an action is possible now, and if not, why and what is. */
export function mayDo(action: Action, facts: AgentFacts): true | ActionRefusal {
  for (const check of needs[action]) {
    const verdict = check(facts)
    if (verdict !== true) return verdict
  }
  return true
}

/** Whether an agent may be closed whose owner is gone: what it has not told lost its reader, and is no obstacle. */
export const mayCloseOrphan: (facts: AgentFacts) => true | ActionRefusal = isProven

export function orphanActions(facts: AgentFacts): readonly Action[] {
  return mayCloseOrphan(facts) === true ? ['close'] : []
}

/** Every action, in the order it is offered. */
const agentActions = Object.keys(needs) as readonly Action[]
