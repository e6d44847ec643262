import type {
  AskRecord,
  FailureRecord,
  GenerationFile,
  GenerationPaths,
  Identity,
  Pane,
  Placement,
  ProcessIdentity,
  ResultError,
  ResultRecord,
  Usage,
} from '../mailbox/index.ts'

/**
 * What fresh physical evidence proves about an agent's process. Only `lost` is proof that it is gone; `unknown`
 * permits nothing.
 */
export type Presence = 'live' | 'lost' | 'unknown'

/** One agent as a runner sees it. */
export interface AgentPlace {
  readonly generation: GenerationFile
  readonly paths: GenerationPaths
  readonly placement: Placement
}

/** An agent of which it may not be known where it was put. */
export interface AgentTrace extends Omit<AgentPlace, 'placement'> {
  readonly placement?: Placement | undefined
}

/** A private file an agent is started with. */
export interface LaunchFile {
  readonly path: string
  readonly text: string
}

/** A program to start, and how: what a host and the runners of this machine agree on. */
export interface LaunchCommand {
  readonly command: string
  readonly args: readonly string[]
  readonly cwd: string
  /** All of it, but for what a terminal says of itself. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly files: readonly LaunchFile[]
  /** Where it is shown, by a runner that shows it: with the other agents, or beside its owner. */
  readonly placement: 'tab' | 'split'
}

/** How one agent is started, once it has its generation; in a terminal a person can use, or without one. */
export type Launch = (
  generation: GenerationFile,
  paths: GenerationPaths,
  surface: 'terminal' | 'none',
) => LaunchCommand

/** An order to start one agent. `launch` is what the host and its runner agreed on; nobody between reads it. */
export interface StartOrder<Launch> {
  readonly generation: GenerationFile
  readonly paths: GenerationPaths
  readonly launch: Launch
  /** Aborted when the start is not wanted any more, or its time is up. */
  readonly signal?: AbortSignal
}

/** A pane as it is now: a person may have moved it since the agent was put there. */
export interface PaneView extends Pane {
  /** As the person reads it. */
  readonly tabLabel?: string
}

/** A last look at an agent: the end of what its process or screen says. */
export interface Capture {
  readonly lines: readonly string[]
  /** True only if our own limit of bytes cut it. */
  readonly truncated: boolean
}

/** One process of an agent. */
export interface AgentProcess extends ProcessIdentity {
  /** What it runs, as it states itself: advice, of any length, with any character in it. Absent where it cannot be told. */
  readonly command?: string
}

/** Why an agent's process is ended. */
export type StopReason = 'delivered' | 'closed'

export type Stopped =
  | { readonly outcome: 'gone'; readonly ended: readonly ProcessIdentity[] }
  /** Delivered, and left to the person as a session of theirs: it is no agent any more. */
  | { readonly outcome: 'kept' }
  | { readonly outcome: 'unproven'; readonly why: string }

/**
 * Where and how agents live. Says whether an agent's process is there, never whether its work is finished.
 *
 * Every implementation passes `runnerConformance`.
 */
export interface AgentRunner<Launch = unknown> {
  readonly name: string
  /** Whether an agent's process ends by itself once it has nothing left to do. */
  readonly agentsLeave: boolean
  /**
   * Starts the agent's process and says where it is. What was started but cannot be identified is ended again.
   *
   * @throws LeftBehind - nothing runs, but something of it may be left
   * @throws Error - nothing runs; the message says why
   */
  start(order: StartOrder<Launch>): Promise<Placement>
  observe(place: AgentPlace): Promise<Presence>
  capture(place: AgentTrace): Promise<Capture>
  /** The agent's process and those below it, with what each runs. */
  processes(place: AgentPlace): Promise<readonly AgentProcess[]>
  /**
   * Shows the agent to the person, where there is something to show.
   *
   * @param where the pane it was seen in: if it is in another one now, nothing is done
   */
  focus(place: AgentPlace, where?: Pane): Promise<'focused' | 'unsupported' | 'changed'>
  /**
   * Ends the agent's process and what it started: asks, waits, forces, and proves it gone. Repeating it is harmless.
   * Signals nothing whose identity is not proven, and closes nothing it did not open.
   */
  stop(place: AgentPlace, reason: StopReason): Promise<Stopped>
  /** Where an agent is shown, as it was seen last; undefined where it is not. */
  pane(place: AgentPlace): PaneView | undefined
  /** Calls back when a placement may have changed. A hint. Returns its end. */
  onChange(listener: () => void): () => void
}

/** The runners of this process, by name. */
export type Runners = ReadonlyMap<string, AgentRunner>

/** What an owner is told of an agent, with the full identity by which it is recognised later. */
export type Report = ResultReport | QuestionReport | NoticeReport

/** A question that waits for its owner's answer. */
export interface QuestionReport {
  readonly generation: GenerationFile
  readonly ask: AskRecord
}

/**
 * Why an owner should look at an agent. Advice: it proves no failure and permits nothing.
 *
 * `lost`: its process is gone, and there is no result. `unknown`: it cannot be proved whether it runs.
 * `result_error`: it has come to its end and cannot write that down. `unanswered`: its question waits for an answer.
 * `untaken`: it has not taken a request. `stale`: it is at work and silent.
 */
export type Condition = 'lost' | 'unknown' | 'result_error' | 'unanswered' | 'untaken' | 'stale'

export interface Notice {
  readonly condition: Condition
  /** Of the assignment. */
  readonly request: string
  /** What it is about, and which reminder this is: each is told once. */
  readonly episode: string
  /** How long it has been so at least, ms, where that is known: as far as this process has seen it. */
  readonly lastsMs?: number
  /** What can be done with the agent now. */
  readonly actions: readonly string[]
  readonly resultError?: ResultError
  /** What it did last, with the first notice of its silence that is told. */
  readonly capture?: Capture
}

export interface NoticeReport {
  readonly generation: GenerationFile
  readonly notice: Notice
}

export interface ResultReport {
  readonly generation: GenerationFile
  readonly conclusion: ResultRecord | FailureRecord
  /** Problems that were met while keeping it. */
  readonly persistenceError?: string
}

/** What identifies one delivery. A partial match proves nothing. */
export interface DeliveryIdentity extends Identity {
  readonly request: string
  /** The question, where it is one. */
  readonly ask?: string
  /** The episode, where it is a notice. */
  readonly notice?: string
}

/**
 * Whom agents report to: the host session of their owner.
 *
 * Every implementation passes `ownerHostConformance`.
 */
export interface OwnerHost {
  /** Whether a message sent in this very tick would start a turn, and not wait in a queue of the host. */
  isIdle(): boolean
  /** Checks once more that the host is idle and hands it one message with all reports, in one tick. */
  trySend(reports: readonly Report[]): 'sent' | 'busy'
  /** Which of these are in the host's durable history, whole and with their full identity. */
  seen(identities: readonly DeliveryIdentity[]): Promise<readonly DeliveryIdentity[]>
  /** Calls back, never from inside a host event, when any of the above may have changed. Returns its end. */
  onChange(listener: () => void): () => void
}

/** How a run of the agent's host came to its real end. */
export type RunEnd =
  | { readonly outcome: 'answered'; readonly text: string }
  | { readonly outcome: 'failed'; readonly message: string }
  /** A person stopped it. No end of the assignment: the person may go on. */
  | { readonly outcome: 'aborted' }

/** What a session shows that has been reloaded. */
export interface Earlier {
  /** Requests the model was shown and has reacted to. */
  readonly told: ReadonlySet<string>
  /** How the last run ended; absent where there was none. */
  readonly end?: RunEnd
}

/** The host session in which an agent does its work. */
export interface AgentHost {
  /** Starts a turn with the text of a request, unless the host is busy. */
  tryStart(text: string, request: string): 'sent' | 'busy'
  /**
   * Puts a text before the model at its next step, in the run that goes on. It may come to nothing if that run ends
   * first: what the model has really been shown is told by `onShown`.
   */
  steer(text: string, request: string): 'sent' | 'idle'
  /** Calls back, never from inside a host event, when the model has been shown the steer of a request. */
  onShown(listener: (request: string) => void): () => void
  /** Whether no run goes on and none is about to start again. */
  isIdle(): boolean
  /** Whether a person sits before this session, who could go on after stopping a run. */
  readonly hasPerson: boolean
  /** Stops the current run, if there is one. */
  abort(): void
  usage(): Usage
  /** Calls back, never from inside a host event, when a run has really ended: no retry follows. Returns its end. */
  onRunEnd(listener: (end: RunEnd) => void): () => void
  /** What the session shows of an earlier life in this process, which ended while no run went on. */
  earlier(): Earlier
  /**
   * All there was to say is durable: ends this process. One a person sits before ends only when it was `closed`: else
   * it stays, theirs, until its owner ends it.
   */
  leave(end: 'over' | 'closed'): void
}

/** The session an agent is to have: new, a copy of another, or one that is taken up again. */
export interface AgentSession {
  readonly id: string
  readonly file: string
  /** Makes it ready, durable, before anything is started. */
  write(): Promise<void>
  /** Takes that back: removes a session in which nobody has spoken; any other stays. */
  remove(): void
}
