import type { ExtensionContext } from '@mariozechner/pi-coding-agent'
import {
  type Action,
  mayDo,
  noSuchAgent,
  type OperationFailure,
  type OwnAgents,
  openQuestion,
  type Row,
} from '../../../actors/index.ts'
import type { Clock } from '../../../mailbox/index.ts'
import { closedAnswer, toldAnswer } from '../agent-tool.ts'
import type { Delegation } from '../delegation.ts'
import { asFailure, failureText } from '../errors.ts'

/** What a view needs of the agents of its session. */
export interface ViewedAgents extends Pick<Delegation, 'agents' | 'tell' | 'close'> {
  readonly ownAgents: Pick<OwnAgents, 'onChange'>
}

/** What became of something a person did. */
export interface Answer {
  readonly text: string
  readonly isError: boolean
}

/** Between two looks at the agents while things change, and while nothing says that they do, ms. */
const refreshMs = 1_000
const idleRefreshMs = 5_000

/** One agent as it is now, and what a person does with it: the same rows, checks and answers as the tool `agent` has. */
export class WatchedAgent {
  readonly label: string
  /** As it was last seen; it stays when the agent has come to its end. */
  row: Row
  /** Whether it is gone from the agents of this session. */
  isGone = false
  /** Whether the session has ended that this agent belongs to. */
  isOver = false
  readonly #agents: ViewedAgents
  readonly #ctx: ExtensionContext
  readonly #clock: Clock
  readonly #changed: () => void
  #labels: readonly string[] = []
  #seen = ''
  #refreshing: Promise<void> | undefined
  #refreshedMs: number
  #isDue = false
  #cancel: () => void = () => {}
  #unlisten: () => void = () => {}

  private constructor(
    ports: { readonly agents: ViewedAgents; readonly clock: Clock },
    ctx: ExtensionContext,
    row: Row,
    changed: () => void,
  ) {
    this.#agents = ports.agents
    this.#clock = ports.clock
    this.#ctx = ctx
    this.row = row
    this.label = row.agent
    this.#changed = changed
    this.#refreshedMs = ports.clock.monotonic()
  }

  /** @throws OperationError `target_not_found` - no agent of this session or below it is called so */
  static async find(
    ports: { readonly agents: ViewedAgents; readonly clock: Clock },
    ctx: ExtensionContext,
    label: string,
    changed: () => void,
  ): Promise<WatchedAgent> {
    const { rows, below } = await ports.agents.agents(ctx)
    const all = [...rows, ...below.map(({ row }) => row)]
    const row = all.find(({ agent }) => agent === label)
    if (row === undefined)
      throw noSuchAgent(
        'view',
        label,
        all.map(({ agent }) => agent),
      )
    const found = new WatchedAgent(ports, ctx, row, changed)
    found.#labels = rows.map(({ agent }) => agent)
    found.#unlisten = ports.agents.ownAgents.onChange(() => found.lookSoon())
    found.#lookIn(idleRefreshMs)
    return found
  }

  stop(): void {
    this.isOver = true
    this.#unlisten()
    this.#cancel()
  }

  /** Looks again when it was not looked at just now. */
  lookSoon(): void {
    if (this.#isDue || this.isOver) return
    this.#isDue = true
    if (this.#refreshing === undefined)
      this.#lookIn(Math.max(0, this.#refreshedMs + refreshMs - this.#clock.monotonic()))
  }

  /** Why something may not be done now, as the tool says it; undefined when it may be tried. */
  refusal(action: Action): Answer | undefined {
    if (this.row.actions.includes(action) && !this.isGone) return undefined
    const isDirect = this.#labels.includes(this.label) && !this.isGone
    const verdict = isDirect && mayDo(action, this.row.facts)
    if (verdict === true) return undefined
    if (verdict === false)
      return refused(asFailure(noSuchAgent(action, this.label, this.#labels), action))
    return refused({
      category: verdict.category,
      operation: action,
      stage: 'preconditions',
      message: `${verdict.why}.`,
      nextAction: verdict.next,
      rollbackOccurred: false,
    })
  }

  async tell(action: 'steer' | 'reply', message: string): Promise<Answer> {
    return this.#tried(action, async () => {
      const told = await this.#agents.tell(action, { agent: this.label, message }, this.#ctx)
      return toldAnswer(action, this.label, told).text
    })
  }

  async close(): Promise<Answer> {
    return this.#tried('close', async () => {
      return closedAnswer(this.label, await this.#agents.close(this.label, this.#ctx)).text
    })
  }

  async #tried(action: Action, act: () => Promise<string>): Promise<Answer> {
    try {
      return { text: await act(), isError: false }
    } catch (error) {
      return refused(asFailure(error, action))
    } finally {
      this.lookSoon()
    }
  }

  #lookIn(delayMs: number): void {
    this.#cancel()
    this.#cancel = this.#clock.background(delayMs, () => {
      this.#refreshing = this.#refresh()
    })
  }

  async #refresh(): Promise<void> {
    this.#isDue = false
    try {
      await this.#look()
    } catch {
      // The session is being replaced, or its files cannot be read: it is seen as it was.
    }
    this.#refreshing = undefined
    this.#refreshedMs = this.#clock.monotonic()
    if (this.isOver) return
    this.#lookIn(this.#isDue ? refreshMs : idleRefreshMs)
    const seen = JSON.stringify(this.#shown())
    if (seen === this.#seen) return
    this.#seen = seen
    this.#changed()
  }

  async #look(): Promise<void> {
    const { rows, below, role } = await this.#agents.agents(this.#ctx)
    this.isOver ||= role === 'stopped'
    const { generation } = this.row.facts.generation.identity
    const row = [...rows, ...below.map((each) => each.row)].find(
      ({ facts }) => facts.generation.identity.generation === generation,
    )
    this.#labels = rows.map(({ agent }) => agent)
    this.isGone = row === undefined
    this.row = row ?? this.row
    if (this.isOver) this.#changed()
  }

  /** What of it is shown; a change of anything else draws nothing. */
  #shown(): readonly unknown[] {
    const { state, starting, actions, facts } = this.row
    const { tool, tokens, contextPercent } = facts.activity ?? {}
    const ask = openQuestion(facts)?.id
    return [this.isGone, state, starting, actions, tool, tokens, contextPercent, ask]
  }
}

const refused = (failure: OperationFailure): Answer => ({
  text: failureText(failure),
  isError: true,
})
