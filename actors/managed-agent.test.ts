import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { limits, readReady, settleGeneration } from '../mailbox/index.ts'
import { AgentBench, aClose, aReply, aSteer, FakeOwnAgents } from './testing/index.ts'

describe('a managed agent', () => {
  it('is ready before it accepts, accepts once, and works on the task', async () => {
    const bench = await AgentBench.of()
    await bench.open()
    await bench.advance(30_000)
    const ready = readReady(bench.world.disk, bench.paths)
    assert.ok(typeof ready === 'object')
    assert.deepEqual(ready.runtime, bench.runtime)
    assert.deepEqual(bench.kinds, ['ack'])
    assert.equal(bench.mailbox.assignment.phase, 'active')
    assert.deepEqual(bench.host.texts, ['dig'])
  })

  it('waits with its turn as long as the host is busy', async () => {
    const bench = await AgentBench.of()
    bench.host.block(true)
    await bench.open()
    await bench.advance(10_000)
    assert.deepEqual([bench.kinds, bench.host.texts], [['ack'], []])
    bench.host.block(false)
    await bench.advance(1_000)
    assert.deepEqual(bench.host.texts, ['dig'])
  })

  it('asks a host that stays busy again with one timer, and with none once it is over', async () => {
    const bench = await AgentBench.of()
    bench.host.block(true)
    const agent = await bench.open()
    assert.ok(agent !== 'leave')
    const { clock } = bench.process
    await bench.advance(10_000)
    const waiting = clock.pending
    await bench.advance(120_000)
    assert.equal(clock.pending, waiting)
    await bench.write(aClose())
    await bench.advance(1)
    assert.deepEqual([agent.isOver, clock.pending], [true, waiting - 1])
    await bench.world.run(agent.stop())
    assert.equal(clock.pending, 0)
  })

  it('leaves no timer where it is stopped while the host is busy', async () => {
    const bench = await AgentBench.of()
    bench.host.block(true)
    const agent = await bench.open()
    assert.ok(agent !== 'leave')
    await bench.world.run(agent.stop()) // in the middle of its first look
    assert.equal(bench.process.clock.pending, 0)
    const next = await bench.open()
    assert.ok(next !== 'leave')
    await bench.advance(60_000)
    await bench.world.run(next.stop())
    assert.equal(bench.process.clock.pending, 0)
  })

  it('finds a request by looking where hints get lost', async () => {
    const bench = await AgentBench.of()
    bench.process.fs.loseHints = true
    await bench.open()
    await bench.write(aClose())
    await bench.advance(limits.rescanMs)
    assert.equal(bench.mailbox.assignment.phase, 'closed')
  })

  it('holds no timer, watch or listener when it is stopped', async () => {
    const bench = await AgentBench.of()
    const agent = await bench.open()
    assert.ok(agent !== 'leave')
    await bench.advance(12_000)
    await bench.world.run(agent.stop())
    const { clock, watches } = bench.process
    assert.deepEqual([clock.pending, watches, bench.host.listeners], [0, 0, 0])
  })
})

describe('a managed agent leaves at once', () => {
  it('where its assignment was closed before it began', async () => {
    const bench = await AgentBench.of(aClose('withdrawn'))
    assert.equal(await bench.open(), 'leave')
    await bench.advance(10_000)
    assert.deepEqual(bench.kinds, [])
    assert.equal(readReady(bench.world.disk, bench.paths), 'absent')
    assert.deepEqual(bench.host.texts, [])
  })

  it('where another process is this agent', async () => {
    const bench = await AgentBench.of()
    await bench.open()
    const usurper = bench.twin()
    assert.equal(await usurper.open(), 'leave')
    await bench.advance(10_000)
    assert.deepEqual(usurper.host.texts, [])
    assert.deepEqual(bench.kinds, ['ack'])
  })

  it('where two processes are started at once for one agent: one of them', async () => {
    const bench = await AgentBench.of()
    const opened = await Promise.all([bench.open(), bench.twin().open()])
    assert.equal(opened.filter((each) => each === 'leave').length, 1)
    await bench.advance(10_000)
    assert.deepEqual(bench.kinds, ['ack'])
  })

  it('where its generation is settled, before or while it works', async () => {
    const settled = await AgentBench.of()
    await settleGeneration(
      settled.world.disk,
      settled.owner,
      settled.generation.identity.generation,
    )
    await assert.rejects(settled.open(), { code: 'DROVER_MAILBOX_GONE' })

    const bench = await AgentBench.of()
    const agent = await bench.open()
    await bench.advance(1_000)
    await settleGeneration(bench.world.disk, bench.owner, bench.generation.identity.generation)
    await bench.advance(limits.rescanMs)
    assert.ok(agent !== 'leave' && agent.isOver && bench.host.hasLeft)
  })
})

describe('a close', () => {
  it('ends the run, is answered with a report of what was below, and then the agent leaves', async () => {
    const bench = await AgentBench.of()
    const own = new FakeOwnAgents()
    const agent = await bench.open(own)
    await bench.advance(1_000)
    await bench.write(aClose())
    await bench.advance(1)
    const { closed, requests } = bench.mailbox.assignment
    assert.deepEqual(closed?.closed, ['child'])
    assert.equal(requests.get(closed?.request ?? ''), 'accepted')
    assert.deepEqual(bench.kinds, ['ack', 'ack', 'closed'])
    assert.ok(bench.host.isIdle() && bench.host.hasLeft)
    assert.ok(agent !== 'leave' && agent.isOver)
  })

  it('reaches its own agents before anything is written, so that none of them starts another run here', async () => {
    const bench = await AgentBench.of()
    const own = new FakeOwnAgents()
    const closeAll = own.closeAll.bind(own)
    const before: (readonly string[])[] = []
    own.closeAll = () => {
      before.push(bench.kinds)
      return closeAll()
    }
    await bench.open(own)
    await bench.advance(1_000)
    await bench.write(aClose())
    await bench.advance(1)
    assert.deepEqual(before, [['ack']])
    assert.deepEqual(bench.kinds, ['ack', 'ack', 'closed'])
  })

  it('is answered with as much of a long report as a reader takes', async () => {
    const bench = await AgentBench.of()
    const own = new FakeOwnAgents()
    const many = <T>(entry: T) => Array.from({ length: limits.reportListMax + 1 }, () => entry)
    const why = 'x'.repeat(limits.reportReasonCharsMax + 1)
    const notClosed = [{ label: 'child', why }, ...many({ label: 'child', why: 'busy' })]
    own.closeAll = async () => ({ closed: many('child'), notClosed, kept: many('/kept.md') })
    await bench.open(own)
    await bench.write(aClose())
    await bench.advance(1)
    const { closed } = bench.mailbox.assignment
    const { reportListMax: most, reportReasonCharsMax: longest } = limits
    assert.deepEqual(
      [closed?.closed.length, closed?.notClosed.length, closed?.kept.length],
      [most, most, most],
    )
    assert.equal(closed?.notClosed[0]?.why.length, longest)
  })

  it('makes no result of the run it aborts', async () => {
    const bench = await AgentBench.of()
    await bench.open()
    await bench.write(aClose())
    await bench.advance(60_000)
    assert.equal(bench.mailbox.assignment.conclusion, undefined)
  })
})

describe('a managed agent after a reload', () => {
  it('goes on with the run there is, and does not start it again', async () => {
    const bench = await AgentBench.of()
    const agent = await bench.open()
    await bench.advance(1_000)
    assert.ok(agent !== 'leave')
    await bench.world.run(agent.stop())
    await bench.open()
    await bench.advance(1_000)
    assert.deepEqual(bench.host.texts, ['dig'])
    bench.host.end({ outcome: 'answered', text: 'found it' })
    await bench.advance(1)
    assert.deepEqual(bench.kinds, ['ack', 'result'])
  })

  it('starts the run that it could not start before', async () => {
    const bench = await AgentBench.of()
    bench.failFrom('ack', 'EIO')
    const agent = await bench.open()
    assert.ok(agent !== 'leave')
    await bench.world.run(agent.stop())
    bench.process.fs.heal()
    await bench.open()
    await bench.advance(1_000)
    assert.deepEqual([bench.kinds, bench.host.texts], [['ack'], ['dig']])
  })

  it('writes the result of the run that ended before it', async () => {
    const bench = await AgentBench.of()
    bench.failFrom('result', 'EIO')
    const agent = await bench.open()
    assert.ok(agent !== 'leave')
    await bench.advance(1_000)
    bench.host.end({ outcome: 'answered', text: 'found it' })
    await bench.advance(1_000)
    await bench.world.run(agent.stop())
    bench.process.fs.heal()
    await bench.open()
    await bench.advance(1_000)
    assert.deepEqual([bench.kinds, bench.host.texts], [['ack', 'result'], ['dig']])
  })

  it('writes nothing more where its end is written already, whatever was said since', async () => {
    const bench = await AgentBench.of()
    const agent = await bench.open()
    assert.ok(agent !== 'leave')
    await bench.advance(1_000)
    bench.host.end({ outcome: 'answered', text: 'found it' })
    await bench.advance(1_000)
    await bench.world.run(agent.stop())
    bench.host.begin()
    bench.host.end({ outcome: 'answered', text: 'something private' })
    const again = await bench.open()
    await bench.advance(10_000)
    assert.ok(again !== 'leave')
    await bench.world.run(again.replaced())
    assert.deepEqual(bench.kinds, ['ack', 'result'])
    assert.equal(bench.host.listeners, 0)
  })

  it('waits for the answer to its question, and starts nothing meanwhile', async () => {
    const bench = await AgentBench.of()
    const agent = await bench.open()
    assert.ok(agent !== 'leave')
    await bench.advance(1_000)
    await bench.world.run(agent.ask({ text: 'which?' }))
    bench.host.end({ outcome: 'answered', text: '' })
    await bench.world.run(agent.stop())
    await bench.open()
    await bench.advance(60_000)
    assert.deepEqual([bench.kinds, bench.host.texts], [['ack', 'ask'], ['dig']])
    const { ask } = bench.mailbox.assignment
    await bench.write({ ...aReply('this', 'which'), ask: ask?.id ?? '' })
    await bench.world.until(() => bench.host.texts.length === 2)
    assert.match(bench.host.texts[1] ?? '', /this$/)
  })

  it('shows a steer that it had accepted and could not show', async () => {
    const bench = await AgentBench.of()
    const agent = await bench.open()
    assert.ok(agent !== 'leave')
    await bench.advance(1_000)
    bench.host.losesSteers = true
    await bench.write(aSteer('left'))
    await bench.world.until(() => bench.kinds.length === 2)
    await bench.world.run(agent.stop())
    bench.host.end({ outcome: 'answered', text: 'without it' })
    await bench.open()
    await bench.advance(1_000)
    assert.match(bench.host.texts.at(-1) ?? '', /left$/)
    bench.host.end({ outcome: 'answered', text: 'with it' })
    await bench.world.until(() => bench.mailbox.assignment.conclusion !== undefined)
    assert.deepEqual(bench.kinds, ['ack', 'ack', 'consumed', 'result'])
  })
})
