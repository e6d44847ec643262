/** `refused`: nothing was done. `unknown`: it may have been done; look before doing it again. */
export type Outcome = 'refused' | 'unknown'

export interface ErrorDetails {
  readonly code: string
  readonly method: string
  readonly outcome: Outcome
  readonly message: string
  readonly cause?: unknown
}

/** A call that herdr did not answer as it should. Match on `code` and `outcome`, never on `message`. */
export class HerdrError extends Error {
  override readonly name = 'HerdrError'
  /**
   * Whatever code the server gave, or one of ours: `not_running` (nothing listens at the socket), `not_permitted` (it is
   * not ours to use), `no_answer` (the connection ended before a whole line came), `timeout`, `foreign_server`,
   * `unsupported_protocol`, `invalid_response`, `request_too_long`, `foreign_pane` (this process does not run in the
   * pane its environment names).
   */
  readonly code: string
  readonly method: string
  readonly outcome: Outcome

  constructor({ code, method, outcome, message, cause }: ErrorDetails) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    this.method = method
    this.outcome = outcome
  }
}

/** Whether the server says that what was named does not exist: for a close, that is success. */
export function isNotFound(error: unknown): boolean {
  return error instanceof HerdrError && error.code.endsWith('_not_found')
}

const unsupported = new Set(['unsupported', 'unknown_method', 'not_implemented', 'invalid_request'])

/** Whether this server does not know the method, or these parameters of it. */
export function isUnsupported(error: unknown): boolean {
  return error instanceof HerdrError && unsupported.has(error.code)
}

/** Text from outside in one short line, fit to be shown: no control characters. */
export function plain(text: string, charsMax: number = 300): string {
  const line = text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim()
  return line.length > charsMax ? `${line.slice(0, charsMax)}…` : line
}
