import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { limits } from '../mailbox/index.ts'
import { OperationError, type PublicState, type Row } from './index.ts'
import type { Action } from './row.ts'
import {
  type Lead,
  ownShare,
  runBeside,
  Scene,
  type SceneEvent,
  sceneFates,
  seed,
} from './testing/index.ts'

/** Runs in all; `DROVER_RUNS` changes it. */
const runs = Number(process.env['DROVER_RUNS'] ?? 80)
const processes = 2

const actions: readonly Action[] = ['steer', 'reply', 'inspect', 'close']

/** An agent as one window shows it. */
interface Sight {
  readonly window: number
  readonly agent: string
  readonly state: PublicState
  readonly situation: string
  readonly offered: readonly Action[]
}

/** Every situation an agent can be seen in, and what is offered then. Each cell has to be met. */
const table: Readonly<Record<string, readonly Action[]>> = {
  'unknown: its process is not recorded yet': [],
  'settling: starting': ['inspect', 'close'],
  'working: at work': ['steer', 'inspect', 'close'],
  'settling: steers wait': ['steer', 'inspect', 'close'],
  'settling: as many steers wait as may': ['inspect', 'close'],
  'blocked: asks': ['reply', 'inspect', 'close'],
  'settling: result not told': ['inspect'],
  'settling: result not told, process gone': [],
  'lost: before acceptance': ['close'],
  'lost: at work': ['close'],
  'lost: asks': ['close'],
  'lost: told and not settled': ['close'],
  'unknown: two processes claim to be it': [],
  'unknown: in another container': [],
  'settling: closing': ['close'],
  'lost: closing': ['close'],
  'settling: closed and not settled': ['close'],
  'lost: closed and not settled': ['close'],
  orphan: ['close'],
  'orphan that cannot be proven': [],
  descendant: [],
  'seen by an observer': [],
}

const step: fc.Arbitrary<SceneEvent> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc
      .constantFrom(0, 50, 150, 400, 1_500, 6_000, 11_000, 31_000)
      .map((ms): SceneEvent => ({ do: 'wait', ms })),
  },
  {
    weight: 4,
    arbitrary: fc.constantFrom(...sceneFates).map((fate): SceneEvent => ({ do: 'delegate', fate })),
  },
  {
    weight: 6,
    arbitrary: fc
      .tuple(
        fc.constantFrom('ask', 'end-run', 'reply', 'close', 'kill', 'replace', 'impostor'),
        fc.nat(2),
      )
      .map(([what, agent]): SceneEvent => ({ do: what, agent })),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.nat(1), fc.constantFrom(1, limits.unacknowledgedSteersMax))
      .map(([agent, times]): SceneEvent => ({ do: 'steer', agent, times })),
  },
  {
    weight: 4,
    arbitrary: fc
      .constantFrom('busy', 'idle', 'jam', 'second-window', 'die', 'reopen', 'move')
      .map((what): SceneEvent => ({ do: what })),
  },
)

const wait = (ms: number): SceneEvent => ({ do: 'wait', ms })
const delegate = (fate: (typeof sceneFates)[number]): SceneEvent => ({ do: 'delegate', fate })
const to = (
  what: 'ask' | 'end-run' | 'reply' | 'close' | 'kill' | 'replace' | 'impostor',
  agent = 0,
): SceneEvent => ({ do: what, agent })
const steer = (times: number): SceneEvent => ({ do: 'steer', agent: 0, times })
const busy: SceneEvent = { do: 'busy' }

/** Ways into the situations that chance meets too seldom. Every step of each is judged as any other. */
const ways: readonly (readonly SceneEvent[])[] = [
  [delegate('slowStart'), wait(400), wait(6_000)],
  [delegate('neverReady'), wait(400), to('kill'), wait(0), { do: 'die' }, wait(400)],
  [delegate('neverReady'), { do: 'die' }, to('kill'), wait(0)],
  [delegate('neverReady'), to('impostor'), wait(6_000)],
  [delegate('hangs'), wait(400), { do: 'move' }, wait(400)],
  [delegate('hangs'), wait(400), { do: 'second-window' }, to('kill'), wait(400)],
  [delegate('deaf'), wait(400), steer(1), steer(limits.unacknowledgedSteersMax - 1), wait(400)],
  [delegate('hangs'), wait(400), to('ask'), steer(1), to('end-run'), to('reply'), wait(0)],
  [delegate('hangs'), wait(400), to('ask'), to('kill'), wait(400)],
  [busy, delegate('quick'), wait(400), wait(400), { do: 'idle' }, wait(6_000)],
  [busy, delegate('lingers'), wait(400), wait(400), { do: 'idle' }, wait(400), wait(6_000)],
  [{ do: 'jam' }, delegate('hangs'), wait(400)],
  [delegate('quick'), wait(150), { do: 'jam' }, wait(400), wait(11_000)],
  [delegate('deaf'), wait(400), to('close'), wait(400), to('kill'), wait(0)],
  [delegate('lingers'), wait(150), to('close'), wait(400), to('kill'), wait(0)],
  [delegate('hangs'), wait(400), { do: 'jam' }, to('close'), wait(400), wait(6_000)],
  [delegate('deaf'), wait(400), { do: 'jam' }, to('kill'), to('close'), wait(6_000)],
  [delegate('parent'), wait(400), wait(400), to('kill'), wait(400), wait(11_000)],
  [delegate('parent'), wait(1_500), to('close'), wait(400), wait(11_000)],
  [delegate('deafParent'), wait(1_500), to('close'), to('kill'), wait(400), wait(11_000)],
  [delegate('parentOfUnready'), wait(400), to('impostor', 1), to('kill'), wait(400)],
  [delegate('parent'), wait(1_500), to('kill'), { do: 'second-window' }, wait(400)],
  [delegate('parent'), wait(1_500), to('kill'), { do: 'move' }, wait(400)],
]

interface Share {
  readonly seed: number
  readonly numRuns: number
}

const share = ownShare<Share>()
if (share !== undefined) await model(share)
else
  it(`every action is offered exactly when it is accepted, in every state an agent can be seen in (${runs} runs)`, () =>
    runBeside(
      import.meta.url,
      Array.from({ length: processes }, (_, n) => ({
        seed: seed() + n,
        numRuns: Math.ceil(runs / processes),
      })),
    ))

async function model(share: Share): Promise<void> {
  const met = new Map<string, number>()
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 7, size: 'max' }), async (more) => {
      const events = [delegate('hangs'), wait(150), ...more]
      for (let length = 2; length <= events.length; length++)
        await judge(events.slice(0, length), met)
    }),
    { ...share, includeErrorInReport: true },
  )
  for (const way of ways)
    for (let length = 1; length <= way.length; length++) await judge(way.slice(0, length), met)
  const cells = Object.entries(table).flatMap(([situation, offered]) =>
    actions.map((action) => cell(situation, action, offered.includes(action))),
  )
  assert.deepEqual(
    cells.filter((each) => !met.has(each)),
    [],
    'cells that were not met',
  )
}

function cell(situation: string, action: Action, isAccepted: boolean): string {
  return `${situation} / ${action} / ${isAccepted ? 'accepted' : 'refused'}`
}

/** Tries every action on every agent that every window shows, each as if it came right after these events. */
async function judge(events: readonly SceneEvent[], met: Map<string, number>): Promise<void> {
  const tried = new Set<string>()
  for (;;) {
    const scene = await Scene.of(events)
    if (!(await tryNext(scene, tried, met))) return
  }
}

/** @returns whether something may be left to try, in a scene of its own: this one has changed */
async function tryNext(
  scene: Scene,
  tried: Set<string>,
  met: Map<string, number>,
): Promise<boolean> {
  const { clock } = scene.world.machine
  for (;;) {
    const sights = await lookAround(scene)
    const next = sights
      .flatMap((sight) => actions.map((action) => ({ sight, action })))
      .find(({ sight, action }) => !tried.has(nameOf(sight, action)))
    if (next === undefined) return false
    const { sight, action } = next
    tried.add(nameOf(sight, action))
    const isOffered = sight.offered.includes(action)
    const what = `${sight.situation}: ${action}, ${isOffered ? '' : 'not '}offered`
    const before = written(scene)
    const since = clock.nowMs
    const refused = await refusalOf(scene, sight, action)
    if (refused !== undefined) {
      assert.notEqual(refused.failure.nextAction, '', what)
      assert.notEqual(refused.failure.message, '', what)
    }
    const hasWaited = clock.nowMs > since
    if (isOffered === (refused === undefined)) {
      count(met, cell(sight.situation, action, isOffered))
      assert.ok(sight.situation in table, `no such situation: ${sight.situation}`)
      assert.deepEqual(sight.offered, table[sight.situation], sight.situation)
    } else {
      await assertOvertaken(scene, sight, action, hasWaited, `${what}; ${refused?.message}`)
    }
    if (refused === undefined) return true
    if (hasWaited) return true
    assert.deepEqual(written(scene), before, `${what} changed something`)
  }
}

function count(met: Map<string, number>, name: string): void {
  met.set(name, (met.get(name) ?? 0) + 1)
}

function nameOf({ window, agent }: Sight, action: Action): string {
  return `${window} ${agent} ${action}`
}

/** All files but leases: every look tries again to end what is half closed, and takes one for that. */
function written({ world }: Scene): ReadonlyMap<string, unknown> {
  return new Map([...world.disk.snapshot()].filter(([path]) => !/\/lease\/\d+$/.test(path)))
}

/** It had to wait for its turn, and when that came the agent was no longer what it had been. */
async function assertOvertaken(
  scene: Scene,
  { window, agent, offered }: Sight,
  action: Action,
  hasWaited: boolean,
  what: string,
): Promise<void> {
  assert.ok(hasWaited, what)
  const now = (await lookAround(scene)).find(
    (sight) => sight.window === window && sight.agent === agent,
  )
  const isStill = now !== undefined && now.offered.includes(action) === offered.includes(action)
  assert.ok(!isStill, what)
}

async function refusalOf(
  { world, windows }: Scene,
  { window, agent }: Sight,
  action: Action,
): Promise<OperationError | undefined> {
  const { owner } = windows[window] as Lead
  const call = {
    steer: () => owner.tell(agent, { kind: 'steer', text: 'right' }),
    reply: () => owner.tell(agent, { kind: 'reply', text: 'the first' }),
    inspect: () => owner.inspect(agent),
    close: () => owner.close(agent),
  }[action]
  const outcome = await world.run<unknown>(call().catch((error: unknown) => error))
  if (!(outcome instanceof Error)) return undefined
  assert.ok(outcome instanceof OperationError, String(outcome.stack))
  // What was taken up and could not be brought to its end was accepted all the same.
  const isRefusal = !['rollback_failure', 'internal_failure'].includes(outcome.failure.category)
  return isRefusal ? outcome : undefined
}

async function lookAround({ world, windows }: Scene): Promise<readonly Sight[]> {
  const sights: Sight[] = []
  for (const [window, { owner }] of windows.entries()) {
    const below = await world.run(owner.below())
    const rows = await world.run(owner.rows())
    const isObserver = owner.role !== 'acting'
    for (const row of rows)
      sights.push(sightOf(window, row, isObserver ? 'seen by an observer' : situationOf(row)))
    for (const { row, isOrphan } of below) {
      const isProven = row.facts.presence !== 'unknown'
      const orphan = isProven ? 'orphan' : 'orphan that cannot be proven'
      const situation = isObserver ? 'seen by an observer' : isOrphan ? orphan : 'descendant'
      sights.push(sightOf(window, row, situation))
    }
  }
  return sights
}

function sightOf(window: number, row: Row, situation: string): Sight {
  const { agent, state, actions: offered } = row
  return { window, agent, state, situation, offered }
}

function situationOf({ state, facts }: Row): string {
  return `${state}: ${subSituation(facts)}`
}

/** What the records and the process say beyond the public state. */
function subSituation({ assignment, presence, delivered, ready }: Row['facts']): string {
  const { phase, placement, conclusion, ask, requests } = assignment
  if (conclusion !== undefined && !delivered)
    return presence === 'live' ? 'result not told' : 'result not told, process gone'
  if (presence === 'unknown') {
    if (placement === undefined) return 'its process is not recorded yet'
    const isAnother = ready !== undefined && ready.runtime.process.pid !== placement.process?.pid
    return isAnother ? 'two processes claim to be it' : 'in another container'
  }
  if (conclusion !== undefined) return 'told and not settled'
  if (phase === 'closing') return 'closing'
  if (phase === 'closed') return 'closed and not settled'
  if (phase === 'offered') return presence === 'lost' ? 'before acceptance' : 'starting'
  const waiting = [...requests.values()].filter((outcome) => outcome === 'pending').length
  if (presence === 'lost') return ask === undefined ? 'at work' : 'asks'
  if (waiting >= limits.unacknowledgedSteersMax) return 'as many steers wait as may'
  if (waiting > 0) return 'steers wait'
  return ask === undefined ? 'at work' : 'asks'
}
