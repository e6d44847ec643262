/** What went wrong, for programs. */
export type MailboxErrorCode =
  | 'DROVER_MAILBOX_FULL' // no space or quota left
  | 'DROVER_MAILBOX_UNSAFE' // not ours, not private, or not the kind of file it must be
  | 'DROVER_MAILBOX_GONE' // the directory is not there: settled, or never started
  | 'DROVER_MAILBOX_IO' // the file system said no
  | 'DROVER_RECORD_TOO_LARGE' // over the admission limit
  | 'DROVER_OUTCOME_UNKNOWN' // it may or may not have become durable
  | 'DROVER_PLATFORM_UNSUPPORTED' // processes cannot be told apart here

/** What the caller may do: `retry` with the same id, `report` to a person, or `stop` this actor. */
export type Remedy = 'retry' | 'report' | 'stop'

/** A promise `mailbox/` could not keep. Match on `code`, never on `message`. */
export class MailboxError extends Error {
  override readonly name = 'MailboxError'
  readonly code: MailboxErrorCode
  readonly remedy: Remedy

  constructor(code: MailboxErrorCode, remedy: Remedy, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    this.remedy = remedy
  }
}

/** EDQUOT reaches Node without a name on some systems, so the number counts too. */
const quotaExceeded = -122

/** The system's error as ours, with the path it was about. An error that is ours already stays as it is. */
export function mailboxError(error: unknown, doing: string, path: string): MailboxError {
  if (error instanceof MailboxError) return error
  const { code, errno } = error as NodeJS.ErrnoException
  const what = `${doing} ${path}: ${code ?? String(error)}`
  if (code === 'ENOSPC' || code === 'EDQUOT' || errno === quotaExceeded)
    return new MailboxError('DROVER_MAILBOX_FULL', 'retry', `${what}. Free some disk space.`, error)
  if (code === 'ENOENT') return new MailboxError('DROVER_MAILBOX_GONE', 'stop', what, error)
  if (code === 'ELOOP' || code === 'ENOTDIR')
    return new MailboxError('DROVER_MAILBOX_UNSAFE', 'report', what, error)
  return new MailboxError('DROVER_MAILBOX_IO', 'report', what, error)
}
