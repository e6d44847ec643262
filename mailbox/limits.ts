/** The numbers that rooms share, each with its unit in its name. Sources: what a person waits for, and what was measured. */

/** Read ceiling of one record, bytes. A larger file is quarantined unread. */
export const recordReadBytesMax = 1_048_576
/** Default admission limit of one record, bytes of its final serialized form. */
export const recordBytesDefault = 131_072
/** Smallest and largest configurable admission limit, bytes. */
export const recordBytesLowest = 1_024
export const recordBytesHighest = 1_048_576
/** Result text kept in the record itself, bytes of UTF-8; the whole of a longer text goes to a file. */
export const resultInlineBytesMax = 16_384
/** Text of all results in one message to an owner, bytes of UTF-8. */
export const messageBytesMax = 49_152
/** Full texts of long results are kept this long, days. */
export const resultKeptDays = 30
/** Room set aside so that finished work can settle on a full disk, bytes. */
export const ballastBytes = 1_048_576

/** Living agents one lead may have, its whole tree counted. */
export const liveAgentsMax = 16
/** Levels of agents below a lead. */
export const treeDepthMax = 2
/** Steers an agent has not acknowledged yet. */
export const unacknowledgedSteersMax = 16
/** Messages waiting in one actor. */
export const actorQueueMax = 10_000

/** Time an agent has from its start to its task's acknowledgement, ms: the default and the range a caller may ask for. */
export const startBudgetMs = 60_000
export const startBudgetLowestMs = 5_001
export const startBudgetHighestMs = 300_000
/** Part of the start budget kept for a last look at an agent that did not get ready, ms. */
export const startDiagnosisMs = 1_000
/** Time a request may stay unanswered before its outcome is reported as unknown, ms. */
export const acknowledgementWaitMs = 5_000
/** Rescan of one's own mailboxes when no hint came, ms. */
export const rescanMs = 5_000
/** Rescan of a lease held by another process, ms. */
export const leaseRescanMs = 30_000
/** Time between asking a process to end and ending it by force, ms. */
export const stopGraceMs = 5_000
/** Time a closed agent has to answer with its own report, ms. */
export const cascadeAnswerMs = 10_000
/** Silence after which an agent is shown as stale, ms. */
export const staleMs = 600_000
/** Time a question may stay unanswered, and a request untaken, before the owner is reminded, ms. */
export const unansweredMs = 300_000
export const untakenMs = 600_000
/** Attempts to write a result, and the time between two, ms. */
export const resultAttemptsMax = 8
export const resultRetryMs = 250
/** Longest reason why a result cannot be written that is kept, characters. */
export const resultErrorCharsMax = 1_024

/** Error output kept of a headless agent, bytes. */
export const errorLogBytesMax = 262_144
/** Terminal or log tail shown of an agent: lines, and bytes of UTF-8. */
export const captureLinesMax = 80
export const captureBytesMax = 16_384

/** Longest label of an agent, characters. */
export const labelCharsMax = 32
/** What the report of a close holds: entries of each list, and characters of why one agent is still open. */
export const reportListMax = 1_024
export const reportReasonCharsMax = 4_096

/** Longest reason why bytes were refused, characters: hostile bytes must not write long ones. */
export const refusalReasonCharsMax = 500

/** Records one scan hands over before it lets the event loop go on. */
export const scanWindow = 256
