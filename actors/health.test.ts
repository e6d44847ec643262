import assert, { fail } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Activity, limits, MailboxError } from '../mailbox/index.ts'
import { fold } from './assignment.ts'
import { attention } from './health.ts'
import type { Condition } from './ports.ts'
import type { AgentFacts } from './row.ts'
import {
  aClose,
  aGeneration,
  anAck,
  anAsk,
  aResult,
  aSteer,
  aTask,
  completes,
  hangs,
  type Lead,
  refusal,
  world,
} from './testing/index.ts'

const now = 1_000_000_000
const quiet = (ms: number): Activity => ({ at: now - ms, lines: [] })
const resultError = { status: 'completed', attempts: 8, cause: 'EIO', since: now } as const

const atWork: AgentFacts = {
  generation: aGeneration('scout'),
  assignment: fold([aTask()], [anAck('task')]),
  presence: 'live',
  delivered: false,
}
const asking = { assignment: fold([aTask()], [anAck('task'), anAsk('which?')]) }
const steered = (ms: number) => ({
  assignment: fold([aTask(), { ...aSteer('left'), at: now - ms }], [anAck('task')]),
})

describe('an agent that should be looked at', () => {
  const cases: readonly (readonly [string, Partial<AgentFacts>, Condition | undefined])[] = [
    ['works', { activity: quiet(0) }, undefined],
    ['has shown nothing yet', {}, undefined],
    ['is silent for less than its time', { activity: quiet(limits.staleMs - 1) }, undefined],
    ['is silent', { activity: quiet(limits.staleMs) }, 'stale'],
    [
      'is silent while its own agents work',
      { activity: { ...quiet(limits.staleMs), waiting: 'agents' } },
      undefined,
    ],
    ['is gone', { presence: 'lost' }, 'lost'],
    [
      'is gone before it took its task',
      { presence: 'lost', assignment: fold([aTask()], []) },
      'lost',
    ],
    ['is gone with a question', { ...asking, presence: 'lost' }, 'lost'],
    [
      'is gone and has a result',
      { presence: 'lost', assignment: fold([aTask()], [anAck('task'), aResult()]) },
      undefined,
    ],
    [
      'has not taken its task',
      { assignment: fold([{ ...aTask(), at: now - limits.untakenMs }], []) },
      'untaken',
    ],
    [
      'is being closed',
      { presence: 'lost', assignment: fold([aTask(), aClose()], [anAck('task')]) },
      undefined,
    ],
    ['cannot be seen', { presence: 'unknown' }, 'unknown'],
    ['cannot be seen yet', { presence: 'unknown', assignment: fold([aTask()], []) }, undefined],
    ['asks and was not heard yet', asking, undefined],
    [
      'asks for less than its time',
      { ...asking, askToldAt: now - limits.unansweredMs + 1 },
      undefined,
    ],
    ['asks', { ...asking, askToldAt: now - limits.unansweredMs }, 'unanswered'],
    ['is silent and asks', { ...asking, activity: quiet(limits.staleMs) }, undefined],
    ['has not taken a steer for less than its time', steered(limits.untakenMs - 1), undefined],
    ['has not taken a steer', steered(limits.untakenMs), 'untaken'],
    ['cannot write its result', { activity: { ...quiet(0), resultError } }, 'result_error'],
    [
      'cannot write its result and is gone',
      { presence: 'lost', activity: { ...quiet(0), resultError } },
      'lost',
    ],
  ]
  for (const [what, facts, condition] of cases)
    it(`${condition === undefined ? 'is not one that' : `(${condition})`} ${what}`, () =>
      assert.equal(attention({ ...atWork, ...facts }, now)?.condition, condition))

  it('is another episode each time it has lasted twice as long, and none before', () => {
    const minutes = [10, 11, 19, 20, 39, 40, 79, 80]
    const episodes = minutes.map((count) => {
      const activity = { at: now - limits.staleMs, lines: [] }
      return attention({ ...atWork, activity }, now + (count - 10) * 60_000)?.episode
    })
    assert.deepEqual(
      episodes.map((episode, i) => episode !== episodes[i - 1]),
      [true, false, false, true, false, true, false, true],
    )
  })

  it('is not one because a clock was set back', () => {
    assert.equal(attention({ ...atWork, activity: quiet(-limits.staleMs) }, now), undefined)
  })
})

/** Whom the notices that were told were about, and why, in order. */
function notices(lead: Lead): string[] {
  return lead.host.messages.flat().flatMap((report) => {
    if (!('notice' in report)) return []
    return `${report.generation.identity.label} ${report.notice.condition}`
  })
}

const minute = 60_000

describe('an owner', () => {
  it('is told of a silent agent once, with what it did last, and reminded ever more rarely', async () => {
    const lead = await world().lead()
    await lead.delegate(hangs({ says: ['digging'] }))
    lead.world.agent('scout').note()
    await lead.world.advance(9 * minute)
    assert.deepEqual(notices(lead), [])
    await lead.world.advance(2 * minute)
    assert.deepEqual(notices(lead), ['scout stale'])
    const [report] = lead.host.messages.flat()
    assert.ok(report !== undefined && 'notice' in report)
    assert.deepEqual(report.notice.capture?.lines, ['digging'])
    assert.deepEqual(report.notice.actions, ['steer', 'inspect', 'close'])
    await lead.world.advance(8 * minute)
    assert.equal(notices(lead).length, 1)
    await lead.world.advance(62 * minute)
    assert.equal(notices(lead).length, 4) // at 10, 20, 40 and 80 minutes
    const captures = lead.host.messages
      .flat()
      .map((each) => 'notice' in each && each.notice.capture)
    assert.deepEqual(
      captures.map((capture) => Boolean(capture)),
      [true, false, false, false],
    )
    assert.deepEqual(await lead.states(), { scout: 'working' })
  })

  it('is told of silence once for each length of it, however often an agent is silent', async () => {
    const lead = await world().lead()
    await lead.delegate(hangs())
    for (let command = 0; command < 5; command++) {
      lead.world.agent('scout').note()
      await lead.world.advance(11 * minute)
    }
    assert.deepEqual(notices(lead), ['scout stale'])
  })

  it('is shown what a silent agent did last with the first notice it is told, whenever that is', async () => {
    const lead = await world().lead()
    await lead.delegate(hangs({ says: ['digging'] }))
    lead.world.agent('scout').note()
    lead.host.begin()
    await lead.world.advance(25 * minute)
    lead.host.end()
    await lead.world.advance(minute)
    const [report] = lead.host.messages.flat()
    assert.ok(report !== undefined && 'notice' in report)
    assert.deepEqual(report.notice.capture?.lines, ['digging'])
  })

  it('is not told while it is busy, nor what is over by then', async () => {
    const lead = await world().lead()
    await lead.delegate(hangs())
    const scout = lead.world.agent('scout')
    scout.note()
    lead.host.begin()
    await lead.world.advance(11 * minute)
    assert.deepEqual(notices(lead), [])
    scout.note()
    lead.host.end()
    await lead.world.advance(minute)
    assert.deepEqual(notices(lead), [])
  })

  it('is told of a lost agent once, whoever opens its session again', async () => {
    const lead = await world().lead()
    await lead.delegate(hangs())
    lead.world.agent('scout').process.end()
    await lead.world.advance(minute)
    assert.deepEqual(notices(lead), ['scout lost'])
    await lead.quit()
    const next = await lead.world.lead()
    await lead.world.advance(15 * minute)
    assert.deepEqual(notices(next), [])
    assert.deepEqual(await next.states(), { scout: 'lost' })
    await lead.world.advance(30 * minute)
    assert.deepEqual(notices(next), ['scout lost', 'scout lost']) // after 20 and 40 minutes: somebody may wait for it
  })

  it('is not asked again and again by a notice that its host refuses', async () => {
    const lead = await world().lead()
    await lead.delegate(hangs())
    let asked = 0
    lead.host.trySend = () => {
      asked++
      return 'busy'
    }
    lead.world.agent('scout').process.end()
    await lead.world.advance(minute)
    assert.ok(asked > 0 && asked < 60, `${asked} times in a minute`)
  })

  it('is told of the start that failed by the start alone', async () => {
    const lead = await world().lead()
    await assert.rejects(lead.delegate({ ...hangs(), diesAt: 'after-ready' }))
    await lead.world.advance(minute)
    assert.deepEqual(notices(lead), [])
  })

  it('is reminded of a question from the moment it has heard it', async () => {
    const lead = await world().lead()
    await lead.delegate(hangs())
    lead.host.begin()
    const asked = lead.world.agent('scout').managed?.ask({ text: 'which?' })
    await lead.world.advance(20 * minute)
    assert.equal((await asked)?.outcome, 'asked')
    lead.host.end()
    await lead.world.advance(4 * minute)
    assert.deepEqual(notices(lead), [])
    await lead.world.advance(2 * minute)
    assert.deepEqual(notices(lead), ['scout unanswered'])
    assert.equal(lead.host.session.entries.length, 2)
  })

  it('is not reminded of the same question anew by each process that opens its session', async () => {
    const lead = await world().lead()
    await lead.delegate(hangs())
    await lead.world.run(lead.world.agent('scout').managed?.ask({ text: 'which?' }) ?? fail())
    await lead.world.advance(6 * minute)
    assert.deepEqual(notices(lead), ['scout unanswered'])
    await lead.quit()
    const next = await lead.world.lead()
    await lead.world.advance(6 * minute)
    assert.deepEqual(notices(next), [])
  })

  it('is not told that a result is missing which cannot be read now, and a close does not lose it', async () => {
    const lead = await world().lead()
    await lead.delegate(completes('found it', { workMs: 5_000 }))
    const { fs } = lead.process
    const list = fs.list.bind(fs)
    fs.list = (path) => {
      if (path.endsWith('/agent')) throw new MailboxError('DROVER_MAILBOX_IO', 'report', 'EMFILE')
      return list(path)
    }
    await lead.world.advance(minute)
    assert.deepEqual(notices(lead), [])
    const { message } = await refusal(lead.world, lead.owner.close('scout'))
    assert.match(message, /its mailbox cannot be read now.*EMFILE/)
    fs.list = list
    await lead.settled()
    assert.deepEqual(lead.told, ['scout'])
  })

  it('is told when a result cannot be written, and the result itself once it can', async () => {
    const lead = await world().lead()
    await lead.delegate(completes('found it', { workMs: minute }))
    const { fs } = lead.world.agent('scout').process
    fs.failAt(fs.operations, 'EIO', 'forever')
    await lead.world.advance(2 * minute)
    assert.deepEqual(notices(lead), ['scout result_error'])
    const [row] = await lead.rows()
    assert.deepEqual([row?.state, row?.actions], ['settling', ['inspect', 'close']])
    assert.equal(row?.facts.activity?.resultError?.status, 'completed')
    fs.heal()
    await lead.settled()
    assert.deepEqual(lead.told, ['scout'])
  })

  it('sees a parent that waits for its agents as blocked, and can steer it', async () => {
    const lead = await world().lead()
    await lead.delegate(completes('done', { workMs: 200, owns: [hangs()] }), { label: 'parent' })
    await lead.world.advance(minute)
    const [row] = await lead.rows()
    assert.deepEqual([row?.state, row?.actions], ['blocked', ['steer', 'inspect', 'close']])
  })

  it('hears no notice of an agent whose result it is about to hear', async () => {
    const lead = await world().lead()
    await lead.delegate(completes('found it', { diesAt: 'after-result' }))
    await lead.settled()
    assert.deepEqual([notices(lead), lead.told], [[], ['scout']])
    assert.deepEqual(
      lead.host.messages.flat().map((report) => 'conclusion' in report),
      [true],
    )
  })
})
