import { type Feed, type PlainEvent, sorted } from './fake-events.ts'
import { matched, type ReadOrder } from './fake-reading.ts'
import type { AgentStatus } from './fake-records.ts'
import type { Stage } from './fake-stage.ts'
import type { Pane } from './fake-world.ts'

/** The status of one pane, from now on; silent for ever once the pane is dead. */
export class StatusFeed implements Feed {
  readonly #pane: Pane
  readonly #wanted: AgentStatus | undefined
  #last: AgentStatus | undefined

  constructor(pane: Pane, wanted: AgentStatus | undefined) {
    this.#pane = pane
    this.#wanted = wanted
    this.#last =
      wanted !== undefined && wanted === pane.agent.status ? undefined : pane.agent.status
  }

  poll(): readonly PlainEvent[] {
    const { agent, metadata, id, workspace, isGone } = this.#pane
    if (isGone || agent.status === this.#last) return []
    this.#last = agent.status
    if (this.#wanted !== undefined && agent.status !== this.#wanted) return []
    const labels = metadata.stateLabels
    return [
      event('pane.agent_status_changed', {
        pane_id: id,
        workspace_id: workspace.id,
        agent_status: agent.status,
        ...(agent.label !== undefined && { agent: agent.label }),
        ...(metadata.title !== undefined && { title: metadata.title }),
        ...(metadata.displayAgent !== undefined && { display_agent: metadata.displayAgent }),
        ...(Object.keys(labels).length > 0 && { state_labels: labels }),
      }),
    ]
  }
}

/** Tells whenever a line of one pane begins to match. */
export class OutputFeed implements Feed {
  readonly #stage: Stage
  readonly #pane: Pane
  readonly #order: ReadOrder
  readonly #matches: (line: string) => boolean
  #told = false

  constructor(stage: Stage, pane: Pane, order: ReadOrder, matches: (line: string) => boolean) {
    this.#stage = stage
    this.#pane = pane
    this.#order = { source: order.source, lines: order.lines }
    this.#matches = matches
  }

  async poll(): Promise<readonly PlainEvent[]> {
    if (this.#pane.isGone) return []
    const found = await matched(this.#stage, this.#pane, this.#order, this.#matches)
    const isNew = found !== undefined && !this.#told
    this.#told = found !== undefined
    if (!isNew) return []
    const { line, read } = found
    return [event('pane.output_matched', { pane_id: this.#pane.id, matched_line: line, read })]
  }
}

export class ScrollFeed implements Feed {
  readonly #pane: Pane
  #last: string

  constructor(pane: Pane) {
    this.#pane = pane
    this.#last = JSON.stringify(pane.terminal.screen.scroll)
  }

  poll(): readonly PlainEvent[] {
    const { terminal, id, workspace, isGone } = this.#pane
    const now = JSON.stringify(terminal.screen.scroll)
    if (isGone || now === this.#last) return []
    this.#last = now
    const { scroll } = terminal.screen
    return [event('pane.scroll_changed', { pane_id: id, workspace_id: workspace.id, scroll })]
  }
}

const event = (name: string, data: Readonly<Record<string, unknown>>): PlainEvent => ({
  event: name,
  data: sorted(data),
})
