import { OperationError, type OperationFailure } from '../../actors/index.ts'
import { MailboxError } from '../../mailbox/index.ts'

/** A refusal of a request that is wrong in itself. */
export function invalidRequest(
  operation: string,
  message: string,
  nextAction: string,
): OperationError {
  return new OperationError({
    category: 'invalid_request',
    operation,
    stage: 'validation',
    message,
    nextAction,
    rollbackOccurred: false,
  })
}

/** Any error in the shape callers are told errors in. */
export function asFailure(error: unknown, operation: string): OperationFailure {
  if (error instanceof OperationError) return error.failure
  const known = error instanceof MailboxError
  return {
    category: 'internal_failure',
    operation,
    stage: known ? 'mailbox' : 'unexpected',
    message: error instanceof Error ? error.message : String(error),
    nextAction: known
      ? 'Mend the cause named here, then try again.'
      : 'Try again; if it happens again, report it with this text.',
    rollbackOccurred: false,
  }
}

/** What a model is shown of a failure: what is wrong, and what it may do. */
export function failureText({
  category,
  message,
  nextAction,
  cleanupCause,
}: OperationFailure): string {
  const cleanup = cleanupCause === undefined ? '' : `\nNot cleaned up: ${cleanupCause}`
  return `${category}: ${message}${cleanup}\nNext: ${nextAction}`
}
