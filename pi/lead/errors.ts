import { OperationError, type OperationFailure } from '../../actors/index.ts'
import { limits, MailboxError } from '../../mailbox/index.ts'
import { shownText } from '../shown.ts'

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

/** Longest message of a failure shown, characters: the last words of an agent that did not start have room in it. */
const messageCharsMax = limits.captureBytesMax + 4_096

/** What a model is shown of a failure: what is wrong, and what it may do. */
export function failureText({
  category,
  message,
  nextAction,
  cleanupCause,
}: OperationFailure): string {
  const what = shownText(message, messageCharsMax)
  const cleanup = cleanupCause === undefined ? '' : `\nNot cleaned up: ${shownText(cleanupCause)}`
  return `${category}: ${what}${cleanup}\nNext: ${shownText(nextAction)}`
}
