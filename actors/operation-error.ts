/** Closed set of what a caller of an operation is told; every error names what may be done next. */
export type ErrorCategory =
  | 'not_running_inside_herdr'
  | 'agent_label_exists'
  | 'pane_not_ready'
  | 'target_not_found'
  | 'target_ambiguous'
  | 'rollback_failure'
  | 'agent_busy'
  | 'invalid_request'
  | 'internal_failure'

export interface OperationFailure {
  readonly category: ErrorCategory
  /** The operation that failed, as its caller named it: `delegate`, `close`, … */
  readonly operation: string
  /** How far it came. */
  readonly stage: string
  /** What is wrong, and what it is about. */
  readonly message: string
  /** What the caller may do now. */
  readonly nextAction: string
  /** What is known of the agent it was about. */
  readonly agent?: string
  readonly generation?: string
  /** Why it failed, where that is more than the message says. */
  readonly primaryCause?: string
  /** What could not be cleaned up after it. It never hides the primary cause. */
  readonly cleanupCause?: string
  /** Whether something had been started or written and was undone. */
  readonly rollbackOccurred: boolean
}

/** An operation that did not do what was asked. Match on `failure.category`, never on the message. */
export class OperationError extends Error {
  override readonly name = 'OperationError'
  readonly failure: OperationFailure

  constructor(failure: OperationFailure, cause?: unknown) {
    super(failure.message, cause === undefined ? undefined : { cause })
    this.failure = failure
  }
}
