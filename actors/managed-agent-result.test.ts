import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { limits, resultPath } from '../mailbox/index.ts'
import type { MemoryFs } from '../mailbox/testing/index.ts'
import { AgentBench, aSteer, FakeOwnAgents, longText } from './testing/index.ts'

describe('the end of a run', () => {
  it('with an answer is a result, and then the agent leaves', async () => {
    const bench = await AgentBench.of()
    const agent = await bench.open()
    await bench.advance(1_000)
    bench.host.end({ outcome: 'answered', text: 'found it' })
    await bench.advance(1)
    const result = bench.records.at(-1)
    assert.ok(result?.kind === 'result')
    assert.deepEqual([result.text, result.whole], ['found it', undefined])
    assert.equal(result.request, bench.mailbox.assignment.task?.id)
    assert.deepEqual(result.usage, { elapsedMs: 1_000, turns: 1 })
    assert.ok(agent !== 'leave' && agent.isOver && bench.host.hasLeft)
  })

  for (const text of ['', ' \n\t '])
    it(`with ${JSON.stringify(text)} is a failure: an empty result`, async () => {
      const bench = await AgentBench.of()
      await bench.open()
      bench.host.end({ outcome: 'answered', text })
      await bench.advance(1)
      const failure = bench.records.at(-1)
      assert.equal(failure?.kind === 'failure' && failure.code, 'empty_result')
    })

  it('with an error is a failure with its message', async () => {
    const bench = await AgentBench.of()
    await bench.open()
    bench.host.end({ outcome: 'failed', message: 'the model said no' })
    await bench.advance(1)
    const failure = bench.records.at(-1)
    assert.ok(failure?.kind === 'failure')
    assert.deepEqual([failure.code, failure.message], ['model_error', 'the model said no'])
  })

  for (const message of ['', 'e'.repeat(100_000)])
    it(`with an error of ${message.length} characters is a failure too`, async () => {
      const bench = await AgentBench.of()
      await bench.open()
      bench.host.end({ outcome: 'failed', message })
      await bench.advance(1)
      const failure = bench.records.at(-1)
      assert.ok(failure?.kind === 'failure' && /\S/.test(failure.message))
      assert.ok(Buffer.byteLength(failure.message) <= limits.resultInlineBytesMax)
    })

  it('with a long answer is its head and a file with the whole, written first', async () => {
    const bench = await AgentBench.of()
    const text = longText(2_000_000)
    await bench.open()
    const { fs } = bench.process
    const file = resultPath(bench.world.root, bench.generation.identity.generation)
    const link = fs.link.bind(fs)
    fs.link = (from, to) => {
      if (to.includes('-result-')) assert.equal(fs.entry(file), 'file')
      return link(from, to)
    }
    bench.host.end({ outcome: 'answered', text })
    await bench.advance(1)
    const result = bench.records.at(-1)
    assert.ok(result?.kind === 'result')
    assert.deepEqual(result.whole, { file, bytes: 2_000_000 })
    assert.equal(result.text, text.slice(0, limits.resultInlineBytesMax))
    const kept = fs.read(file, 3_000_000)
    assert.equal('bytes' in kept && Buffer.from(kept.bytes).toString(), text)
  })

  it('by a person is no end: the next run may end it', async () => {
    const bench = await AgentBench.of()
    bench.host.hasPerson = true
    const agent = await bench.open()
    bench.host.end({ outcome: 'aborted' })
    await bench.advance(60_000)
    assert.deepEqual(bench.kinds, ['ack'])
    assert.ok(agent !== 'leave' && !agent.isOver)
    bench.host.begin()
    bench.host.end({ outcome: 'answered', text: 'after all' })
    await bench.advance(1)
    assert.deepEqual(bench.kinds, ['ack', 'result'])
  })

  it('by an abort is a failure where no person could go on', async () => {
    const bench = await AgentBench.of()
    await bench.open()
    bench.host.end({ outcome: 'aborted' })
    await bench.advance(1)
    const [, failure] = bench.records
    assert.equal(failure?.kind === 'failure' && failure.code, 'interrupted')
    assert.ok(bench.host.hasLeft)
  })

  it('is none as long as the host is at it again', async () => {
    const bench = await AgentBench.of()
    await bench.open()
    bench.host.end({ outcome: 'answered', text: 'first' })
    bench.host.begin()
    await bench.advance(10_000)
    assert.deepEqual(bench.kinds, ['ack'])
    bench.host.end({ outcome: 'answered', text: 'second' })
    await bench.advance(1)
    const result = bench.records.at(-1)
    assert.equal(result?.kind === 'result' && result.text, 'second')
  })

  it('waits for agents of its own, and comes when they have settled', async () => {
    const bench = await AgentBench.of()
    const own = new FakeOwnAgents()
    own.hasUnsettled = true
    await bench.open(own)
    bench.host.end({ outcome: 'answered', text: 'together' })
    await bench.advance(60_000)
    assert.deepEqual(bench.kinds, ['ack'])
    own.hasUnsettled = false
    own.change()
    await bench.advance(1)
    assert.deepEqual(bench.kinds, ['ack', 'result'])
  })

  it('counts from the moment it is told, whatever the agent is writing then', async () => {
    const bench = await AgentBench.of()
    const own = new FakeOwnAgents()
    own.hasUnsettled = true
    await bench.open(own)
    bench.host.end({ outcome: 'answered', text: 'my scout is at work' })
    await bench.advance(1)
    bench.host.begin()
    const goOn = holdBack(bench.process.fs, 'consumed')
    await bench.write(aSteer('left'))
    await bench.advance(1)
    assert.deepEqual(bench.kinds, ['ack', 'ack'])
    own.hasUnsettled = false
    bench.host.end({ outcome: 'answered', text: 'my scout found it' })
    await bench.advance(1)
    goOn()
    await bench.advance(1)
    const result = bench.records.at(-1)
    assert.equal(result?.kind === 'result' && result.text, 'my scout found it')
  })

  it('in another session is a failure: the session was replaced', async () => {
    const bench = await AgentBench.of()
    const agent = await bench.open()
    await bench.advance(1_000)
    assert.ok(agent !== 'leave')
    await bench.world.run(agent.replaced())
    const failure = bench.records.at(-1)
    assert.equal(failure?.kind === 'failure' && failure.code, 'session_replaced')
  })
})

describe('a result on a disk that says no', () => {
  for (const [trouble, code] of [
    ['full', 'ENOSPC'],
    ['broken', 'EIO'],
  ] as const)
    it(`is written, once, when a ${trouble} disk is well again`, async () => {
      for (let point = 0; point < 6; point++) {
        const bench = await AgentBench.of()
        await bench.open()
        await bench.advance(100)
        const { fs } = bench.process
        fs.failAt(fs.operations + point, code, 'forever')
        bench.host.end({ outcome: 'answered', text: 'found it' })
        await bench.advance(3 * limits.resultRetryMs)
        fs.heal()
        await bench.advance(2 * limits.resultRetryMs)
        assert.deepEqual(bench.kinds, ['ack', 'result'], `after a fault at ${point}`)
        assert.ok(bench.host.hasLeft)
      }
    })

  it('is written at once on a full disk by the room set aside', async () => {
    const bench = await AgentBench.of()
    await bench.world.disk.createSynced(bench.world.root.ballast, new Uint8Array(10))
    await bench.open()
    await bench.advance(100)
    const { fs } = bench.process
    fs.failAt(fs.operations, 'ENOSPC', 'forever')
    const remove = fs.remove.bind(fs)
    fs.remove = (path) => {
      if (path === bench.world.root.ballast) fs.heal()
      return remove(path)
    }
    bench.host.end({ outcome: 'answered', text: 'found it' })
    await bench.advance(1)
    assert.deepEqual(bench.kinds, ['ack', 'result'])
  })

  it('is written although the whole of a long text cannot be kept at first', async () => {
    const bench = await AgentBench.of()
    await bench.open()
    await bench.advance(100)
    const { fs } = bench.process
    fs.failAt(fs.operations, 'ENOSPC', 'forever')
    bench.host.end({ outcome: 'answered', text: longText() })
    await bench.advance(2 * limits.resultRetryMs)
    fs.heal()
    await bench.advance(2 * limits.rescanMs)
    const result = bench.records.at(-1)
    assert.ok(result?.kind === 'result' && result.whole !== undefined)
    assert.ok(bench.host.hasLeft)
  })

  it('is tried again and again, under one id, until it can be written', async () => {
    const bench = await AgentBench.of()
    await bench.open()
    await bench.advance(100)
    const { fs } = bench.process
    fs.failAt(fs.operations, 'EIO', 'forever')
    bench.host.end({ outcome: 'answered', text: 'found it' })
    await bench.advance(60_000)
    assert.equal(bench.host.hasLeft, false)
    assert.deepEqual(bench.kinds, ['ack'])
    fs.heal()
    await bench.advance(limits.rescanMs * 2)
    assert.deepEqual(bench.kinds, ['ack', 'result'])
    assert.ok(bench.host.hasLeft)
  })

  it('is an acceptance later, if that is what could not be written', async () => {
    const bench = await AgentBench.of()
    bench.failFrom('ack', 'EIO')
    await bench.open()
    await bench.advance(100)
    assert.deepEqual([bench.kinds, bench.host.texts], [[], []])
    bench.process.fs.heal()
    await bench.advance(2 * limits.rescanMs)
    assert.deepEqual([bench.kinds, bench.host.texts], [['ack'], ['dig']])
  })
})

describe('an agent whose run is over', () => {
  it('says that it waits for its own agents, as long as it does', async () => {
    const bench = await AgentBench.of()
    const own = new FakeOwnAgents()
    own.hasUnsettled = true
    await bench.open(own)
    bench.host.end({ outcome: 'answered', text: 'done' })
    await bench.advance(1)
    assert.deepEqual(waits(bench), ['agents'])
    bench.host.begin() // a result of one of them is told
    await bench.advance(limits.rescanMs)
    bench.host.end({ outcome: 'answered', text: 'done' })
    await bench.advance(1)
    assert.deepEqual(waits(bench), ['agents', undefined, 'agents'])
    own.hasUnsettled = false
    own.change()
    await bench.advance(1)
    assert.equal(bench.records.at(-1)?.kind, 'result')
  })

  it('says that it waits for the person who stopped it', async () => {
    const bench = await AgentBench.of()
    bench.host.hasPerson = true
    await bench.open()
    bench.host.end({ outcome: 'aborted' })
    await bench.advance(1)
    assert.deepEqual(waits(bench), ['person'])
  })

  it('says what it cannot write down, and how often it has tried', async () => {
    const bench = await AgentBench.of()
    await bench.open()
    bench.failFrom('result', 'EIO')
    bench.host.end({ outcome: 'answered', text: 'done' })
    await bench.advance(limits.resultAttemptsMax * limits.resultRetryMs)
    await bench.advance(2 * limits.rescanMs)
    const errors = bench.statuses.flatMap(({ resultError }) => resultError ?? [])
    assert.deepEqual(
      errors.slice(0, 2).map(({ status, attempts }) => [status, attempts]),
      [
        ['completed', limits.resultAttemptsMax],
        ['completed', 2 * limits.resultAttemptsMax],
      ],
    )
    assert.equal(new Set(errors.map(({ since }) => since)).size, 1)
    assert.match(errors[0]?.cause ?? '', /EIO/)
    bench.process.fs.heal()
    await bench.advance(2 * limits.rescanMs)
    assert.equal(bench.records.at(-1)?.kind, 'result')
  })
})

const waits = ({ statuses }: AgentBench) => statuses.map(({ waiting }) => waiting)

/** A slow disk: writes no record of that kind until it is told to go on. */
function holdBack(fs: MemoryFs, kind: string): () => void {
  const createSynced = fs.createSynced.bind(fs)
  let goOn = () => {}
  const told = new Promise<void>((resolve) => {
    goOn = resolve
  })
  fs.createSynced = async (path, bytes) => {
    if (Buffer.from(bytes).includes(`"kind":"${kind}"`)) await told
    return createSynced(path, bytes)
  }
  return goOn
}
