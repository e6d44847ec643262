import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { OperationError } from './index.ts'
import {
  assertNothingIsLeft,
  completes,
  type Fate,
  hangs,
  type Lead,
  longText,
  neverReady,
  refusal,
  type World,
  world,
} from './testing/index.ts'

describe('an agent of an agent', () => {
  const below = async (lead: Lead) =>
    (await lead.world.run(lead.owner.below())).map(({ row, parent, isOrphan }) => [
      row.agent,
      parent,
      row.state,
      isOrphan,
    ])

  it("is shown from the top, and is its parent's to act on", async () => {
    const lead = await family([hangs(), hangs()])
    assert.deepEqual(await below(lead), [
      ['scout', 'parent', 'working', false],
      ['scout-2', 'parent', 'working', false],
    ])
    await assert.rejects(lead.close('scout'), OperationError)
    assert.equal((await below(lead)).length, 2)
  })

  it('is an orphan once its parent is proven gone, and may be closed without its siblings', async () => {
    const lead = await family([hangs(), hangs()])
    lead.world.agent('parent').process.end()
    await lead.world.advance(0)
    assert.deepEqual(await below(lead), [
      ['scout', 'parent', 'working', true],
      ['scout-2', 'parent', 'working', true],
    ])
    assert.deepEqual([...(await lead.close('scout')).closed], ['scout'])
    assert.deepEqual(await below(lead), [['scout-2', 'parent', 'working', true]])
    assert.deepEqual(await lead.states(), { parent: 'lost' })
    await lead.close('parent')
    assertNothingIsLeft(lead.world)
  })

  it('that is an orphan with a result has it named in the report of its close', async () => {
    const lead = await family([completes('found')], { isBusyOwner: true })
    await lead.world.advance(5_000)
    lead.world.agent('parent').process.end()
    await lead.world.advance(0)
    const { kept } = await lead.close('scout')
    const file = lead.world.disk.read(kept[0] ?? '', 1_000)
    assert.equal('bytes' in file && Buffer.from(file.bytes).toString(), 'found')
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

  it('shows meanwhile what is proven of the parent, not what was known before', async () => {
    const stubborn = { isDeaf: true, ignoresTerm: true }
    const lead = await family([hangs(stubborn)], stubborn)
    const { process } = lead.world.agent('parent')
    const closing = lead.owner.close('parent')
    const shown: string[] = []
    while (lead.owner.hasUnsettled) {
      const rows = await lead.rows()
      for (const { state, actions } of rows)
        shown.push(`${process.isAlive ? 'alive' : 'gone'}: ${state}, ${actions.join(' ')}`)
      await lead.world.advance(1_000)
    }
    const changes = shown.filter((each, i) => each !== shown[i - 1])
    assert.deepEqual(changes, ['alive: settling, close', 'gone: lost, close'])
    assert.ok(shown.filter((each) => each.startsWith('gone')).length > 5, 'it takes its time')
    assert.deepEqual([...(await closing).closed], ['scout', 'parent'])
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
    lead.runner.stop = async (place, reason) =>
      place.generation.identity.label === 'scout'
        ? { outcome: 'unproven', why: 'it cannot be seen from here' }
        : stop.call(lead.runner, place, reason)
    const failure = await refusal(lead.world, lead.owner.close('parent'))
    assert.equal(failure.category, 'rollback_failure')
    assert.match(failure.message, /scout: it cannot be seen from here/)
    assert.deepEqual(await lead.states(), { parent: 'lost' })
    lead.runner.stop = stop
    await lead.settled() // a close that was ordered is carried out at every look
    assertNothingIsLeft(lead.world)
  })

  for (const unseen of ['parent', 'scout-2'])
    it(`tells a second close all of it where ${unseen} could not be closed by the first`, async () => {
      const lead = await family([completes('kept'), hangs()], { isBusyOwner: true })
      await lead.world.advance(5_000)
      lead.world.agent('parent').process.end()
      lead.process.fs.loseHints = true
      const { stop } = lead.runner
      lead.runner.stop = async (place, reason) =>
        place.generation.identity.label === unseen
          ? { outcome: 'unproven', why: 'it cannot be seen from here' }
          : stop.call(lead.runner, place, reason)
      const failure = await refusal(lead.world, lead.owner.close('parent'))
      assert.equal(failure.category, 'rollback_failure')
      lead.runner.stop = stop
      const { closed, notClosed, kept } = await lead.close('parent')
      assert.deepEqual([...closed].sort(), ['parent', 'scout', 'scout-2'])
      assert.deepEqual([...notClosed], [])
      assert.equal(kept.length, 1)
      assertNothingIsLeft(lead.world)
    })

  it('tells all of it to each of two who close at once', async () => {
    const lead = await family([completes('kept'), hangs()], { isBusyOwner: true })
    await lead.world.advance(5_000)
    const { owner } = lead
    const reports = await lead.world.run(
      Promise.all([owner.close('parent'), owner.close('parent')]),
    )
    for (const { closed, kept } of reports) {
      assert.deepEqual([...closed].sort(), ['parent', 'scout', 'scout-2'])
      assert.equal(kept.length, 1)
    }
    assertNothingIsLeft(lead.world)
  })

  it('reaches grandchildren', async () => {
    const w = world()
    w.treeDepthMax = 3
    const lead = await w.lead()
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
  owns: readonly Fate[],
  twist: Parameters<typeof hangs>[0] = {},
  parent: Fate = hangs(),
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
