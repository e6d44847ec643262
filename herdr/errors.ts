/**
 * What herdr would not or could not do.
 *
 * `code` is the server's own, or one of ours: `not_running` (nobody listens there), `not_permitted` (the socket is not
 * ours), `no_answer` (it went away without one), `timeout`, `foreign_server` (something else answers),
 * `unsupported_protocol`, `invalid_response`, `request_too_long`, `foreign_pane`.
 */
export class HerdrError extends Error {
  override readonly name = 'HerdrError'
  readonly code: string
  readonly method: string
  /** `refused`: nothing was done. `unknown`: it may have been done. */
  readonly outcome: 'refused' | 'unknown'

  constructor(
    code: string,
    method: string,
    outcome: 'refused' | 'unknown',
    message: string,
    cause?: unknown,
  ) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    this.method = method
    this.outcome = outcome
  }
}

/** What it was about is gone already: on a close that is success. */
export const isNotFound = (error: unknown): boolean =>
  error instanceof HerdrError && error.code.endsWith('_not_found')

/** The server does not know the method, or not in this form. */
export const isUnsupported = (error: unknown): boolean =>
  error instanceof HerdrError &&
  ['unsupported', 'unknown_method', 'not_implemented', 'invalid_request'].includes(error.code)
