import type { Remedy } from '../mailbox/index.ts'

/** What went wrong, for programs. */
export type ActorErrorCode =
  | 'DROVER_ACTOR_FULL' // its queue is at its limit; the message was not taken
  | 'DROVER_ACTOR_STOPPED' // it takes no more messages, or ended before it came to this one
  | 'DROVER_ASK_TIMEOUT' // no answer in time; the message may or may not be handled

/** A promise `actors/` could not keep. Match on `code`, never on `message`. */
export class ActorError extends Error {
  override readonly name = 'ActorError'
  readonly code: ActorErrorCode
  readonly remedy: Remedy

  constructor(code: ActorErrorCode, remedy: Remedy, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    this.remedy = remedy
  }
}
