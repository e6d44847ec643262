import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  AgentBench,
  asks,
  assertNothingIsLeft,
  completes,
  dies,
  hangs,
  refusal,
  world,
} from './testing/index.ts'

describe('an agent whose mailbox cannot be trusted', () => {
  const whole = (text: string) => text
  for (const [how, what, spoil] of [
    ['is open to others', 'loose-file', whole],
    ['belongs to somebody else', 'foreign-file', whole],
    ['is a link', 'symlink', whole],
    ['is damaged', 'file', (text: string) => text.slice(0, 40)],
    ['names no owner', 'file', (text: string) => text.replace('"owner":"lead",', '')],
    [
      'names another owner',
      'file',
      (text: string) => text.replace('"owner":"lead"', '"owner":"x"'),
    ],
  ] as const)
    it(`because its generation.json ${how} is named, counts as unsettled, and is left alone`, async () => {
      const w = world()
      const first = await w.lead()
      await first.delegate(completes('secret', { workMs: 2_000 }))
      first.kill()
      const { paths, generation } = w.agent('scout').order
      const name = generation.identity.generation
      const sound = w.disk.read(paths.file, 100_000)
      assert.ok('bytes' in sound)
      const text = Buffer.from(sound.bytes).toString()
      assert.equal(spoil(text) === text, what !== 'file')
      w.disk.plant(paths.file, what, Buffer.from(spoil(text)))
      const second = await w.lead()
      await w.advance(120_000)
      assert.deepEqual(second.owner.unreadable, [name])
      assert.equal(second.owner.areAllAsking, false)
      const observer = await w.lead()
      assert.deepEqual([observer.owner.role, observer.owner.unreadable], ['observing', [name]])
      await observer.quit()
      assert.equal(second.owner.hasUnsettled, true)
      assert.deepEqual(await second.states(), {})
      assert.deepEqual((await refusal(w, second.owner.close('scout'))).category, 'target_not_found')
      assert.deepEqual([second.told, w.machine.signals], [[], []])
      assert.equal(w.disk.entry(paths.file), what === 'symlink' ? 'other' : 'file')
      assert.equal(w.ledger.count(name, 'close'), 0)
      assert.equal(w.ledger.count(name, 'result'), 1, 'it worked on')
      await second.quit()
      w.disk.plant(paths.file, 'file', sound.bytes)
      const third = await w.lead()
      await third.settled()
      assert.deepEqual([third.owner.unreadable, third.told], [[], ['scout']])
      assertNothingIsLeft(w)
    })

  it('keeps its owner from concluding, if that is an agent itself', async () => {
    const bench = await AgentBench.of()
    const { session } = bench.generation.identity
    const earlier = await bench.world.lead(session)
    await earlier.delegate(hangs())
    earlier.kill()
    const { paths } = bench.world.agent('scout').order
    const sound = bench.world.disk.read(paths.file, 100_000)
    assert.ok('bytes' in sound)
    bench.world.disk.plant(paths.file, 'loose-file', sound.bytes)
    const own = bench.world.leadIn(bench.process, session)
    await bench.world.run(own.open())
    await bench.open(own.owner)
    bench.host.end({ outcome: 'answered', text: 'all is done' })
    await bench.advance(120_000)
    assert.deepEqual(bench.kinds, ['ack'])
    assert.equal(bench.host.hasLeft, false)
  })
})

describe('a lost agent', () => {
  it('is shown as lost within two scans, and can be closed', async () => {
    const lead = await world().lead()
    lead.process.fs.loseHints = true
    lead.runner.onChange = () => () => {}
    await lead.delegate(dies('mid-work', { commands: 2 }))
    await lead.world.until(() => !lead.world.agent('scout').process.isAlive)
    await lead.world.advance(10_000)
    assert.deepEqual(await lead.states(), { scout: 'lost' })
    assert.deepEqual(await lead.close('scout'), { closed: ['scout'], notClosed: [], kept: [] })
    assertNothingIsLeft(lead.world)
    assert.deepEqual(lead.told, [])
  })

  it('is shown as lost at once where the runner says that something changed', async () => {
    const lead = await world().lead()
    await lead.delegate(hangs())
    lead.world.agent('scout').process.end()
    await lead.world.advance(0)
    assert.deepEqual(await lead.states(), { scout: 'lost' })
  })

  it('is shown as lost by the very next list, whatever hints got lost and whenever it is scanned', async () => {
    const lead = await world().lead()
    lead.process.fs.loseHints = true
    lead.runner.onChange = () => () => {}
    await lead.delegate(hangs())
    lead.world.agent('scout').process.end()
    assert.deepEqual(await lead.states(), { scout: 'lost' })
  })

  it('asks nothing any more: its question is neither told nor counted as one that waits', async () => {
    const lead = await world().lead()
    await lead.delegate(hangs())
    lead.host.begin()
    await asks(lead, 'which?')
    await lead.world.until(() => lead.owner.areAllAsking)
    lead.world.agent('scout').process.end()
    await lead.world.advance(0)
    assert.equal(lead.owner.areAllAsking, false)
    lead.host.end()
    await lead.world.advance(10_000)
    const told = lead.host.messages.flat()
    assert.deepEqual(
      told.map((report) => 'notice' in report && report.notice.condition),
      ['lost'],
    )
    const late = lead.owner.tell('scout', { kind: 'reply', text: 'that' })
    const { message, nextAction } = await refusal(lead.world, late)
    assert.match(`${message} ${nextAction}`, /process of scout is gone.* Close it/)
  })

  it('stays lost when its pid belongs to another process, which nobody touches', async () => {
    const lead = await world().lead()
    const { placement } = await lead.delegate(hangs())
    const pid = placement.process?.pid ?? 0
    lead.world.agent('scout').process.end()
    const innocent = lead.world.machine.spawn({ pid })
    await lead.world.advance(10_000)
    assert.deepEqual(await lead.states(), { scout: 'lost' })
    await lead.close('scout')
    assert.ok(innocent.isAlive)
    assert.deepEqual(lead.world.machine.signals, [])
  })

  it('is every agent of another boot, also where its pid and start time come again; a result of before is told once', async () => {
    const w = world()
    const first = await w.lead()
    first.host.begin()
    const { placement } = await first.delegate(hangs(), { label: 'idler' })
    await first.delegate(completes(), { label: 'finisher' })
    await first.delegate(hangs(), { label: 'asker' })
    const { managed } = w.agent('asker')
    assert.ok(managed)
    await w.run(managed.ask({ text: 'which?' }))
    await w.advance(2_000)
    assert.deepEqual(await first.states(), {
      asker: 'blocked',
      finisher: 'settling',
      idler: 'working',
    })
    w.machine.reboot()
    w.machine.spawn()
    const innocent = w.machine.spawn()
    assert.deepEqual({ ...innocent.identity, boot: first.process.identity.boot }, placement.process)
    const second = await w.lead()
    await w.until(() => second.told.length > 0)
    await w.until(async () => !('finisher' in (await second.states())))
    assert.deepEqual(await second.states(), { asker: 'lost', idler: 'lost' })
    for (const label of ['asker', 'idler'])
      assert.deepEqual((await second.close(label)).closed, [label])
    await w.advance(60_000)
    assert.deepEqual(second.told, ['finisher'])
    assert.ok(innocent.isAlive)
    assert.deepEqual(w.machine.signals, [])
    assertNothingIsLeft(w)
  })

  it('is none whose process is on another machine: it is unknown, and nothing is done', async () => {
    const lead = await world().lead()
    await lead.delegate(hangs())
    lead.runner.observe = async () => 'unknown'
    await lead.world.advance(10_000)
    const [row] = await lead.rows()
    assert.deepEqual([row?.state, row?.actions], ['unknown', []])
    const refused = await refusal(lead.world, lead.owner.close('scout'))
    assert.equal(refused.category, 'target_ambiguous')
    assert.deepEqual(await lead.states(), { scout: 'unknown' })
    assert.deepEqual(lead.world.machine.signals, [])
  })
})
