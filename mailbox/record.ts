import { labelCharsMax } from './limits.ts'
import type { ProcessIdentity } from './ports.ts'

/** Version of everything on disk. Another number is refused, never guessed at. */
export const protocol = 4

/** What a label may be: it is typed by people, shown in one line, and part of names on disk. */
export const labelPattern: RegExp = new RegExp(`^[a-z][a-z0-9_-]{0,${labelCharsMax - 1}}$`)

/** Which life of which agent a record is about. Two are equal only if every field is. */
export interface Identity {
  readonly generation: string
  /** Session id of the owner: the one that delegated. */
  readonly owner: string
  readonly session: string
  readonly sessionFile: string
  readonly label: string
  readonly cwd: string
}

/** Where a runner put an agent: enough to find it again and to end it, and nothing else. */
export interface Placement {
  readonly runner: string
  readonly process?: ProcessIdentity | undefined
  readonly pane?: Pane | undefined
}

export interface Pane {
  readonly workspace: string
  readonly tab: string
  readonly pane: string
  readonly terminal: string
  /** Where the server listens that these ids are of. */
  readonly server: string
}

/** What every record says first. There is no author: the author is the directory it was found in. */
interface Envelope<Kind extends string> {
  readonly protocol: typeof protocol
  readonly kind: Kind
  /** 26 characters of 0-9a-z; also part of the file name. */
  readonly id: string
  readonly identity: Identity
  /** For people, milliseconds since the epoch. Nothing is decided by it. */
  readonly at: number
}

/** Owner records carry the number of the lease they were written under; a lower one after a higher is ignored. */
interface OwnerEnvelope<Kind extends string> extends Envelope<Kind> {
  readonly lease: number
}

/** A file that goes with a text: by its canonical path, and whole where it fits. */
export interface Attachment {
  readonly path: string
  readonly bytes: number
  /** The whole file. Absent where it is not text, or too large. */
  readonly text?: string | undefined
}

/** A text from one side to the other. Untrusted: never a path, never a command. */
interface Message {
  readonly text: string
  readonly files?: readonly Attachment[] | undefined
}

/** The work. Its id is the request id of the whole assignment. */
export interface TaskRecord extends OwnerEnvelope<'task'>, Message {}
/** Where the agent was put; the owner may end that process, and no other. */
export interface PlacedRecord extends OwnerEnvelope<'placed'> {
  readonly placement: Placement
}
/** A change of direction for work that goes on. */
export interface SteerRecord extends OwnerEnvelope<'steer'>, Message {}
/** The answer to one question. */
export interface ReplyRecord extends OwnerEnvelope<'reply'>, Message {
  readonly ask: string
}
/** `withdrawn`: the start did not succeed. `stopped`: everything is ended, undelivered results too. */
export type CloseReason = 'closed' | 'withdrawn' | 'stopped'
export interface CloseRecord extends OwnerEnvelope<'close'> {
  readonly reason: CloseReason
}
export type OwnerRecord = TaskRecord | PlacedRecord | SteerRecord | ReplyRecord | CloseRecord

/** Why an agent did not accept a request. */
export type RejectionCode =
  | 'identity'
  | 'incompatible'
  | 'busy'
  | 'idle'
  | 'ambiguous'
  | 'delivery'
  | 'invalid'
export interface AcceptedRecord extends Envelope<'ack'> {
  readonly request: string
  readonly accepted: true
}
export interface RejectedRecord extends Envelope<'ack'> {
  readonly request: string
  readonly accepted: false
  readonly code: RejectionCode
  readonly message: string
}
export type AckRecord = AcceptedRecord | RejectedRecord
/** The model of the agent has been shown a steer: more than that it was accepted. */
export interface ConsumedRecord extends Envelope<'consumed'> {
  readonly request: string
}
/** A question that blocks the assignment until its owner answers. */
export interface AskRecord extends Envelope<'ask'>, Message {
  readonly request: string
}
/** What an assignment cost, as its host counted it. */
export interface Usage {
  readonly elapsedMs: number
  readonly turns: number
  readonly tokens?: number | undefined
  readonly contextPercent?: number | undefined
  readonly costUsd?: number | undefined
}
/** The whole of a text too long for its record. */
export interface WholeText {
  readonly file: string
  readonly bytes: number
}
export interface ResultRecord extends Envelope<'result'> {
  readonly request: string
  readonly text: string
  readonly whole?: WholeText | undefined
  readonly usage?: Usage | undefined
}
export type FailureCode =
  | 'empty_result'
  | 'model_error'
  | 'session_replaced'
  | 'interrupted'
  | 'refused'
  | 'internal'
export interface FailureRecord extends Envelope<'failure'> {
  readonly request: string
  readonly code: FailureCode
  readonly message: string
  readonly usage?: Usage | undefined
}
/** A generation that stayed open although its ancestor was closed, and why. */
export interface NotClosed {
  readonly label: string
  readonly why: string
}
export interface ClosedRecord extends Envelope<'closed'> {
  readonly request: string
  readonly closed: readonly string[]
  readonly notClosed: readonly NotClosed[]
  /** Files of results whose reader was closed before they were delivered. */
  readonly kept: readonly string[]
}
export type AgentRecord =
  | AckRecord
  | ConsumedRecord
  | AskRecord
  | ResultRecord
  | FailureRecord
  | ClosedRecord

export type MailboxRecord = OwnerRecord | AgentRecord
export type RecordKind = MailboxRecord['kind']

/** A runtime: one process, and which of the runtimes that process has had. */
export interface Runtime {
  readonly process: ProcessIdentity
  readonly nonce: string
}

/** Written before anything is started; never changed. */
export interface GenerationFile {
  readonly protocol: typeof protocol
  readonly kind: 'generation'
  readonly identity: Identity
  /** Session id of the lead at the root of the tree. */
  readonly root: string
  /** Levels below that lead: its own agents are at 1. */
  readonly depth: number
  readonly definition: string
  readonly runner: string
  readonly build: string
  readonly at: number
  readonly starter: Runtime
}

/** An agent's first word, published once by link: it is there, and this is its process. */
export interface ReadyFile {
  readonly protocol: typeof protocol
  readonly kind: 'ready'
  readonly identity: Identity
  readonly build: string
  readonly at: number
  readonly runtime: Runtime
}

/** A name taken by one generation: a label in a tree, or a session in an agent directory. */
export interface ClaimFile {
  readonly protocol: typeof protocol
  readonly kind: 'claim'
  readonly subject: string
  readonly owner: string
  readonly root: string
  readonly generation: string
  readonly claimer: Runtime
}

/** Who acts from this number on; without a holder, nobody does. */
export interface LeaseFile {
  readonly protocol: typeof protocol
  readonly kind: 'lease'
  readonly subject: string
  readonly holder?: Runtime | undefined
}
