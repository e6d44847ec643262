import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { it } from 'node:test'
import { limits } from '../mailbox/index.ts'
import type { MemoryFs } from '../mailbox/testing/index.ts'
import {
  completes,
  type FakeSessionFile,
  type Fate,
  fails,
  hangs,
  longText,
  Machine,
  ownShare,
  resultsIn,
  runBeside,
  seed,
  World,
} from './testing/index.ts'

/** States of one cut that are tried; where there are more, so many of them are drawn. */
const statesMax = 1_024
const drawnStates = 256

/** What had been promised when the power failed. */
interface Promised {
  /** The start was answered: the agent has durably accepted its task. */
  readonly isStarted: boolean
  /** The agent was free to leave: what it concluded is durable. */
  readonly isConcluded: boolean
  /** Nothing was left to do. */
  readonly isSettled: boolean
}

/** One moment at which the power may fail. */
interface Cut {
  readonly promised: Promised
  readonly session: FakeSessionFile
  readonly disks: Iterable<MemoryFs>
  readonly isExhaustive: boolean
}

interface Story {
  readonly fate: Fate
  readonly isClosed?: boolean
  /** What its owner is to be told in the end. */
  readonly text?: string
}

const stories: Readonly<Record<string, Story>> = {
  'a result': { fate: completes('found it', { workMs: 300 }), text: 'found it' },
  'a long result': {
    fate: completes(longText(), { workMs: 300 }),
    text: longText().slice(0, limits.resultInlineBytesMax),
  },
  'a failure': { fate: fails('no', { workMs: 300 }), text: 'no' },
  'a close': { fate: hangs(), isClosed: true },
}

const share = ownShare<{ readonly story: string; readonly seed: number }>()
if (share !== undefined) await tell(share.story, share.seed)
else
  it('a power cut at any point of start, acknowledgement, result and settlement loses nothing that was promised', () =>
    runBeside(
      import.meta.url,
      Object.keys(stories).map((story) => ({ story, seed: seed() })),
    ))

/** Plays a story once, and then goes on from every state that a power cut at any of its moments may leave. */
async function tell(name: string, from: number): Promise<void> {
  const story = stories[name]
  assert.ok(story !== undefined)
  const cuts: Cut[] = []
  await play(story, (cut) => cuts.push(cut), randomFrom(from))
  const tried = new Set<string>()
  for (const cut of cuts)
    for (const disk of cut.disks)
      for (const session of cut.session.afterPowerLoss()) {
        const state = fingerprint(disk, session, cut.promised)
        if (tried.has(state)) continue
        tried.add(state)
        await goOn(story, cut.promised, disk, session)
      }
  const drawn = cuts.filter(({ isExhaustive }) => !isExhaustive).length
  const how = drawn === 0 ? 'all of them' : `${drawnStates} states drawn at ${drawn} of them`
  console.log(`${name}: ${cuts.length} cuts, ${how}; ${tried.size} different states`)
}

async function play(
  { fate, isClosed }: Story,
  onCut: (cut: Cut) => void,
  random: (choices: number) => number,
): Promise<void> {
  const world = new World()
  const lead = await world.lead()
  const promised = { isStarted: false, isConcluded: false, isSettled: false }
  world.disk.syncAll()
  const cut = () => {
    const isExhaustive = world.disk.powerLossStateCount <= statesMax
    onCut({
      promised: { ...promised, isConcluded: [...world.agents.values()].some(hasConcluded) },
      session: lead.host.session.copy(),
      disks: isExhaustive ? world.disk.afterPowerLoss() : drawn(world.disk, random),
      isExhaustive,
    })
  }
  cutAround(lead.process.fs, cut)
  const { start } = lead.runner
  lead.runner.start = async (order) => {
    const placement = await start.call(lead.runner, order)
    const program = world.agents.get(order.generation.identity.generation)
    if (program) cutAround(program.process.fs, cut)
    return placement
  }
  await world.run(lead.start(fate))
  promised.isStarted = true
  cut()
  world.disk.syncAll() // as a machine does within seconds; what is promised later waits for nobody
  if (isClosed) await lead.close('scout')
  await lead.settled()
  promised.isSettled = true
  cut()
}

/** The machine is on again: whatever state it is in, what was promised holds, and all comes to its end. */
async function goOn(
  { text, isClosed }: Story,
  { isStarted, isConcluded, isSettled }: Promised,
  disk: MemoryFs,
  session: FakeSessionFile,
): Promise<void> {
  const world = new World(new Machine(disk, 2))
  world.keepSession('lead', session)
  const toldBefore = session.entries.length
  const lead = await world.lead()
  const found = await lead.rows()
  if (isSettled) assert.deepEqual(found, [], 'what was settled is there again')
  if (isStarted && toldBefore === 0 && !isClosed) {
    const [row] = found
    assert.ok(row !== undefined, 'a start that was answered is gone')
    assert.notEqual(row.facts.assignment.phase, 'offered', 'an acceptance is gone')
  }
  await world.advance(1_000)
  for (const { agent, actions } of await lead.rows())
    if (actions.includes('close')) await lead.close(agent).catch(() => {})
  await lead.settled(60_000)
  const told = session.entries.length
  assert.ok(told <= 1, 'told twice')
  if (isConcluded && !isClosed) assert.equal(told, 1, 'a result is lost')
  for (const { conclusion } of resultsIn(lead.host.messages.flat()))
    assert.equal(conclusion.kind === 'result' ? conclusion.text : conclusion.message, text)
  for (const { conclusion } of resultsIn(lead.host.messages.flat())) assertWhole(world, conclusion)
  assert.deepEqual(leftover(world), [], 'something is left')
  assert.deepEqual(world.machine.signals, [], 'something was signalled')
}

/** The file of a long result is as whole as the record that names it. */
function assertWhole(
  { disk }: World,
  conclusion: { readonly kind: string; readonly whole?: { readonly file: string } | undefined },
): void {
  if (conclusion.whole === undefined) return
  const read = disk.read(conclusion.whole.file, 1_000_000)
  assert.ok('bytes' in read, 'the whole of a long result is gone')
  assert.equal(Buffer.from(read.bytes).toString(), longText())
}

/** A claim of a start that was never admitted is free for whoever wants it; a draft goes with the next life. */
function leftover(world: World): readonly string[] {
  return world.remains().filter((path) => !/\/(sessions|labels|drafts)\//.test(path))
}

function hasConcluded({ host }: { readonly host: { readonly hasLeft: boolean } }): boolean {
  return host.hasLeft
}

/** Lets the power fail before and after every call that changes something; what is half done is among the states. */
function cutAround(fs: MemoryFs, cut: () => void): void {
  for (const method of [
    'makeDirectory',
    'createSynced',
    'link',
    'rename',
    'remove',
    'removeTree',
    'syncDirectory',
  ] as const) {
    const call = fs[method].bind(fs) as (...args: readonly unknown[]) => unknown
    const cutting = (...args: readonly unknown[]) => {
      cut()
      const answer = call(...args)
      cut()
      return answer instanceof Promise ? answer.finally(cut) : answer
    }
    Object.assign(fs, { [method]: cutting })
  }
}

/** Drawn at once: the disk goes on. */
function drawn(disk: MemoryFs, random: (choices: number) => number): readonly MemoryFs[] {
  return Array.from({ length: drawnStates }, () => disk.samplePowerLoss(random))
}

function fingerprint(disk: MemoryFs, session: FakeSessionFile, promised: Promised): string {
  const hash = createHash('sha1')
  for (const [path, bytes] of [...disk.snapshot()].sort(([a], [b]) => (a < b ? -1 : 1)))
    hash.update(path).update('\0').update(bytes).update('\0')
  return `${hash.digest('hex')} ${session.entries.length} ${JSON.stringify(promised)}`
}

/** Numbers that depend on the seed alone. */
function randomFrom(from: number): (choices: number) => number {
  let state = from >>> 0
  return (choices) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * choices)
  }
}
