export { type Activity, type AgentStatus, type ResultError, readActivity } from './activity.ts'
export { type Admission, Outbox } from './admit.ts'
export {
  type ClaimAnswer,
  type ClaimPlace,
  claim,
  readClaim,
  unclaim,
} from './claim.ts'
export { systemClock, systemIds } from './clock.ts'
export { decodeAgentRecord, decodeOwnerRecord, encode } from './codec.ts'
export { diskFs } from './disk-fs.ts'
export { MailboxError, type Remedy } from './errors.ts'
export {
  createGeneration,
  finishSettled,
  generationExists,
  labelClaimPath,
  publishReady,
  readGeneration,
  readReady,
  settleGeneration,
  sweepStarting,
} from './generation.ts'
export { Journal, type JournalOptions, sameIdentity } from './journal.ts'
export {
  type GenerationPaths,
  generationPaths,
  hashedName,
  type OwnerPaths,
  ownerDirectory,
  ownerPaths,
  ownNames,
  prepareGeneration,
  prepareOwner,
  prepareRoot,
  type RootPaths,
  resultPath,
  rootPaths,
  sessionClaimPath,
} from './layout.ts'
export {
  holdsLease,
  type LeasePlace,
  leaseIn,
  type ReadLease,
  releaseLease,
  takeLease,
} from './lease.ts'
export * as limits from './limits.ts'
export type * from './ports.ts'
export { systemProcesses } from './process-identity.ts'
export type * from './record.ts'
export { labelPattern, protocol } from './record.ts'
export { type Reserve, reserveAt, setReserveAside } from './reserve.ts'
export { keepText, pruneResults } from './results.ts'
export { isSameProcess, runtimePresence, startRuntime } from './runtime.ts'
export { trustedAgentDirectory } from './safety.ts'
