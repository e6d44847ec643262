import { OperationError } from './operation-error.ts'
import type { ActionRefusal, AgentFacts } from './row.ts'

/** Why a process may only look at the agents of a session. */
export type Hindrance = 'elsewhere' | 'unreadable' | 'failed' | 'stopped'

/** Why a process may only look, and what helps. */
const hindrances: Readonly<
  Record<Hindrance, (lease: string) => { readonly message: string; readonly nextAction: string }>
> = {
  elsewhere: () => ({
    message:
      'Another window has this session open and acts for it; here its agents are only shown.',
    nextAction: 'Use the other window, or close it: this one takes over by itself soon after.',
  }),
  unreadable: (lease) => ({
    message: `Who acts for this session cannot be read: a file in ${lease} is not a private file of ours, or damaged.`,
    nextAction: `Set its mode to 600, or remove it when no other window has this session open.`,
  }),
  failed: () => ({
    message:
      'The agents of this session could not be taken up; it is tried again every few seconds.',
    nextAction: 'Free disk space or file handles if they are short, then try again.',
  }),
  stopped: () => ({
    message: 'This session is being closed.',
    nextAction: 'Open it again; its agents go on meanwhile.',
  }),
}

/** @param lease where it is written who acts */
export function mayNotAct(operation: string, hindrance: Hindrance, lease: string): OperationError {
  return new OperationError({
    category: 'agent_busy',
    operation,
    stage: 'lease',
    ...hindrances[hindrance](lease),
    rollbackOccurred: false,
  })
}

/** @param liveAgentsMax agents a tree may have */
export function tooManyAgents(liveAgentsMax: number): OperationError {
  return new OperationError({
    category: 'agent_busy',
    operation: 'delegate',
    stage: 'validation',
    message: `${liveAgentsMax} agents live already in this tree, which is the limit.`,
    nextAction: 'Wait for a result, or close an agent that is no longer needed.',
    rollbackOccurred: false,
  })
}

/** @param treeDepthMax levels of agents a tree may have below its lead */
export function tooDeep(treeDepthMax: number): OperationError {
  return new OperationError({
    category: 'invalid_request',
    operation: 'delegate',
    stage: 'validation',
    message: `An agent ${treeDepthMax} levels below its lead has no agents of its own.`,
    nextAction: 'Do this part yourself, or end your turn and say what is left to delegate.',
    rollbackOccurred: false,
  })
}

/** An orphan that may not be closed now, or that is still open after a close: why. */
export function orphanStays(
  { generation: { identity } }: AgentFacts,
  why: ActionRefusal | string,
): OperationError {
  const isRefused = typeof why === 'object'
  return new OperationError({
    category: isRefused ? why.category : 'rollback_failure',
    operation: 'close',
    stage: isRefused ? 'preconditions' : 'close',
    message: isRefused ? `${why.why}.` : why,
    nextAction: isRefused ? why.next : 'Close it again later.',
    agent: identity.label,
    generation: identity.generation,
    rollbackOccurred: false,
  })
}

/** What may be done about an agent that has come to its end. */
export const takeUpAgain =
  'One that has come to its end is taken up again by delegate with its session, as its result names it.'

/** A label nobody here has, with those that somebody has. */
export function noSuchAgent(
  operation: string,
  label: string,
  labels: readonly string[],
): OperationError {
  return new OperationError({
    category: 'target_not_found',
    operation,
    stage: 'target',
    message: `There is no agent called ${label} here.`,
    nextAction: `${labels.length === 0 ? 'This session has no agents now' : `Use one of: ${labels.join(', ')}`}. ${takeUpAgain}`,
    agent: label,
    rollbackOccurred: false,
  })
}
