/** What the rooms below need from the world. Everything that varies in a test or a simulator enters here. */

/** The one source of time. `now` is for people and records only: no decision of ours depends on wall time. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
  /** Milliseconds on a clock that never jumps. */
  monotonic(): number
  /** Calls back once after `delayMs`. Somebody waits for it: it keeps the process alive. Returns its cancel. */
  after(delayMs: number, callback: () => void): () => void
  /** The same for what goes on beside all work: it never keeps the process alive. */
  background(delayMs: number, callback: () => void): () => void
  /** Lets everything else that is ready run first. */
  yield(): Promise<void>
}

/** The one source of randomness. */
export interface Ids {
  /** 26 characters of 0-9a-z. */
  next(): string
}

export type Entry = 'file' | 'directory' | 'other'

/** Whether bytes could be had, and if not, why: the reason is kept beside the quarantined file. */
export type ReadOutcome =
  | { readonly bytes: Uint8Array }
  | { readonly refusal: 'absent' | 'not-regular' | 'not-ours' | 'not-private' | 'oversize' }

/**
 * A file system as the mailbox uses it. Two exist: the disk, and a memory that can lose power.
 *
 * Calls are synchronous but for the syncs: those wait for the device and run beside each other, the others are
 * cheaper than the hand-over to a thread would be. Every failure is a `MailboxError` that names the path.
 */
export interface MailboxFs {
  readonly name: string
  /** Makes one directory, 0700 whatever the umask. */
  makeDirectory(path: string): 'made' | 'exists'
  /** Makes a new file, 0600, and resolves once its bytes are durable; its name is not. Never follows or replaces. */
  createSynced(path: string, bytes: Uint8Array): Promise<void>
  /** Gives the file at `from` a second name, unless that name is taken. */
  link(from: string, to: string): 'linked' | 'exists'
  /** Moves an entry of any kind, without following it. Replaces a file of that name. */
  rename(from: string, to: string): void
  /** Removes a name that is not a directory. */
  remove(path: string): 'removed' | 'absent'
  /** Removes a directory and all below it, following nothing. */
  removeTree(path: string): void
  /** Resolves once all names given and taken in this directory so far are durable. */
  syncDirectory(path: string): Promise<void>
  /** The names in a directory, in no order; undefined where there is none. */
  list(path: string): readonly string[] | undefined
  /** What is there, without following a link. */
  entry(path: string): Entry | undefined
  /** Reads a whole private file of ours, never following a link, never waiting on a pipe. */
  read(path: string, bytesMax: number): ReadOutcome
  /** Refuses a directory that is not a real one, ours and private. */
  verifyDirectory(path: string): void
  /** Calls `hint` when names in a directory may have changed. Hints may get lost. Throws where none can be had. */
  watch(path: string, hint: () => void): () => void
}

/** Who a process is, so that no other is ever taken for it. */
export interface ProcessIdentity {
  /** The machine: its id, which outlives a reboot. */
  readonly host: string
  /** One boot of that machine. */
  readonly boot: string
  /** The PID namespace, where the platform has them. */
  readonly namespace: string
  readonly pid: number
  /** When it started, in the kernel's own unit: two lives of one pid differ here. */
  readonly started: string
}

/** `gone` is proof; `unknown` proves nothing and permits nothing. */
export type ProcessPresence = 'live' | 'gone' | 'unknown'

/** A variable that processes were started with. */
export interface Mark {
  readonly variable: string
  readonly value: string
}

/** A process, and the environment it was started with. */
export interface MarkedProcess {
  readonly process: ProcessIdentity
  readonly environment: Readonly<Record<string, string>>
}

export interface Processes {
  self(): ProcessIdentity
  /** The identity of a pid of this namespace as it is now. */
  identify(pid: number): ProcessIdentity | undefined
  presence(process: ProcessIdentity): ProcessPresence
  /**
   * The living processes below one, nearest first. With a mark, those are left out that were started with another
   * value of its variable, and all below them.
   */
  descendants(process: ProcessIdentity, mark?: Mark): readonly ProcessIdentity[]
  /**
   * The command a process runs now, its arguments after one another: the beginning, as the process itself states it,
   * so advice only. Undefined where it cannot be told, or is not proven to be of that very process.
   */
  command(process: ProcessIdentity): string | undefined
  /** Whether environments of processes can be read here at all; where not, `marked` finds nothing and proves nothing. */
  readonly seesMarks: boolean
  /** The living processes of ours that were started with this variable in their environment. */
  marked(mark: Mark): readonly ProcessIdentity[]
  /** The living processes of ours that were started with this variable, whatever its value, and all they were given. */
  bearing(variable: string): readonly MarkedProcess[]
  /** Verifies the identity, then signals. Nothing is sent unless it is proven to be that very process. */
  signal(process: ProcessIdentity, signal: 'SIGTERM' | 'SIGKILL'): 'sent' | 'gone' | 'unknown'
}
