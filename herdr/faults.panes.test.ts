import assert from 'node:assert/strict'
import { it } from 'node:test'
import { OperationError } from '../actors/index.ts'
import { ownShare, runBeside, seed } from '../actors/testing/index.ts'
import { type Fault, OwnerScene, quickClock, until } from './testing/index.ts'

/** Runs in all; `DROVER_RUNS` changes it. */
const runs = Number(process.env['DROVER_RUNS'] ?? 500)
/** Minutes of waiting take seconds. */
const factor = 20

interface Share {
  readonly seed: number
  readonly runs: number
}

const share = ownShare<Share>()
if (share !== undefined) await playAll(share)
else
  it(`nothing is lost, told twice or touched that is not ours, whatever a server does wrong (${runs} seeds)`, () => {
    const half = Math.ceil(runs / 2)
    const shares = [
      { seed: seed(), runs: half },
      { seed: seed() + half, runs: runs - half },
    ]
    return runBeside(
      import.meta.url,
      shares.filter((each) => each.runs > 0),
    )
  })

async function playAll({ seed: first, runs: count }: Share): Promise<void> {
  console.warn = () => {} // the emulator of terminals complains of a busy machine
  for (let n = 0; n < count; n++)
    await play(first + n).catch((error: Error) => {
      throw new Error(`DROVER_SEED=${first + n} DROVER_RUNS=1: ${error.message}`, { cause: error })
    })
}

/** Mulberry32: small, and the same everywhere. */
function randomOf(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

async function play(seedOfRun: number): Promise<void> {
  const random = randomOf(seedOfRun)
  const pick = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)] as T
  const withoutLayout = random() < 0.3
  const scene = await OwnerScene.open({
    clock: quickClock(factor),
    profile: pick(['0.8', '0.9.2']),
    withoutLayout,
    workMs: pick([1, 30, 100]),
  })
  const seen: string[] = []
  try {
    const { herdr, owner, own } = scene
    const mine = [own.pane_id, (await herdr.person.split(own)).pane_id]
    mine.push(...(await panesOf(scene, await herdr.person.newTab(own.workspace_id))))
    const faulty = pick([0, 0.05, 0.2, 0.5])
    herdr.faults.decide = (method) => {
      const isFaulty = random() < faulty && method !== 'ping'
      const fault = isFaulty ? faultFor(method, random, pick) : undefined
      seen.push(`${method} ${JSON.stringify(fault ?? '')}`)
      return fault
    }
    herdr.faults.loseEvents = random() < 0.3 ? () => random() < 0.5 : 0
    herdr.faults.latePanes = pick([0, 0, 50])
    herdr.faults.swallowInputMs = pick([0, 0, 60])
    const accident = pick<Accident>(['none', 'none', 'none', 'restart', 'handoff', 'close', 'move'])

    const starts = Promise.allSettled(
      Array.from({ length: pick([1, 2, 3]) }, (_, n) =>
        scene.delegate(`task ${n}`, pick(['tab', 'split'])),
      ),
    )
    let closed: string | undefined
    if (accident !== 'none') {
      await new Promise((resolve) => setTimeout(resolve, random() * 300))
      closed = await befall(scene, mine, accident, pick)
    }
    const outcomes = await starts
    seen.push(
      JSON.stringify(
        outcomes.map((o) => (o.status === 'rejected' ? String(o.reason) : o.value.placement)),
      ),
    )
    herdr.faults.clear()
    herdr.faults.loseEvents = 0
    herdr.faults.latePanes = 0
    herdr.faults.swallowInputMs = 0

    for (const outcome of outcomes)
      if (outcome.status === 'rejected') {
        assert.ok(outcome.reason instanceof OperationError, String(outcome.reason))
        assert.ok(outcome.reason.failure.category.length > 0)
        assert.ok(outcome.reason.failure.nextAction.length > 0)
      }
    await settles('every agent comes to its end', async () => {
      for (const { agent, state } of await owner.rows())
        if (state === 'lost') await owner.close(agent).catch(() => {})
      return (await owner.rows()).length === 0
    })
    // A person who moves a pane is in it, and keeps it.
    if (accident !== 'move') await settles('no process is left', () => scene.running.length === 0)

    const results = scene.host.sent.flatMap((report) =>
      'conclusion' in report ? [report.generation.identity.generation] : [],
    )
    assert.equal(new Set(results).size, results.length, 'a result is told twice')
    const told = scene.host.sent.map(({ generation }) => generation.identity.generation)
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') continue
      const { generation, placement } = outcome.value
      const name = generation.identity.generation
      assert.ok(told.includes(name) || placement.pane?.pane === closed, `${name} is lost`)
    }

    const left = () =>
      herdr
        .panes()
        .map(({ pane_id }) => pane_id)
        .filter((pane) => !mine.includes(pane))
    for (const pane of mine)
      assert.ok(
        herdr.panes().some(({ pane_id }) => pane_id === pane),
        `${pane} was closed`,
      )
    // What comes back after a restart, or was opened by a server that cannot mark it, is not proven to be ours.
    if (accident === 'none' && !withoutLayout)
      await settles('no pane is left', () => left().length === 0)
  } catch (error) {
    console.log(traceOf(scene, seen))
    throw error
  } finally {
    await scene.close()
  }
}

type Accident = 'none' | 'restart' | 'handoff' | 'close' | 'move'

/** @returns the pane that its person closed */
async function befall(
  { herdr }: OwnerScene,
  mine: readonly string[],
  accident: Accident,
  pick: <T>(of: readonly T[]) => T,
): Promise<string | undefined> {
  if (accident === 'restart') await herdr.restart()
  if (accident === 'handoff') await herdr.handoff()
  if (accident === 'restart' || accident === 'handoff') return undefined
  const pane = herdr.panes().find(({ pane_id }) => !mine.includes(pane_id))
  if (pane === undefined) return undefined
  if (accident === 'close') {
    await herdr.person.close(pane)
    return pane.pane_id
  }
  await herdr.person.move(pane, pick(['new-tab', 'new-workspace']))
  return undefined
}

/** What went on, for whoever looks into a failure: it depends on time as well as on the seed. */
function traceOf({ herdr, running }: OwnerScene, seen: readonly string[]): string {
  const panes = herdr.panes().map(({ pane_id, label }) => `${pane_id} ${label}`)
  const requests = herdr.requests.map(({ method, params }) => `${method} ${JSON.stringify(params)}`)
  return [...seen, '', ...requests, '', ...panes, ...running].join('\n')
}

/** Once faults have stopped, everything does within a bound: minutes for the owner, seconds here. */
async function settles(what: string, isTrue: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 15_000
  await until(async () => {
    assert.ok(performance.now() < deadline, `not in time: ${what}`)
    return isTrue()
  })
}

async function panesOf({ herdr }: OwnerScene, tab: { tab_id: string }): Promise<string[]> {
  return herdr.panes().flatMap(({ pane_id, tab_id }) => (tab_id === tab.tab_id ? [pane_id] : []))
}

/** Which answer a lie would be, and no answer at all, can be told for every method. */
function faultFor(method: string, random: () => number, pick: <T>(of: readonly T[]) => T): Fault {
  const ms = Math.floor(random() * 200)
  return pick<Fault>([
    { kind: 'drop' },
    { kind: 'dropAfter' },
    { kind: 'delay', ms },
    { kind: 'delayAfter', ms },
    { kind: 'cut' },
    { kind: 'split' },
    { kind: 'silent' },
    { kind: 'error', code: pick(['internal_error', 'server_unavailable', 'pane_not_found']) },
    ...(/send|close|report|rename/.test(method) ? [{ kind: 'lie' } as const] : []),
  ])
}
