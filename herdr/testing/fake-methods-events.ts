import { z } from 'zod'
import { DripFeed, EventsLost, type Feed, LiveFeed } from './fake-events.ts'
import {
  type Call,
  count,
  flag,
  long,
  type Methods,
  maybe,
  outputMatch,
  readSource,
  status,
  text,
} from './fake-method.ts'
import { OutputFeed, ScrollFeed, StatusFeed } from './fake-pane-feeds.ts'
import { matched, matcher } from './fake-reading.ts'
import { Refusal } from './fake-records.ts'
import type { Stage } from './fake-stage.ts'
import { polled, tick } from './fake-waits.ts'

const plainKinds = [
  'workspace.created',
  'workspace.updated',
  'workspace.metadata_updated',
  'workspace.renamed',
  'workspace.moved',
  'workspace.reordered',
  'workspace.closed',
  'workspace.focused',
  'worktree.created',
  'worktree.opened',
  'worktree.removed',
  'tab.created',
  'tab.closed',
  'tab.focused',
  'tab.renamed',
  'tab.moved',
  'pane.created',
  'pane.closed',
  'pane.updated',
  'pane.focused',
  'pane.moved',
  'pane.exited',
  'pane.agent_detected',
  'layout.updated',
] as const

const output = {
  pane_id: text,
  source: readSource,
  match: outputMatch,
  lines: maybe(count),
  strip_ansi: flag.optional(),
}

const subscription = z.union([
  z.object({ type: z.enum(plainKinds) }),
  z.object({
    type: z.literal('pane.agent_status_changed'),
    pane_id: text,
    agent_status: maybe(status),
  }),
  z.object({ type: z.literal('pane.output_matched'), ...output }),
  z.object({ type: z.literal('pane.scroll_changed'), pane_id: text }),
])

type Subscription = z.output<typeof subscription>

/** Calls that wait: for events, for a status, for output. */
export const eventMethods: Methods = {
  'events.subscribe': long(
    z.object({ subscriptions: z.array(subscription) }),
    async (stage, { subscriptions }, call) => {
      const feeds = await stage.run(() => feedsOf(stage, subscriptions))
      await call.send({ id: call.id, result: { type: 'subscription_started' } })
      await deliver(stage, feeds, call)
      return undefined
    },
  ),
  'events.wait': long(
    z.object({ match_event: z.looseObject({ event: text }), timeout_ms: maybe(count) }),
    async (stage, { match_event: wanted, timeout_ms: timeoutMs }, { signal }) => {
      const match = waitable.safeParse(wanted).data
      if (match === undefined)
        throw new Refusal('unsupported_event_wait_match', `cannot wait for ${wanted.event}`)
      const { pane_id, agent_status } = match
      const feed = new StatusFeed(stage.world.pane(pane_id), agent_status)
      const look = () => feed.poll()[0]
      const event = await polled(stage, signal, look, timeoutMs, 'event')
      if (event === undefined) return undefined
      const data = { ...event.data, type: 'pane_agent_status_changed' }
      return { type: 'wait_matched', event: { event: 'pane_agent_status_changed', data } }
    },
  ),
  'pane.wait_for_output': long(
    z.object({ ...output, timeout_ms: maybe(count) }),
    async (stage, { pane_id, match, timeout_ms: timeoutMs, ...order }, { signal }) => {
      const matches = matcher(match)
      const look = () => matched(stage, stage.world.pane(pane_id), order, matches)
      const found = await polled(stage, signal, look, timeoutMs, 'output match')
      if (found === undefined) return undefined
      const { line, read } = found
      return {
        type: 'output_matched',
        pane_id: read.pane_id,
        revision: 0,
        matched_line: line,
        read,
      }
    },
  ),
}

const waitable = z.object({
  event: z.literal('pane_agent_status_changed'),
  pane_id: text,
  agent_status: status,
})

/** An entry about a pane that is not there refuses the whole call, under an id of its own. */
export class BadSubscription extends Refusal {
  readonly index: number

  constructor(index: number, cause: Refusal) {
    super(cause.code, cause.message)
    this.index = index
  }
}

function feedsOf(stage: Stage, subscriptions: readonly Subscription[]): readonly Feed[] {
  const plain = subscriptions.filter(isPlain).map(({ type }) => type.replace('.', '_'))
  const live = stage.setting.profile !== '0.8' && [new LiveFeed(stage.ring, new Set(plain))]
  const drips = plain.map((kind) => new DripFeed(stage.ring, kind))
  const scoped = subscriptions.map((entry, index) => {
    try {
      return scopedFeed(stage, entry)
    } catch (cause) {
      throw cause instanceof Refusal ? new BadSubscription(index, cause) : cause
    }
  })
  return [...(live || drips), ...scoped.filter((feed) => feed !== undefined)]
}

const isPlain = (entry: Subscription): boolean =>
  (plainKinds as readonly string[]).includes(entry.type)

function scopedFeed(stage: Stage, entry: Subscription): Feed | undefined {
  switch (entry.type) {
    case 'pane.agent_status_changed':
      return new StatusFeed(stage.world.pane(entry.pane_id), entry.agent_status)
    case 'pane.output_matched':
      return new OutputFeed(stage, stage.world.pane(entry.pane_id), entry, matcher(entry.match))
    case 'pane.scroll_changed':
      return new ScrollFeed(stage.world.pane(entry.pane_id))
    default:
      return undefined
  }
}

async function deliver(stage: Stage, feeds: readonly Feed[], call: Call): Promise<void> {
  while (!call.signal.aborted) {
    try {
      for (const feed of feeds)
        for (const event of await feed.poll()) await call.send(event as object)
    } catch (cause) {
      if (!(cause instanceof EventsLost)) throw cause
      throw new Refusal('events_lost', cause.message)
    }
    await tick(stage.setting.tickMs, call.signal)
  }
}
