import type { AgentSession, AgentStatus } from './fake-records.ts'

export type ReportedState = Exclude<AgentStatus, 'done'>

export interface Report {
  readonly source: string
  readonly agent: string
  readonly state?: ReportedState
  readonly seq?: number
  readonly session?: AgentSession
}

export interface Launch {
  readonly startedAt: number
  readonly timeoutMs: number
  isReady: boolean
}

/** What the screen and the tabs say while a status is made. */
export interface Seen {
  readonly showsWork: boolean
  /** Its tab is the one a person looks at. */
  readonly isInView: boolean
}

/** Kinds of agents that are known by their processes. */
export const knownAgents: readonly string[] = [
  'pi',
  'claude',
  'codex',
  'gemini',
  'opencode',
  'amp',
  'cursor-agent',
  'copilot',
  'droid',
]

/**
 * What is known about the agent of one pane. Reports that do not count are forgotten without a word,
 * as herdr answers `ok` to them.
 */
export class AgentState {
  name: string | undefined
  launch: Launch | undefined
  detected: string | undefined
  session: AgentSession | undefined
  stateChangeSeq = 0
  status: AgentStatus = 'unknown'
  /** The label last told in an event. */
  shownLabel: string | undefined
  #authority: Report | undefined
  #held: Report | undefined
  readonly #lastSeq = new Map<string, number>()

  /** The kind of agent this pane shows. */
  get label(): string | undefined {
    return this.detected ?? this.#authority?.agent
  }

  /** While an official source speaks, the screen is not asked. */
  get isOfficial(): boolean {
    return this.#authority !== undefined && isOfficial(this.#authority)
  }

  /** A source speaks for this pane. */
  get isReported(): boolean {
    return this.#authority !== undefined
  }

  get reportsUnknownKind(): boolean {
    return this.#authority !== undefined && !knownAgents.includes(this.#authority.agent)
  }

  report(report: Report): void {
    if (isOfficial(report)) this.#officialReport(report)
    else if (this.#counts(report)) this.#authority = report
  }

  reportSession(report: Report): void {
    if (isOfficial(report) && report.session !== undefined && this.#isNews(report))
      this.session = report.session
  }

  release(source: string | undefined, seq: number | undefined): void {
    if (
      source !== undefined &&
      !this.#isNews({ source, agent: '', ...(seq !== undefined && { seq }) })
    )
      return
    if (source === undefined || this.#authority?.source === source) this.dropAuthority()
    if (source === undefined || this.#held?.source === source) this.#held = undefined
  }

  dropAuthority(): void {
    this.#authority = undefined
  }

  /** A process was seen, or is seen no more. What was held for it counts from now on. */
  detect(kind: string | undefined): void {
    if (kind === this.detected) return
    this.detected = kind
    if (kind === undefined) {
      if (this.isOfficial) this.#authority = undefined
      this.#held = undefined
      this.session = undefined
      return
    }
    if (this.#held?.agent === kind) this.#authority = this.#held
    this.#held = undefined
  }

  /** What the status has become. */
  next({ showsWork, isInView }: Seen): AgentStatus {
    const state = this.#state(showsWork)
    if (state !== 'idle') return state
    if (this.status === 'done') return isInView ? 'idle' : 'done'
    const hasWorked = this.status === 'working' || this.status === 'blocked'
    return hasWorked && !isInView ? 'done' : 'idle'
  }

  #state(showsWork: boolean): ReportedState {
    if (this.#authority?.state !== undefined) return this.#authority.state
    if (this.detected === undefined) return 'unknown'
    return showsWork ? 'working' : 'idle'
  }

  #officialReport(report: Report): void {
    const session = report.session ?? this.session
    if (session === undefined || report.seq === undefined || !this.#isNews(report)) return
    this.session = session
    if (this.detected === report.agent) this.#authority = report
    else if (this.detected === undefined) this.#held = report
  }

  #counts(report: Report): boolean {
    if (knownAgents.includes(report.agent) && report.agent !== this.detected) return false
    if (this.session !== undefined && this.session.source !== report.source) return false
    return this.#isNews(report)
  }

  #isNews({ source, seq }: Report): boolean {
    const last = this.#lastSeq.get(source)
    if (seq === undefined) return last === undefined
    if (last !== undefined && seq <= last) return false
    this.#lastSeq.set(source, seq)
    return true
  }
}

function isOfficial({ source, agent }: Report): boolean {
  return source === `herdr:${agent}` && knownAgents.includes(agent)
}
