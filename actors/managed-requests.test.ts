import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { limits } from '../mailbox/index.ts'
import type { ManagedAgent } from './index.ts'
import { AgentBench, aReply, aSteer, idOf } from './testing/index.ts'

/** An agent whose task goes on until somebody ends it. */
async function atWork(): Promise<{ readonly bench: AgentBench; readonly agent: ManagedAgent }> {
  const bench = await AgentBench.of()
  const agent = await bench.open()
  assert.ok(agent !== 'leave')
  await bench.world.until(() => bench.host.texts.length === 1)
  return { bench, agent }
}

const outcome = (bench: AgentBench, name: string) =>
  bench.mailbox.assignment.requests.get(idOf(name))

describe('a steer', () => {
  it('is put before the model of the run that goes on, marked as of the owner, and consumed', async () => {
    const { bench } = await atWork()
    await bench.write(aSteer('left'))
    await bench.world.until(() => outcome(bench, 'left') === 'consumed')
    assert.equal(bench.host.texts[1], `__PI_HERDSMAN_AGENT_V4__:steer:${idOf('left')}\nleft`)
    bench.host.end({ outcome: 'answered', text: 'done' })
    await bench.world.until(() => bench.mailbox.assignment.conclusion !== undefined)
    assert.deepEqual(bench.kinds, ['ack', 'ack', 'consumed', 'result'])
  })

  it('that came too late for its run starts another one before any result', async () => {
    const { bench } = await atWork()
    bench.host.losesSteers = true
    await bench.write(aSteer('left'))
    await bench.world.until(() => outcome(bench, 'left') === 'accepted')
    bench.host.end({ outcome: 'answered', text: 'without it' })
    await bench.world.until(() => outcome(bench, 'left') === 'consumed')
    assert.equal(bench.mailbox.assignment.conclusion, undefined)
    bench.host.end({ outcome: 'answered', text: 'with it' })
    await bench.world.until(() => bench.mailbox.assignment.conclusion !== undefined)
    assert.deepEqual(
      bench.records.flatMap((record) => (record.kind === 'result' ? [record.text] : [])),
      ['with it'],
    )
  })

  it('racing the end of the run never fails it', async () => {
    const { bench } = await atWork()
    bench.host.end({ outcome: 'answered', text: 'done' })
    await bench.write(aSteer('left'))
    await bench.advance(limits.rescanMs)
    bench.host.end({ outcome: 'answered', text: 'done again' })
    await bench.world.until(() => bench.mailbox.assignment.conclusion !== undefined)
    assert.equal(bench.mailbox.assignment.conclusion?.kind, 'result')
    assert.ok(['consumed', 'too_late'].includes(outcome(bench, 'left') ?? ''))
  })

  it('carries its files with it', async () => {
    const { bench } = await atWork()
    const files = [
      { path: '/project/a.ts', bytes: 3, text: 'abc' },
      { path: '/project/b.png', bytes: 9_000 },
    ]
    await bench.write({ ...aSteer('left'), files })
    await bench.world.until(() => bench.host.texts.length === 2)
    assert.match(
      bench.host.texts[1] ?? '',
      /left\n\n\[file \/project\/a\.ts, 3 bytes\]\nabc\n\[end of file \/project\/a\.ts\]\n\n\[file \/project\/b\.png, 9000 bytes, not embedded/,
    )
  })
})

describe('a question', () => {
  it('blocks the assignment, whatever the run ends with, until it is answered', async () => {
    const { bench, agent } = await atWork()
    const answer = await bench.world.run(agent.ask({ text: 'which?' }))
    const { ask, task } = bench.mailbox.assignment
    assert.deepEqual(answer, { outcome: 'asked', ask: ask?.id, request: task?.id })
    bench.host.end({ outcome: 'answered', text: 'I have asked.' })
    await bench.advance(limits.rescanMs * 2)
    assert.equal(bench.mailbox.assignment.conclusion, undefined)
    await bench.write({ ...aReply('that', 'any'), ask: ask?.id ?? '' })
    await bench.world.until(() => bench.host.texts.length === 2)
    assert.match(bench.host.texts[1] ?? '', /^__PI_HERDSMAN_AGENT_V4__:reply:\w+\nthat$/)
    bench.host.end({ outcome: 'answered', text: 'done' })
    await bench.world.until(() => bench.mailbox.assignment.conclusion !== undefined)
    assert.deepEqual(bench.kinds, ['ack', 'ask', 'ack', 'result'])
  })

  it('is one at a time', async () => {
    const { bench, agent } = await atWork()
    await bench.world.run(agent.ask({ text: 'which?' }))
    const second = await bench.world.run(agent.ask({ text: 'and which else?' }))
    assert.match(second.outcome === 'refused' ? second.why : '', /open already/)
    assert.match(second.outcome === 'refused' ? second.next : '', /^End your turn/)
  })

  it('is refused while a request of the owner waits, and while its own agents are at work', async () => {
    const { bench, agent } = await atWork()
    bench.process.fs.loseHints = true
    const { fs } = bench.process
    const createSynced = fs.createSynced.bind(fs)
    let isStuck = true
    fs.createSynced = (path, bytes) =>
      isStuck ? Promise.reject(new Error('full')) : createSynced(path, bytes)
    await bench.write(aSteer('left'))
    const waiting = await bench.world.run(agent.ask({ text: 'which?' }))
    assert.match(waiting.outcome === 'refused' ? waiting.why : '', /request of the owner waits/)
    isStuck = false

    const parent = await AgentBench.of()
    const children = { hasUnsettled: true, areAllAsking: false }
    const own = {
      ...{
        onChange: () => () => {},
        closeAll: async () => ({ closed: [], notClosed: [], kept: [] }),
      },
      get hasUnsettled() {
        return children.hasUnsettled
      },
      get areAllAsking() {
        return children.areAllAsking
      },
    }
    const managed = await parent.open(own)
    assert.ok(managed !== 'leave')
    await parent.world.until(() => parent.host.texts.length === 1)
    const busy = await parent.world.run(managed.ask({ text: 'which?' }))
    assert.match(busy.outcome === 'refused' ? busy.why : '', /your own agents are still at work/)
    assert.match(
      busy.outcome === 'refused' ? busy.next : '',
      /wait for their results, or close them/,
    )
    children.areAllAsking = true
    assert.equal((await parent.world.run(managed.ask({ text: 'which?' }))).outcome, 'asked')
  })

  it('is refused when the assignment is over', async () => {
    const { bench, agent } = await atWork()
    bench.host.end({ outcome: 'answered', text: 'done' })
    await bench.world.until(() => bench.mailbox.assignment.conclusion !== undefined)
    const late = await bench.world.run(agent.ask({ text: 'which?' }))
    assert.match(late.outcome === 'refused' ? late.why : '', /over/)
  })

  it('is refused when it is longer than a message may be, and says by how much', async () => {
    const { bench, agent } = await atWork()
    const long = await bench.world.run(agent.ask({ text: 'x'.repeat(2_000) }, 1_024))
    assert.match(long.outcome === 'refused' ? long.why : '', /has \d+ bytes; at most 1024/)
    assert.equal(bench.mailbox.assignment.ask, undefined)
    const short = await bench.world.run(agent.ask({ text: 'which?' }, 1_024))
    assert.equal(short.outcome, 'asked')
  })

  it('takes a steer for what it is: not its answer', async () => {
    const { bench, agent } = await atWork()
    await bench.world.run(agent.ask({ text: 'which?' }))
    await bench.write(aSteer('left'))
    await bench.world.until(() => outcome(bench, 'left') === 'rejected')
    assert.equal(bench.mailbox.assignment.ask?.text, 'which?')
  })

  it('refuses an answer to another question and stays open', async () => {
    const { bench, agent } = await atWork()
    await bench.world.run(agent.ask({ text: 'which?' }))
    await bench.write(aReply('that', 'another'))
    await bench.world.until(() => outcome(bench, 'that') === 'rejected')
    assert.equal(bench.mailbox.assignment.ask?.text, 'which?')
  })
})
