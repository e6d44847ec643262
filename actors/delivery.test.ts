import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { limits, resultPath, rootPaths } from '../mailbox/index.ts'
import type { MemoryFs } from '../mailbox/testing/index.ts'
import { Delivery, deliveryIdentity, deliveryKey, head } from './delivery.ts'
import type { DeliveryIdentity, ResultReport } from './index.ts'
import type { NoticeReport, Report } from './ports.ts'
import {
  aFailure,
  aNotice,
  aQuestion,
  aReport,
  deliveryFields,
  FakeOwnerHost,
  type FakeSessionFile,
  resultsIn,
  sequentialIds,
  type VirtualProcess,
  World,
} from './testing/index.ts'

/** One delivery over a host in a process of its own. */
class Desk {
  readonly world: World
  readonly process: VirtualProcess
  readonly host: FakeOwnerHost
  readonly delivery: Delivery
  readonly delivered: string[] = []

  constructor(world = new World()) {
    this.world = world
    this.process = world.machine.spawn()
    this.host = new FakeOwnerHost(this.process, world.session('lead'))
    const { fs, clock } = this.process
    for (const each of ['/agent/drover', '/agent/drover/results']) fs.makeDirectory(each)
    this.delivery = new Delivery({
      fs,
      clock,
      ids: sequentialIds(),
      root: rootPaths('/agent'),
      host: this.host,
      onDelivered: ({ generation }) => this.delivered.push(generation),
      recheck: (report) => this.rechecked(report),
    })
  }

  /** What a notice comes to when it is looked at once more. */
  rechecked: (report: NoticeReport) => Promise<NoticeReport | undefined> = async (report) => report

  offerReport(report: Report): void {
    this.delivery.offer(report.generation.identity.generation, [report])
  }

  offer(...labels: readonly string[]): void {
    for (const label of labels) this.offerReport(aReport(label))
  }

  /** Everything that can happen by itself has happened. */
  async quiet(): Promise<void> {
    await this.world.advance(10_000)
  }

  /** The next process that has this session open. */
  next(): Desk {
    this.process.end()
    return new Desk(this.world)
  }

  get session(): FakeSessionFile {
    return this.host.session
  }

  get sentLabels(): readonly (readonly string[])[] {
    return this.host.messages.map((reports) => reports.map(labelOf))
  }
}

describe('delivery', () => {
  it('sends nothing any more once it was told to stop, whatever it was looking at', async () => {
    const desk = new Desk()
    let goOn = () => {}
    const looked = new Promise<void>((resolve) => {
      goOn = resolve
    })
    desk.rechecked = async (report) => {
      await looked
      return report
    }
    desk.offerReport(aNotice('a'))
    await desk.world.advance(1)
    const stopped = desk.delivery.stop()
    goOn()
    await desk.world.run(stopped)
    await desk.quiet()
    assert.deepEqual(desk.sentLabels, [])
  })

  it('gives results the whole room of a message, beside notices without words of an agent', async () => {
    const desk = new Desk()
    desk.host.begin()
    const text = 'x'.repeat(limits.resultInlineBytesMax)
    desk.offerReport(aReport('a', text))
    for (const label of ['b', 'c', 'd']) desk.offerReport(aNotice(label))
    desk.host.end()
    await desk.quiet()
    const [sent] = desk.host.messages
    assert.equal(sent?.length, 4)
    assert.equal(textOf(resultsIn(sent ?? [])[0]), text)
  })

  it('hands a result to an idle owner and says so once it is in its history', async () => {
    const desk = new Desk()
    desk.offer('a')
    await desk.world.advance(9)
    assert.deepEqual([desk.sentLabels, desk.delivered], [[['a']], []])
    await desk.quiet()
    assert.deepEqual(desk.delivered, [aReport('a').generation.identity.generation])
    assert.equal(desk.session.entries.length, 1)
  })

  it('looks into the history before it sends anything', async () => {
    const desk = new Desk()
    desk.session.append([deliveryIdentity(aReport('a'))])
    desk.offer('a')
    await desk.quiet()
    assert.deepEqual(desk.sentLabels, [])
    assert.equal(desk.delivered.length, 1)
  })

  it('waits while the owner is busy, and looks no oftener for that', async () => {
    const desk = new Desk()
    desk.host.begin()
    desk.offer('a')
    await desk.quiet()
    assert.deepEqual(desk.sentLabels, [])
    assert.ok(desk.host.looks <= 2)
    desk.host.end()
    await desk.quiet()
    assert.deepEqual(desk.sentLabels, [['a']])
  })

  it('sends all that wait as one message', async () => {
    const desk = new Desk()
    desk.host.begin()
    for (const label of ['a', 'b', 'c']) {
      desk.offer(label)
      await desk.world.advance(1_000)
    }
    desk.host.end()
    await desk.quiet()
    assert.deepEqual(desk.sentLabels, [['a', 'b', 'c']])
    assert.equal(desk.delivered.length, 3)
  })

  it('sends those together that are offered in one tick', async () => {
    const desk = new Desk()
    desk.offer('a', 'b')
    await desk.quiet()
    assert.deepEqual(desk.sentLabels, [['a', 'b']])
  })

  it('has one message outstanding at most', async () => {
    const desk = new Desk()
    desk.host.fates.push('by-hand')
    desk.offer('a')
    await desk.quiet()
    desk.offer('b')
    await desk.quiet()
    assert.deepEqual(desk.sentLabels, [['a']])
    desk.host.persist()
    desk.host.end()
    await desk.quiet()
    assert.deepEqual(desk.sentLabels, [['a'], ['b']])
  })

  it('takes an offer that is repeated for one', async () => {
    const desk = new Desk()
    desk.offer('a', 'a')
    await desk.world.advance(20)
    desk.offer('a')
    await desk.quiet()
    assert.equal(desk.session.entries.length, desk.sentLabels.flat().length)
    assert.deepEqual(desk.session.entries.length, 1)
  })

  it('sends again, once, what was not in the history when its run had ended', async () => {
    const desk = new Desk()
    desk.host.fates.push('dropped')
    desk.offer('a')
    await desk.quiet()
    assert.deepEqual(desk.sentLabels, [['a'], ['a']])
    assert.equal(desk.session.entries.length, 1)
    assert.equal(desk.delivered.length, 1)
  })

  it('does not send again while the run goes on that should bring it', async () => {
    const desk = new Desk()
    desk.host.fates.push('by-hand')
    desk.offer('a')
    for (let n = 0; n < 5; n++) {
      desk.delivery.pump()
      await desk.world.advance(5_000)
    }
    assert.deepEqual(desk.sentLabels, [['a']])
    desk.host.persist()
    desk.host.end()
    await desk.quiet()
    assert.deepEqual(desk.sentLabels, [['a']])
    assert.equal(desk.delivered.length, 1)
  })

  it('does not send again what is in the history although its run failed', async () => {
    const desk = new Desk()
    desk.host.fates.push('model-error')
    desk.offer('a')
    await desk.quiet()
    assert.deepEqual(desk.sentLabels, [['a']])
    assert.equal(desk.delivered.length, 1)
  })

  it('tries again where the host turned busy in the very tick of a send', async () => {
    const desk = new Desk()
    desk.host.refusals = 1
    desk.offer('a')
    await desk.world.advance(100)
    assert.deepEqual(desk.sentLabels, [])
    desk.host.begin()
    desk.host.end()
    await desk.quiet()
    assert.deepEqual(desk.sentLabels, [['a']])
    assert.equal(desk.session.entries.length, 1)
  })

  it('keeps a result for ever where the host never becomes idle, and holds no timer for it', async () => {
    const desk = new Desk()
    desk.host.begin()
    desk.offer('a')
    await desk.world.advance(3_600_000)
    assert.deepEqual([desk.sentLabels, desk.delivered], [[], []])
    assert.equal(desk.process.clock.pending, 0)
  })

  it('sends again in its next life what a crash kept out of the history', async () => {
    const desk = new Desk()
    desk.host.fates.push('dies-before')
    desk.offer('a')
    await desk.quiet()
    assert.equal(desk.session.entries.length, 0)
    const next = desk.next()
    next.offer('a')
    await next.quiet()
    assert.equal(next.session.entries.length, 1)
    assert.equal(next.delivered.length, 1)
  })

  it('does not send again in its next life what is in the history', async () => {
    const desk = new Desk()
    desk.host.fates.push('dies-after')
    desk.offer('a')
    await desk.quiet()
    assert.deepEqual([desk.session.entries.length, desk.delivered.length], [1, 0])
    const next = desk.next()
    next.offer('a')
    await next.quiet()
    assert.deepEqual([next.sentLabels, next.delivered.length], [[], 1])
  })

  for (const field of deliveryFields)
    it(`takes an entry that differs in its ${field} for no delivery`, async () => {
      const desk = new Desk()
      const entry: DeliveryIdentity = { ...deliveryIdentity(aReport('a')), [field]: 'another' }
      desk.session.append([entry])
      assert.notEqual(deliveryKey(entry), deliveryKey(deliveryIdentity(aReport('a'))))
      desk.offer('a')
      await desk.quiet()
      assert.deepEqual(desk.sentLabels, [['a']])
      assert.equal(desk.delivered.length, 1)
    })

  it('sends a result whose question was told', async () => {
    const desk = new Desk()
    const [question, report] = [aQuestion('a'), aReport('a')]
    desk.offerReport(question)
    await desk.quiet()
    assert.deepEqual(desk.session.entries, [deliveryIdentity(question)])
    desk.offerReport(report)
    await desk.quiet()
    assert.deepEqual(desk.host.messages, [[question], [report]])
    assert.equal(desk.delivered.length, 2)
  })

  it('forgets a question that is not open any more before it could be told', async () => {
    const desk = new Desk()
    desk.host.begin()
    desk.offerReport(aQuestion('a'))
    desk.offer('b')
    await desk.quiet()
    desk.delivery.offer(aQuestion('a').generation.identity.generation, [])
    desk.host.end()
    await desk.quiet()
    assert.deepEqual(desk.sentLabels, [['b']])
  })

  it('tells a result alone where its question still waited to be told', async () => {
    const desk = new Desk()
    const [question, report] = [aQuestion('a'), aReport('a')]
    desk.host.begin()
    desk.offerReport(question)
    desk.offerReport(report)
    await desk.quiet()
    desk.host.end()
    await desk.quiet()
    assert.deepEqual(desk.host.messages, [[report]])
  })

  for (const isTaken of [false, true])
    it(`tells once what the host ${isTaken ? 'took' : 'did not take'} in a send that failed`, async () => {
      const desk = new Desk()
      const send = desk.host.trySend.bind(desk.host)
      desk.host.trySend = (reports) => {
        desk.host.trySend = send
        if (isTaken) send(reports)
        throw new Error('This extension is stale.')
      }
      desk.offer('a')
      await desk.quiet()
      desk.host.begin()
      desk.host.end()
      await desk.quiet()
      assert.deepEqual(desk.sentLabels, [['a']])
      assert.deepEqual([desk.session.entries.length, desk.delivered.length], [1, 1])
    })

  it('stops: nothing is sent, nobody listens and no timer waits any more', async () => {
    const desk = new Desk()
    desk.host.begin()
    desk.offer('a')
    await desk.world.run(desk.delivery.stop())
    desk.host.end()
    desk.offer('b')
    await desk.quiet()
    assert.deepEqual(desk.sentLabels, [])
    assert.deepEqual([desk.host.listeners, desk.process.clock.pending], [0, 0])
  })
})

describe('a message', () => {
  it('holds texts that fit as they are', async () => {
    const desk = new Desk()
    desk.offerReport(aReport('a', 'x'.repeat(16_384)))
    await desk.quiet()
    const [told] = firstResults(desk)
    assert.equal(told?.conclusion.kind, 'result')
    assert.equal(textOf(told), 'x'.repeat(16_384))
    assert.deepEqual(filesOf(desk.process.fs), [])
  })

  it('of more text than it may hold has the heads, and files with the whole', async () => {
    const desk = new Desk()
    const labels = ['a', 'b', 'c', 'd', 'e']
    const whole = (label: string) => label.repeat(16_000)
    desk.host.begin()
    for (const label of labels) desk.offerReport(aReport(label, whole(label)))
    desk.host.end()
    await desk.quiet()
    const message = firstResults(desk)
    assert.deepEqual(message.map(labelOf), labels)
    const bytes = message.reduce((sum, report) => sum + Buffer.byteLength(textOf(report)), 0)
    assert.ok(bytes <= limits.messageBytesMax && bytes > limits.messageBytesMax - labels.length)
    for (const report of message) {
      const label = labelOf(report)
      const file = resultPath(rootPaths('/agent'), report.generation.identity.generation)
      assert.ok(report.conclusion.kind === 'result')
      assert.deepEqual(report.conclusion.whole, { file, bytes: 16_000 })
      const kept = desk.process.fs.read(file, 1_000_000)
      assert.ok('bytes' in kept)
      assert.equal(Buffer.from(kept.bytes).toString(), whole(label))
    }
  })

  it('names the file that holds the whole already, and writes no other', async () => {
    const desk = new Desk()
    desk.host.begin()
    for (const label of ['a', 'b', 'c', 'd'])
      desk.offerReport(wholeElsewhere(label, ownFile(label)))
    desk.host.end()
    await desk.quiet()
    assert.deepEqual(
      firstResults(desk).map(
        ({ conclusion }) => conclusion.kind === 'result' && conclusion.whole?.file,
      ),
      ['a', 'b', 'c', 'd'].map(ownFile),
    )
    assert.deepEqual(filesOf(desk.process.fs), [])
  })

  it('believes no agent that names another file', async () => {
    const desk = new Desk()
    desk.offerReport(wholeElsewhere('a', '/home/person/.ssh/id'))
    await desk.quiet()
    const [told] = firstResults(desk)
    assert.equal(told?.conclusion.kind === 'result' && told.conclusion.whole, undefined)
    assert.match(told?.persistenceError ?? '', /not where whole results are kept/)
  })

  it('goes with the whole text and the reason where no file can be written', async () => {
    const desk = new Desk()
    const { fs } = desk.process
    desk.host.begin()
    for (const label of ['a', 'b', 'c', 'd']) desk.offerReport(aReport(label, 'x'.repeat(16_000)))
    await desk.world.advance(1)
    fs.failAt(fs.operations, 'ENOSPC', 'forever')
    desk.host.end()
    await desk.quiet()
    for (const report of firstResults(desk)) {
      assert.equal(textOf(report), 'x'.repeat(16_000))
      assert.match(report.persistenceError ?? '', /Free some disk space/)
    }
    assert.equal(desk.delivered.length, 4)
  })

  it('holds a failure that fits as it is', async () => {
    const desk = new Desk()
    const report = aFailed('a', 'the model said no')
    desk.offerReport(report)
    await desk.quiet()
    assert.deepEqual(firstResults(desk)[0]?.conclusion, report.conclusion)
    assert.equal(desk.delivered.length, 1)
  })

  it('of more failures than it may hold has their heads, together within its limit', async () => {
    const desk = new Desk()
    desk.host.begin()
    for (let n = 0; n < 8; n++) desk.offerReport(aFailed(`a${n}`, 'é'.repeat(8_192)))
    desk.host.end()
    await desk.quiet()
    const messages = firstResults(desk).map(messageOf)
    assert.equal(messages.length, 8)
    const bytes = messages.reduce((sum, message) => sum + Buffer.byteLength(message), 0)
    assert.ok(bytes <= limits.messageBytesMax && bytes > limits.messageBytesMax - 8, `${bytes}`)
    for (const message of messages) assert.match(message, /^é+$/)
    assert.deepEqual(filesOf(desk.process.fs), [])
    assert.equal(desk.delivered.length, 8)
  })

  it('of failures and results has the heads of both, together within its limit', async () => {
    const desk = new Desk()
    desk.host.begin()
    for (let n = 0; n < 3; n++) desk.offerReport(aFailed(`a${n}`, 'f'.repeat(16_384)))
    for (let n = 0; n < 3; n++) desk.offerReport(aReport(`b${n}`, 'r'.repeat(16_384)))
    desk.host.end()
    await desk.quiet()
    const texts = firstResults(desk).map((report) => messageOf(report) + textOf(report))
    assert.deepEqual(
      texts.map(({ length }) => length),
      Array.from({ length: 6 }, () => limits.messageBytesMax / 6),
    )
    assert.equal(filesOf(desk.process.fs).length, 3)
  })
})

describe('the head of a text', () => {
  it('is the text, if it fits', () => assert.equal(head('äöü', 6), 'äöü'))
  it('ends between characters', () => {
    assert.equal(head('äöü', 5), 'äö')
    assert.equal(head('a😀b', 4), 'a')
    assert.equal(head('a😀b', 5), 'a😀')
    assert.equal(head('😀', 3), '')
  })
})

const labelOf = ({ generation }: Report): string => generation.identity.label

const textOf = (report: ResultReport | undefined): string =>
  report?.conclusion.kind === 'result' ? report.conclusion.text : ''

const filesOf = (fs: MemoryFs): readonly string[] => fs.list('/agent/drover/results') ?? []

/** A failure on its way to its owner. */
function aFailed(label: string, message: string): ResultReport {
  const { generation } = aReport(label)
  const { identity } = generation
  return { generation, conclusion: { ...aFailure(message), identity } }
}

const messageOf = ({ conclusion }: ResultReport): string =>
  conclusion.kind === 'failure' ? conclusion.message : ''

const ownFile = (label: string): string =>
  resultPath(rootPaths('/agent'), aReport(label).generation.identity.generation)

/** A result that says where its whole text is. */
function wholeElsewhere(label: string, file: string): ResultReport {
  const report = aReport(label, 'x'.repeat(16_000))
  assert.ok(report.conclusion.kind === 'result')
  return { ...report, conclusion: { ...report.conclusion, whole: { file, bytes: 90_000 } } }
}

/** The results in the first message. */
const firstResults = (desk: Desk): ResultReport[] => resultsIn(desk.host.messages[0] ?? [])
