import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type GenerationFile, limits, type ProcessIdentity } from '../mailbox/index.ts'
import { OperationError } from './index.ts'
import {
  completes,
  hangs,
  type Lead,
  longText,
  neverReady,
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
    const failure = await refusal(lead, 'scuot')
    assert.equal(failure.category, 'target_not_found')
    assert.match(failure.nextAction, /scout/)
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
    const failure = await refusal(lead, 'scout')
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

describe('closing an agent with agents of its own', () => {
  it('closes all of them, children before parents', async () => {
    const lead = await family([hangs(), hangs()])
    const { closed, notClosed } = await lead.close('parent')
    assert.deepEqual([...closed.slice(0, -1)].sort(), ['scout', 'scout-2'])
    assert.equal(closed.at(-1), 'parent')
    assert.deepEqual([...notClosed], [])
    assertNothingIsLeft(lead.world)
  })

  it('does so in the place of a parent that is gone', async () => {
    const lead = await family([hangs(), hangs({ commands: 1 })])
    const settled = settlingOrder(lead.world)
    lead.world.agent('parent').process.end()
    await lead.world.advance(0)
    assert.deepEqual(await lead.states(), { parent: 'lost' })
    const { closed } = await lead.close('parent')
    assert.equal(closed.length, 3)
    assert.equal(settled().at(-1), 'parent')
    assert.equal(settled().length, 3)
    assertNothingIsLeft(lead.world)
  })

  it('does so in the place of a parent that does not answer', async () => {
    const lead = await family([hangs(), hangs()], { isDeaf: true })
    const { closed } = await lead.close('parent')
    assert.equal(closed.length, 3)
    assertNothingIsLeft(lead.world)
  })

  it('keeps an undelivered result as a file and names it', async () => {
    for (const text of ['short', longText()]) {
      const lead = await family([completes(text), hangs()], { isBusyOwner: true })
      await lead.world.advance(5_000)
      lead.world.agent('parent').process.end()
      await lead.world.advance(0)
      const { closed, kept } = await lead.close('parent')
      assert.equal(closed.length, 3)
      assert.equal(kept.length, 1)
      const file = lead.world.disk.read(kept[0] ?? '', 1_000_000)
      assert.ok('bytes' in file)
      assert.equal(Buffer.from(file.bytes).toString(), text)
      assertNothingIsLeft(lead.world)
    }
  })

  it('keeps it too where the parent closes its own', async () => {
    const lead = await family([completes('kept'), hangs()], { isBusyOwner: true })
    await lead.world.advance(5_000)
    const { kept } = await lead.close('parent')
    assert.equal(kept.length, 1)
    assertNothingIsLeft(lead.world)
  })

  it('leaves the parent open as long as a child cannot be proven gone', async () => {
    const lead = await family([hangs()])
    lead.world.agent('parent').process.end()
    await lead.world.advance(0)
    const { stop } = lead.runner
    lead.runner.stop = async (place) =>
      place.generation.identity.label === 'scout'
        ? { outcome: 'unproven', why: 'it cannot be seen from here' }
        : stop.call(lead.runner, place)
    const failure = await refusal(lead, 'parent')
    assert.equal(failure.category, 'rollback_failure')
    assert.match(failure.message, /scout: it cannot be seen from here/)
    assert.deepEqual(await lead.states(), { parent: 'lost' })
    lead.runner.stop = stop
    await lead.settled() // a close that was ordered is carried out at every look
    assertNothingIsLeft(lead.world)
  })

  it('reaches grandchildren', async () => {
    const lead = await world().lead()
    await lead.delegate(hangs({ owns: [hangs({ owns: [hangs()] })] }), { label: 'parent' })
    await lead.world.until(() => lead.world.agents.size === 3)
    await lead.world.advance(2_000)
    lead.world.agent('parent').process.end()
    lead.world.agent('scout').process.end()
    await lead.world.advance(0)
    const { closed } = await lead.close('parent')
    assert.deepEqual([...closed], ['scout-2', 'scout', 'parent'])
    assertNothingIsLeft(lead.world)
  })

  it('withdraws a child that was just being started', async () => {
    for (const afterMs of [0, 1, 60, 99, 100, 101, 150]) {
      const lead = await world().lead()
      await lead.delegate(hangs({ owns: [neverReady(), hangs()] }), { label: 'parent' })
      await lead.world.advance(afterMs)
      lead.world.agent('parent').process.end()
      await lead.world.advance(0)
      await lead.close('parent')
      await lead.world.advance(1_000)
      assertNothingIsLeft(lead.world)
    }
  })

  it('frees the label of a child that was half prepared when its owner died', async () => {
    const lead = await world().lead()
    const started = lead.start(hangs({ owns: [hangs()] }), { label: 'parent' })
    await lead.world.until(() => lead.world.agents.size > 0)
    const { process } = lead.world.agent('parent')
    const makeDirectory = process.fs.makeDirectory.bind(process.fs)
    process.fs.makeDirectory = (path) => {
      if (path.endsWith('/quarantine')) process.end()
      return makeDirectory(path)
    }
    await assert.rejects(lead.world.run(started), OperationError)
    assert.ok(!process.isAlive)
    await lead.delegate(hangs(), { label: 'scout' })
  })
})

describe('withdrawing a start whose starter died', () => {
  it('ends an agent whose first word came in the last moment', async () => {
    const w = world()
    const first = await w.lead()
    const { start } = first.runner
    first.runner.start = async (order) => {
      const placement = await start.call(first.runner, order)
      first.kill()
      return placement
    }
    void first.start(neverReady([], { commands: 1 })).catch(() => {})
    await w.until(() => !first.process.isAlive)
    const { order, process } = w.agent('scout')
    const second = w.machine.spawn()
    const { rename } = second.fs
    second.fs.rename = (from, to) => {
      second.fs.rename = rename
      w.disk.plant(order.paths.ready, 'file', readyOf(order.generation, process.identity))
      rename.call(second.fs, from, to)
    }
    await w.run(w.leadIn(second).open())
    await w.until(() => !process.isAlive, 10_000)
    await w.advance(1_000)
    assertNothingIsLeft(w)
  })
})

describe('a parent', () => {
  it('comes to its result only when its agents have settled', async () => {
    const lead = await family([completes('a', { workMs: 8_000 })], {}, completes('together'))
    await lead.world.advance(5_000)
    assert.deepEqual(lead.told, [])
    await lead.settled()
    assert.deepEqual(lead.told, ['parent'])
    const own = [...lead.world.owners.values()]
    assert.deepEqual(
      own.flatMap((owner) => owner.told),
      ['scout'],
    )
    assertNothingIsLeft(lead.world)
  })
})

/** A lead with one agent, `parent`, that owns agents itself. */
async function family(
  owns: readonly ReturnType<typeof hangs>[],
  twist: Parameters<typeof hangs>[0] = {},
  parent: ReturnType<typeof hangs> = hangs(),
): Promise<Lead> {
  const lead = await world().lead()
  await lead.delegate({ ...parent, ...twist, owns }, { label: 'parent' })
  const { world: w } = lead
  await w.until(() => w.agents.size === owns.length + 1)
  await w.until(() => [...w.agents.values()].every(({ host }) => host.texts.length > 0))
  return lead
}

/** Labels of generations in the order in which they settle from now on. */
function settlingOrder({ disk, agents }: World): () => readonly string[] {
  const order: string[] = []
  for (const { order: started } of agents.values()) {
    const { directory } = started.paths
    const parent = directory.slice(0, directory.lastIndexOf('/'))
    const { label } = started.generation.identity
    disk.watch(parent, () => {
      if (disk.entry(directory) === undefined && !order.includes(label)) order.push(label)
    })
  }
  return () => order
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
): Promise<void> {
  assert.ok(isAlive)
  const { order } = [...disk.snapshot().keys()]
    .filter((path) => path.includes(generation) && path.includes('-task-'))
    .map((path) => ({ order: path }))[0] ?? { order: '' }
  const read = disk.read(order, 1_000_000)
  assert.ok('bytes' in read)
  const { identity, id: request } = JSON.parse(Buffer.from(read.bytes).toString())
  const id = machine.ids.next()
  const result = { protocol: 4, kind: 'result', id, identity, at: 0, request, text: 'late' }
  const directory = order.slice(0, order.lastIndexOf('/owner/'))
  const path = `${directory}/agent/00000007-result-${id}.json`
  await disk.createSynced(path, Buffer.from(JSON.stringify(result)))
}

async function refusal(lead: Lead, label: string) {
  const outcome = await lead.close(label).catch((error: unknown) => error)
  assert.ok(outcome instanceof OperationError, `not refused: ${outcome}`)
  return outcome.failure
}

const signalsOf = ({ world: { machine } }: Lead): readonly string[] =>
  machine.signals.map(({ signal }) => signal)

function assertNothingIsLeft(of: World): void {
  assert.deepEqual(of.remains(), [])
  assert.deepEqual(of.livingAgents(), [])
}
