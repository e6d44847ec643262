import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fact } from './testing/fake-scene.ts'
import { type Asked, answers, sends } from './testing/raw-server.ts'
import { placed, WatchScene } from './testing/watch-scene.ts'

const refused = sends('{"error":{"code":"rate_limited"}}\n')

describe('a stream that ends', () => {
  const endings: Record<string, string> = {
    'because the server hung up': '',
    'because events were lost': '{"error":{"code":"events_lost","message":"too slow"}}\n',
    'in garbage': '\u0000\n',
  }
  for (const [name, bytes] of Object.entries(endings))
    it(`${name} is followed by another, and by a look`, async (t) => {
      const scene = await WatchScene.listening(t)
      scene.panes = [placed(1)]
      await scene.endStreams(bytes)
      await scene.clock.pass(200)
      assert.deepEqual([scene.server.streams.length, scene.looks], [0, 1])
      await scene.clock.pass(50)
      assert.deepEqual([scene.server.streams.length, scene.looks, scene.told], [1, 2, ['p1']])
      await scene.clock.pass(1_000)
      scene.panes = []
      await scene.exited(1)
      assert.deepEqual(scene.told, ['p1', ''])
    })

  it('is followed by others ever more slowly while they do not stand', async (t) => {
    const scene = await WatchScene.open(t)
    const { server, clock } = scene
    server.conduct['events.subscribe'] = (socket, asked) =>
      answers({ type: 'subscription_started' })(socket, asked)
    scene.watch.onChange((sight) => scene.sights.push(sight))
    await clock.pass(120_000)
    const tries = server.count('events.subscribe')
    assert.ok(tries >= 8 && tries <= 12, `${tries} streams`)
    assert.deepEqual(scene.told, [])
  })

  it('is followed by another soon once one has stood for a while', async (t) => {
    const scene = await WatchScene.open(t)
    const { server, clock } = scene
    server.conduct['events.subscribe'] = (socket, asked) =>
      answers({ type: 'subscription_started' })(socket, asked)
    scene.watch.onChange((sight) => scene.sights.push(sight))
    await clock.pass(20_000)
    server.conduct['events.subscribe'] = server.subscribes
    await clock.pass(40_000)
    assert.equal(server.streams.length, 1)
    await scene.endStreams()
    await clock.pass(250)
    assert.equal(server.streams.length, 1)
  })

  it('is done without where none can be had', async (t) => {
    const scene = await WatchScene.open(t)
    scene.server.conduct['events.subscribe'] = refused
    scene.watch.onChange((sight) => scene.sights.push(sight))
    await scene.clock.pass(60_000)
    scene.panes = []
    await scene.clock.pass(5_000)
    assert.deepEqual(scene.told, [''])
    const before = scene.server.asked.length
    await scene.clock.pass(300_000)
    assert.ok(scene.server.asked.length - before <= 90)
  })

  it('is replaced when it has been silent about what two looks in a row found', async (t) => {
    const scene = await WatchScene.listening(t)
    scene.panes = [placed(1)]
    await scene.clock.pass(5_000)
    assert.equal(scene.server.count('events.subscribe'), 1)
    scene.panes = []
    await scene.clock.pass(5_300)
    assert.equal(scene.server.count('events.subscribe'), 2)
    await fact('the old one is closed', () => scene.server.connections === 1)
  })
})

describe('a server that goes away', () => {
  it('is reported once, and once more when it is back, though all is as before', async (t) => {
    const scene = await WatchScene.listening(t)
    await scene.server.stop()
    await scene.clock.pass(120_000)
    assert.deepEqual(scene.told, ['not_running'])
    await scene.server.listen()
    await scene.clock.pass(5_000)
    assert.deepEqual(scene.told, ['not_running', 'p1 p2'])
    await scene.clock.pass(30_000)
    assert.equal(scene.server.streams.length, 1)
    assert.equal(scene.told.length, 2)
  })

  it('and comes back with other terminals has changed, though it was never missed', async (t) => {
    const scene = await WatchScene.listening(t)
    await scene.server.stop()
    scene.panes = scene.panes.map((pane) => ({ ...pane, terminal_id: `${pane.terminal_id}b` }))
    await scene.server.listen()
    await scene.clock.pass(250)
    assert.deepEqual(scene.told, ['p1 p2'])
    assert.equal(scene.server.count('ping'), 2)
  })

  it('is reported when it hangs, and its streams are not trusted after that', async (t) => {
    const scene = await WatchScene.listening(t)
    const { server, clock } = scene
    const snapshot = server.conduct['session.snapshot'] ?? assert.fail()
    const hung: Asked[] = []
    server.conduct['session.snapshot'] = (_, asked) => void hung.push(asked)
    await clock.passOver(5_000)
    await fact('it was asked', () => hung.length === 1)
    await clock.passOver(9_999)
    assert.deepEqual(scene.told, [])
    await clock.passOver(1)
    assert.deepEqual(scene.told, ['timeout'])
    server.conduct['session.snapshot'] = snapshot
    await clock.pass(250)
    assert.deepEqual(scene.told, ['timeout', 'p1 p2'])
    assert.equal(server.count('events.subscribe'), 2)
  })
})
