export { AgentProcesses, generationVariable } from './agent-processes.ts'
export { type Assignment, fold, type Phase, type RequestOutcome } from './assignment.ts'
export { lastLines, notedAndSaid, shownAndSaid } from './capture.ts'
export { type CascadePorts, type CloseReport, closeBelow, nothingClosed } from './cascade.ts'
export { deliveryIdentity, deliveryKey, head, shareOf } from './delivery.ts'
export type { Descendant } from './descendants.ts'
export { isStale, silentMs } from './health.ts'
export {
  type AskAnswer,
  ManagedAgent,
  type ManagedAgentPorts,
  type OwnAgents,
  type Question,
} from './managed-agent.ts'
export { messageText, withoutControl } from './message-text.ts'
export { Observation } from './observation.ts'
export {
  type ErrorCategory,
  OperationError,
  type OperationFailure,
} from './operation-error.ts'
export type { Inspection, OwnerRequest } from './owned-agent.ts'
export {
  Owner,
  type OwnerPorts,
  type OwnerRole,
  type Seen,
  type Told,
} from './owner.ts'
export type * from './ports.ts'
export { presenceIn } from './presence.ts'
export { noSuchAgent } from './refusals.ts'
export {
  type Action,
  type AgentFacts,
  mayCloseOrphan,
  mayDo,
  openQuestion,
  type PublicState,
  type Row,
  row,
} from './row.ts'
export { LeftBehind } from './start-failure.ts'
export type { Delegated, DelegateOrder } from './start-ports.ts'
export { type Dossier, type SurveyPorts, survey, surveyedWhole, untrusted } from './survey.ts'
