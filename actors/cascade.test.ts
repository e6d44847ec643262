import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  type GenerationFile,
  limits,
  type ProcessIdentity,
  protocol,
  type ResultRecord,
  resultPath,
} from '../mailbox/index.ts'
import { OperationError } from './index.ts'
import {
  abandonedStart,
  assertNothingIsLeft,
  completes,
  hangs,
  type Lead,
  neverReady,
  refusal,
  type VirtualProcess,
  type World,
  world,
} from './testing/index.ts'

describe('closing an agent', () => {
  it('ends it as soon as it has answered', async () => {
    const lead = await world().lead()
    await lead.delegate(hangs())
    const before = lead.world.machine.clock.nowMs
    assert.deepEqual(await lead.close('scout'), { closed: ['scout'], notClosed: [], kept: [] })
    assert.ok(lead.world.machine.clock.nowMs - before < 1_000)
    assert.deepEqual(lead.world.machine.signals, [])
    assertNothingIsLeft(lead.world)
  })

  it('asks its process to end when it has not answered within its time', async () => {
    const lead = await world().lead()
    await lead.delegate(hangs({ isDeaf: true }))
    const before = lead.world.machine.clock.nowMs
    await lead.close('scout')
    const tookMs = lead.world.machine.clock.nowMs - before
    assert.ok(tookMs >= limits.cascadeAnswerMs && tookMs < limits.cascadeAnswerMs + 1_000)
    assert.deepEqual(signalsOf(lead), ['SIGTERM'])
    assertNothingIsLeft(lead.world)
  })

  it('ends by force what ignores that, and the commands it started', async () => {
    const lead = await world().lead()
    await lead.delegate(hangs({ isDeaf: true, ignoresTerm: true, commands: 2 }))
    const before = lead.world.machine.clock.nowMs
    await lead.close('scout')
    const tookMs = lead.world.machine.clock.nowMs - before
    assert.ok(tookMs >= limits.cascadeAnswerMs + limits.stopGraceMs)
    assert.deepEqual(signalsOf(lead), ['SIGTERM', 'SIGKILL', 'SIGKILL', 'SIGKILL'])
    assertNothingIsLeft(lead.world)
  })

  it('is harmless when it is asked for twice at once', async () => {
    const lead = await world().lead()
    await lead.delegate(hangs())
    const close = () => lead.owner.close('scout')
    const [one, other] = await lead.world.run(Promise.all([close(), close()]))
    assert.deepEqual(one.closed, ['scout'])
    assert.deepEqual([...other.notClosed], [])
    assertNothingIsLeft(lead.world)
  })

  it('answers with the labels there are where there is none of that name', async () => {
    const lead = await world().lead()
    await lead.delegate(hangs())
    const failure = await refusal(lead.world, lead.owner.close('scuot'))
    assert.equal(failure.category, 'target_not_found')
    assert.match(failure.nextAction, /scout/)
  })

  it('leaves a delivered agent to its person where its runner does, and frees its label', async () => {
    const lead = await world().lead()
    const reasons: string[] = []
    lead.runner.stop = async (_, reason) => {
      reasons.push(reason)
      return { outcome: 'kept' }
    }
    const { placement } = await lead.delegate(completes())
    await lead.settled()
    assert.deepEqual([reasons, lead.world.machine.signals], [['delivered'], []])
    assert.ok(placement.process)
    await lead.delegate(completes(), { label: 'scout' })
  })

  it('frees the label and the session', async () => {
    const lead = await world().lead()
    const { generation } = await lead.delegate(hangs(), { label: 'mine' })
    const { session } = generation.identity
    assert.ok(lead.world.hasSessionClaim(session))
    await lead.close('mine')
    assert.ok(!lead.world.hasSessionClaim(session))
    await lead.delegate(hangs(), { label: 'mine' })
  })
})

describe('a result beside a close', () => {
  it('that waits for a busy owner refuses the close, and is delivered', async () => {
    const lead = await world().lead()
    lead.host.begin()
    await lead.delegate(completes())
    await lead.world.advance(5_000)
    const failure = await refusal(lead.world, lead.owner.close('scout'))
    assert.equal(failure.category, 'agent_busy')
    assert.match(failure.message, /a result that has not been delivered/)
    lead.host.end()
    await lead.settled()
    assert.deepEqual(lead.told, ['scout'])
    assertNothingIsLeft(lead.world)
  })

  it('stands if the agent was writing it when the close was ordered', async () => {
    const lead = await world().lead()
    await lead.delegate(completes('first', { workMs: 2_000 }))
    const { fs } = lead.world.agent('scout').process
    const link = fs.link.bind(fs)
    fs.link = (from, to) => (to.includes('-result-') ? linkAfterClose(from, to) : link(from, to))
    let closing: Promise<unknown> | undefined
    const linkAfterClose = (from: string, to: string) => {
      fs.link = link
      closing = lead.owner.close('scout').catch((error: unknown) => error)
      return link(from, to)
    }
    await lead.world.until(() => closing !== undefined)
    const outcome = await lead.world.run(closing ?? Promise.reject())
    assert.ok(outcome instanceof OperationError)
    assert.equal(outcome.failure.category, 'agent_busy')
    await lead.settled()
    assert.deepEqual(lead.told, ['scout'])
    assertNothingIsLeft(lead.world)
  })

  it('that settles in the meantime makes the close succeed', async () => {
    const lead = await world().lead()
    await lead.delegate(completes())
    await lead.world.until(() => lead.told.length === 1)
    const { closed } = await lead.close('scout')
    assert.deepEqual([...closed], ['scout'])
    assertNothingIsLeft(lead.world)
  })

  it('is kept where it is said to be, wherever the agent says its whole text is', async () => {
    const lead = await world().lead()
    lead.host.begin()
    await lead.delegate(hangs({ isDeaf: true }))
    const { process, order } = lead.world.agent('scout')
    const { generation } = order.generation.identity
    const whole = { file: '/elsewhere.md', bytes: 90_000 }
    await plantResult(lead.world, process, generation, { whole })
    const { closed, kept } = await lead.world.run(lead.owner.closeAll())
    assert.deepEqual(
      [[...closed], [...kept]],
      [['scout'], [resultPath(lead.world.root, generation)]],
    )
    const file = lead.world.disk.read(kept[0] ?? '', 1_000)
    assert.equal('bytes' in file && Buffer.from(file.bytes).toString(), 'late')
    assertNothingIsLeft(lead.world)
  })

  it('stands if it is written while the process is being ended', async () => {
    const lead = await world().lead()
    await lead.delegate(completes('late', { workMs: 12_000, isDeaf: true, ignoresTerm: true }))
    const { managed, process, order } = lead.world.agent('scout')
    assert.ok(managed !== undefined)
    const closing = lead.owner.close('scout').catch((error: OperationError) => error)
    await lead.world.advance(11_000)
    await plantResult(lead.world, process, order.generation.identity.generation)
    const outcome = await lead.world.run(closing)
    assert.ok(outcome instanceof OperationError)
    assert.equal(outcome.failure.category, 'agent_busy')
    await lead.settled()
    assert.deepEqual(lead.told, ['scout'])
    assertNothingIsLeft(lead.world)
  })
})

describe('withdrawing a start whose starter died', () => {
  it('ends an agent whose first word came in the last moment', async () => {
    const w = await abandonedStart(neverReady([], { commands: 1 }))
    const { order, process } = w.agent('scout')
    const second = w.machine.spawn()
    atRename(second, () =>
      w.disk.plant(order.paths.ready, 'file', readyOf(order.generation, process.identity)),
    )
    await w.run(w.leadIn(second).open())
    await w.until(() => !process.isAlive, 10_000)
    await w.advance(1_000)
    assertNothingIsLeft(w)
  })

  it('is tried again where the disk says no to everything in the last moment', async () => {
    const w = await abandonedStart(neverReady())
    w.agent('scout').process.end()
    const second = w.machine.spawn()
    const { fs } = second
    atRename(second, () => fs.failAt(fs.operations, 'EIO', 'forever'))
    const lead = w.leadIn(second)
    await w.run(lead.open())
    await w.advance(12_000)
    assert.ok(lead.owner.hasUnsettled)
    fs.heal()
    await lead.settled()
    assertNothingIsLeft(w)
  })
})

/** Lets something happen right before this process moves a generation away. */
function atRename({ fs }: VirtualProcess, act: () => void): void {
  const { rename } = fs
  fs.rename = (from, to) => {
    fs.rename = rename
    act()
    rename.call(fs, from, to)
  }
}

function readyOf({ identity, build }: GenerationFile, process: ProcessIdentity): Uint8Array {
  const runtime = { process, nonce: identity.generation }
  const ready = { protocol: 4, kind: 'ready', identity, build, at: 0, runtime }
  return Buffer.from(JSON.stringify(ready))
}

/** Writes a result as a process would that works on without listening. */
async function plantResult(
  { disk, machine }: World,
  { isAlive }: { readonly isAlive: boolean },
  generation: string,
  more: Partial<ResultRecord> = {},
): Promise<void> {
  assert.ok(isAlive)
  const { order } = [...disk.snapshot().keys()]
    .filter((path) => path.includes(generation) && path.includes('-task-'))
    .map((path) => ({ order: path }))[0] ?? { order: '' }
  const read = disk.read(order, 1_000_000)
  assert.ok('bytes' in read)
  const { identity, id: request } = JSON.parse(Buffer.from(read.bytes).toString())
  const id = machine.ids.next()
  const result = { protocol, kind: 'result', id, identity, at: 0, request, text: 'late', ...more }
  const directory = order.slice(0, order.lastIndexOf('/owner/'))
  const path = `${directory}/agent/00000007-result-${id}.json`
  await disk.createSynced(path, Buffer.from(JSON.stringify(result)))
}

const signalsOf = ({ world: { machine } }: Lead): readonly string[] =>
  machine.signals.map(({ signal }) => signal)
