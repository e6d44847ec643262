import { type ErrorCategory, OperationError } from './operation-error.ts'

/** A start that did not succeed, in the shape callers are told errors in. */
export function failure(
  category: ErrorCategory,
  stage: string,
  message: string,
  more: {
    readonly nextAction: string
    readonly rollbackOccurred?: boolean
    readonly agent?: string
    readonly generation?: string
    readonly primaryCause?: string
    readonly cleanupCause?: string
    readonly cause?: unknown
  },
): OperationError {
  const { cause, rollbackOccurred = false, ...rest } = more
  return new OperationError(
    { category, operation: 'delegate', stage, message, rollbackOccurred, ...rest },
    cause,
  )
}

/** Undoes one thing after the other, each whatever became of the others. Says what could not be undone. */
export function undoAll(...steps: readonly (() => void)[]): string | undefined {
  const causes = steps.flatMap((step) => {
    try {
      step()
      return []
    } catch (error) {
      return [(error as Error).message]
    }
  })
  return causes.length === 0 ? undefined : causes.join('; ')
}

/** A start that failed in its runner and may have left something that a person should look at. */
export class LeftBehind extends Error {
  override readonly name = 'LeftBehind'
  /** What may be left, and why, in a sentence. */
  readonly left: string

  constructor(message: string, left: string, cause: unknown) {
    super(message, { cause })
    this.left = left
  }
}
