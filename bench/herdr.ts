import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import type { Delegated, Report } from '../actors/index.ts'
import { HerdrLead } from './herdr-lead.ts'
import { type Effort, type Family, type Figure, latencyOf, median } from './measure.ts'
import type { Workspace } from './workspace.ts'

const efforts = {
  full: { agents: 50, idleMs: 20_000, emptyMs: 11_000, restMs: 3_000 },
  quick: { agents: 8, idleMs: 5_000, emptyMs: 1_000, restMs: 500 },
}

/** Above this a person who types notices. */
const lagGoal = { atMost: 20 }
const idleGoal = { atMost: 2 }
const none = { atMost: 0 }

/** What agents in panes of herdr cost their lead: to start, to hold, to lose and to close them. */
export async function measureHerdr(workspace: Workspace, effort: Effort): Promise<Family> {
  const lead = await HerdrLead.open(workspace)
  try {
    return {
      name: `${efforts[effort].agents} agents in panes of herdr, which plays in another process`,
      floor:
        'the same lead without any agent; lag is what monitorEventLoopDelay says at 1 ms, itself included; CPU is taken without it',
      figures: await figures(lead, effort),
    }
  } finally {
    await lead.close()
  }
}

async function figures(lead: HerdrLead, effort: Effort): Promise<readonly Figure[]> {
  const { agents, idleMs, emptyMs, restMs } = efforts[effort]
  const empty = await during(lead, () => pause(emptyMs))
  const { connections } = await lead.counted()
  const startsMs: number[] = []
  const started: Delegated[] = []
  const starts = await during(lead, async () => {
    await Promise.all(
      Array.from({ length: agents }, async () => {
        const begun = performance.now()
        started.push(await lead.delegate())
        startsMs.push(performance.now() - begun)
      }),
    )
  })
  await pause(restMs)
  const idle = await during(lead, () => pause(idleMs))
  const idleCpu = await cpuDuring(idleMs)
  const lostMs = await loseOne(lead, started)
  const closesMs: number[] = []
  const rows = await lead.owner.rows()
  const closes = await during(lead, async () => {
    await Promise.all(
      rows.map(async ({ agent }) => {
        const begun = performance.now()
        await lead.owner.close(agent)
        closesMs.push(performance.now() - begun)
      }),
    )
  })
  const left = await lead.counted()
  const ms = 'ms'
  return [
    { name: 'no agent: requests', ...rate(empty), goal: none },
    { name: 'no agent: connections held', value: connections, unit: 'connections', goal: none },
    ...lagOf('no agent', empty),
    { name: 'start: delegate to accepted, all at once, two at a time', ...times(startsMs) },
    { name: 'start: all accepted', value: starts.seconds * 1_000, unit: ms },
    ...perAgent('start', starts, agents),
    ...lagOf('start', starts, lagGoal),
    { name: 'idle: requests', ...rate(idle), goal: idleGoal },
    ...byMethod(idle).map(([method, count]) => ({
      name: `idle: ${method}`,
      value: count / idle.seconds,
      unit: 'requests/s' as const,
    })),
    ...lagOf('idle', idle, lagGoal),
    { name: 'idle: CPU time', value: idleCpu, unit: 'ms/s' },
    { name: 'its pane closed by its person, to its owner told', value: lostMs, unit: ms },
    { name: 'close: one agent, all at once', ...times(closesMs) },
    { name: 'close: all gone', value: closes.seconds * 1_000, unit: ms },
    ...perAgent('close', closes, rows.length),
    ...lagOf('close', closes, lagGoal),
    { name: 'panes of agents', value: left.panes - 1, unit: 'left', goal: none },
    { name: 'processes of agents', value: left.processes, unit: 'left', goal: none },
  ]
}

/** What a while cost: the server was asked so often, and this process answered so late. */
interface Span {
  readonly seconds: number
  readonly requests: Readonly<Record<string, number>>
  readonly lag: IntervalHistogram
}

async function during(lead: HerdrLead, act: () => Promise<unknown>): Promise<Span> {
  const before = (await lead.counted()).requests
  const lag = monitorEventLoopDelay({ resolution: 1 })
  lag.enable()
  const begun = performance.now()
  await act()
  const seconds = (performance.now() - begun) / 1_000
  lag.disable()
  const after = (await lead.counted()).requests
  const requests = Object.fromEntries(
    Object.entries(after).map(([method, count]) => [method, count - (before[method] ?? 0)]),
  )
  return { seconds, requests, lag }
}

/** CPU time of this process, ms per second. */
async function cpuDuring(ms: number): Promise<number> {
  const begun = performance.now()
  const before = process.cpuUsage()
  await pause(ms)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / (performance.now() - begun)
}

/** How long until its owner is told that an agent is lost, while nobody asks. */
async function loseOne(lead: HerdrLead, [agent]: readonly Delegated[]): Promise<number> {
  if (agent?.placement.pane === undefined) throw new Error('no agent has a pane')
  const begun = performance.now()
  lead.closePane(agent.placement.pane.pane)
  const isTold = () => lead.host.sent.some((report) => isLost(report, agent))
  while (!isTold()) await pause(1)
  return performance.now() - begun
}

function isLost(report: Report, { generation }: Delegated): boolean {
  const isIts = report.generation.identity.generation === generation.identity.generation
  return isIts && 'notice' in report && report.notice.condition === 'lost'
}

const byMethod = ({ requests }: Span): readonly (readonly [string, number])[] =>
  Object.entries(requests)
    .filter(([, count]) => count > 0)
    .sort(([, one], [, other]) => other - one)

const total = ({ requests }: Span): number =>
  Object.values(requests).reduce((sum, count) => sum + count, 0)

const rate = (span: Span) => ({ value: total(span) / span.seconds, unit: 'requests/s' }) as const

const times = (values: readonly number[]) =>
  ({
    value: median(values),
    unit: 'ms',
    latency: latencyOf(values.map((value) => value * 1_000)),
  }) as const

function perAgent(what: string, span: Span, agents: number): readonly Figure[] {
  const unit = 'requests'
  return [
    { name: `${what}: requests per agent`, value: total(span) / agents, unit },
    ...byMethod(span).map(([method, count]) => ({
      name: `${what}: ${method} per agent`,
      value: count / agents,
      unit: unit as typeof unit,
    })),
  ]
}

function lagOf(what: string, { lag }: Span, goal?: Figure['goal']): readonly Figure[] {
  const unit = 'ms'
  const latency = { p50Us: lag.percentile(50) / 1_000, p99Us: lag.percentile(99) / 1_000 }
  return [
    {
      name: `${what}: lag of the event loop, p99`,
      value: lag.percentile(99) / 1_000_000,
      ...{ unit, latency, ...(goal && { goal }) },
    },
    { name: `${what}: lag of the event loop, longest`, value: lag.max / 1_000_000, unit },
  ]
}
