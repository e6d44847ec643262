/** What went wrong, in our own words. A server's code is carried as it came: see `HerdrError.code`. */
export type OwnErrorCode =
  | 'not_running' // nothing listens at the socket
  | 'not_permitted' // the socket is not ours to use
  | 'no_answer' // the connection ended before a whole line came
  | 'timeout' // nothing came in time
  | 'foreign_server' // something else than herdr answers there
  | 'unsupported_protocol' // a herdr older than this program can use
  | 'invalid_response' // an answer that does not fit its method
  | 'foreign_pane' // a process does not run in the pane its environment names
  | 'request_too_long' // more than a herdr reads

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
  /** One of ours (`OwnErrorCode`), or whatever code the server gave. */
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
