import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { describe, it } from 'node:test'
import type { Inventory } from './inventory.ts'
import { fact } from './testing/fake-scene.ts'
import { type RawServer, sends } from './testing/raw-server.ts'
import { placed, WatchScene } from './testing/watch-scene.ts'

/** Keeps looks waiting until they are answered, and those after them no more. */
function hold({ conduct }: RawServer) {
  const snapshot = conduct['session.snapshot'] ?? assert.fail()
  const held: (() => void)[] = []
  conduct['session.snapshot'] = (...asked) => void held.push(() => snapshot(...asked))
  const answer = (): void => {
    conduct['session.snapshot'] = snapshot
    for (const each of held) each()
  }
  return { held, answer }
}

const refused = sends('{"error":{"code":"rate_limited"}}\n')

describe('a look', () => {
  it('is shared by all who ask at once, and by those for whom it is young enough', async (t) => {
    const { watch, clock, server } = await WatchScene.open(t)
    const [one, other] = await Promise.all([watch.panes(0), watch.panes(0), watch.panes(50)])
    assert.equal(one, other)
    assert.deepEqual(
      one.panes.map(({ pane_id }) => pane_id),
      ['w1:p1', 'w1:p2'],
    )
    assert.deepEqual(
      one.tabs.map(({ tab_id }) => tab_id),
      ['w1:t1', 'w1:t2'],
    )
    assert.equal(one.at, 0)
    await clock.pass(1_000)
    assert.equal(await watch.panes(1_000), one)
    assert.equal((await watch.panes(999)).at, 1_000)
    assert.deepEqual(server.methods, ['ping', 'session.snapshot', 'session.snapshot'])
  })

  it('that began too early serves nobody who needs a later one: they share the next', async (t) => {
    const scene = await WatchScene.open(t)
    const { watch, clock, server } = scene
    await scene.client.server()
    const { held, answer } = hold(server)
    const early = watch.panes(0)
    await fact('it was asked', () => held.length === 1)
    await clock.passOver(10)
    const patient = watch.panes(10)
    const strict = [watch.panes(0), watch.panes(9)]
    answer()
    assert.deepEqual([(await early).at, (await patient).at], [0, 0])
    assert.deepEqual(
      (await Promise.all(strict)).map(({ at }) => at),
      [10, 10],
    )
    assert.equal(scene.looks, 2)
  })

  it('never goes on beside another, even when a listener asks for the next', async (t) => {
    const scene = await WatchScene.listening(t)
    const { watch, clock, server } = scene
    const asked: Promise<Inventory>[] = []
    watch.onChange(() => asked.push(watch.panes(0)))
    await clock.pass(10)
    scene.panes = []
    const { held, answer } = hold(server)
    const first = watch.panes(0)
    await fact('it was asked', () => held.length === 1)
    await clock.passOver(10)
    const second = watch.panes(0)
    answer()
    assert.equal((await first).at, 10)
    assert.deepEqual([asked.length, await asked[0]], [1, await second])
    assert.equal(scene.looks, 3)
  })

  it('that fails says why, to all who wait, and the next tries again', async (t) => {
    const { watch, server } = await WatchScene.open(t)
    const snapshot = server.conduct['session.snapshot'] ?? assert.fail()
    server.conduct['session.snapshot'] = refused
    const ended = await Promise.allSettled([watch.panes(0), watch.panes(0)])
    assert.deepEqual(
      ended.map((each) => each.status === 'rejected' && each.reason.code),
      ['rate_limited', 'rate_limited'],
    )
    server.conduct['session.snapshot'] = snapshot
    assert.equal((await watch.panes(60_000)).panes.length, 2)
  })
})

describe('without listeners', () => {
  it('nothing runs', async (t) => {
    const { watch, clock, server } = await WatchScene.open(t)
    await watch.panes(0)
    await clock.pass(60_000)
    assert.deepEqual([clock.pending, server.asked.length, server.connections], [0, 2, 0])
  })

  for (const how of ['the last one leaves', 'the watch is closed'])
    it(`nothing runs any more once ${how}`, async (t) => {
      const scene = await WatchScene.open(t)
      const { watch, clock, server } = scene
      const leaves = [1, 2].map(() => watch.onChange((sight) => scene.sights.push(sight)))
      await clock.rest()
      assert.equal(server.streams.length, 1)
      scene.panes = []
      await scene.exited(1)
      if (how === 'the watch is closed') watch.close()
      else for (const leave of [...leaves, ...leaves]) leave()
      await fact('the stream is closed', () => server.connections === 0)
      const asked = server.asked.length
      await clock.pass(60_000)
      assert.deepEqual([clock.pending, server.asked.length, scene.told], [0, asked, []])
    })

  it('a stream that is just being opened is closed again', async (t) => {
    const { watch, clock, server } = await WatchScene.open(t)
    watch.onChange(() => {})()
    await clock.pass(60_000)
    await fact('the stream is closed', () => server.connections === 0)
    assert.deepEqual([clock.pending, server.count('session.snapshot')], [0, 0])
  })
})

describe('a listener', () => {
  it('brings about a stream, then a look, and is told nothing of what was there before', async (t) => {
    const { server, told } = await WatchScene.listening(t)
    assert.deepEqual(server.methods, ['ping', 'events.subscribe', 'session.snapshot'])
    const { params } = server.asked[1] ?? assert.fail()
    const subscriptions = params['subscriptions'] as readonly { readonly type: string }[]
    assert.deepEqual(subscriptions.map(({ type }) => type).sort(), [
      'pane.closed',
      'pane.created',
      'pane.exited',
      'pane.moved',
      'tab.closed',
      'tab.moved',
      'workspace.closed',
    ])
    assert.deepEqual([told, server.breaches], [[], []])
  })

  it('is told of a pane that is gone, 100 ms after the last look at the latest', async (t) => {
    const scene = await WatchScene.listening(t)
    scene.panes = [placed(2)]
    await scene.exited(1)
    assert.deepEqual([scene.looks, scene.told], [1, []])
    await scene.clock.pass(100)
    assert.deepEqual([scene.looks, scene.told], [2, ['p2']])
    await scene.clock.pass(1_000)
    scene.panes = []
    await scene.exited(2)
    assert.deepEqual([scene.looks, scene.told], [3, ['p2', '']])
  })

  it('is told as soon after a long rest', async (t) => {
    const scene = await WatchScene.listening(t)
    await scene.clock.pass(60_000)
    scene.panes.push(placed(3))
    await scene.emit('pane_created', { pane: placed(3) })
    await scene.clock.pass(100)
    assert.deepEqual(scene.told, ['p1 p2 p3'])
  })

  it('that leaves while others are told is not told any more', async (t) => {
    const scene = await WatchScene.open(t)
    const told: string[] = []
    const leaves = ['first', 'second'].map((name, at) =>
      scene.watch.onChange(() => {
        told.push(name)
        leaves[1 - at]?.()
      }),
    )
    await scene.clock.rest()
    scene.panes = []
    await scene.clock.pass(5_000)
    assert.deepEqual(told, ['first'])
  })

  it('is told of a change that somebody else happened to see', async (t) => {
    const scene = await WatchScene.listening(t)
    scene.panes.push(placed(3))
    await scene.clock.pass(10)
    await scene.watch.panes(0)
    assert.deepEqual([scene.looks, scene.told], [2, ['p1 p2 p3']])
  })

  it('is told of a change since a look before it came', async (t) => {
    const scene = await WatchScene.open(t)
    await scene.watch.panes(0)
    scene.panes = [placed(1)]
    scene.watch.onChange((sight) => scene.sights.push(sight))
    await scene.clock.rest()
    assert.deepEqual(scene.told, ['p1'])
  })

  it('is told of a pane in another tab, or with another terminal, and not of another order or title', async (t) => {
    const scene = await WatchScene.listening(t)
    const next = async (...panes: object[]): Promise<number> => {
      scene.panes = panes as typeof scene.panes
      await scene.clock.pass(5_000)
      return scene.told.length
    }
    assert.equal(await next(placed(2), { ...placed(1), title: 'new', agent_status: 'done' }), 0)
    assert.equal(await next(placed(2), placed(1, { tab_id: 'w1:t2' })), 1)
    assert.equal(
      await next(placed(2, { terminal_id: 'term_9' }), placed(1, { tab_id: 'w1:t2' })),
      2,
    )
  })

  it('is told of a pane that came and went between two looks', async (t) => {
    const scene = await WatchScene.listening(t)
    await scene.clock.pass(1_000)
    await scene.exited(7)
    assert.deepEqual(scene.told, ['p1 p2'])
  })

  it('is not told of an event without consequence; what is known is old after it, though', async (t) => {
    const scene = await WatchScene.listening(t)
    await scene.clock.pass(50)
    await scene.emit('tab_moved', { tab_id: 'w1:t1', workspace_id: 'w1' })
    assert.equal(scene.looks, 1)
    await scene.watch.panes(60_000)
    assert.equal(scene.looks, 2)
    await scene.clock.pass(1_000)
    assert.deepEqual([scene.looks, scene.told], [2, []])
  })

  it('is told of a loss whose event was lost, after 5 s', async (t) => {
    const scene = await WatchScene.listening(t)
    scene.panes = [placed(1)]
    await scene.clock.pass(4_900)
    assert.deepEqual(scene.told, [])
    await scene.clock.pass(100)
    assert.deepEqual(scene.told, ['p1'])
  })

  it('costs a look every 5 s while nothing happens, and no more', async (t) => {
    const scene = await WatchScene.listening(t)
    const before = scene.server.asked.length
    await scene.clock.pass(60_000)
    const asked = scene.server.methods.slice(before)
    assert.deepEqual(asked, Array(12).fill('session.snapshot'))
    assert.deepEqual([scene.told, scene.clock.pending], [[], 1])
  })

  it('costs few looks while 512 old events are repeated, and still learns at once of a loss', async (t) => {
    const scene = await WatchScene.listening(t)
    for (let n = 0; n < 512; n++) {
      await scene.exited(1_000 + n)
      await scene.clock.pass(100)
      if (n !== 400) continue
      scene.panes = [placed(2)]
      await scene.exited(1)
      assert.equal(scene.told.at(-1), 'p2')
    }
    assert.ok(scene.looks <= 30, `${scene.looks} looks`)
  })

  it('costs few looks also when the events repeated sound like losses that are none', async (t) => {
    const scene = await WatchScene.listening(t)
    for (let n = 0; n < 512; n++) {
      await scene.exited(1)
      await scene.clock.pass(100)
    }
    assert.deepEqual(scene.told, [])
    assert.ok(scene.looks <= 30, `${scene.looks} looks`)
  })
})

it('keeps no process alive', async (t) => {
  const scene = await WatchScene.open(t)
  const module = (name: string) => JSON.stringify(new URL(name, import.meta.url).href)
  const script = `
    import { HerdrClient } from ${module('./client.ts')}
    import { PaneWatch } from ${module('./watch.ts')}
    import { systemClock } from ${module('../mailbox/index.ts')}
    const client = new HerdrClient(${JSON.stringify(scene.server.socketPath)}, systemClock)
    new PaneWatch(client, systemClock).onChange(() => {})
    process.on('exit', () => console.log('that is all'))`
  const args = ['--import', 'tsx', '--input-type=module', '-e', script]
  const child = spawn(process.execPath, args, { timeout: 30_000 })
  const [said, [status]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  assert.deepEqual([said, status], ['that is all\n', 0])
  assert.deepEqual(scene.server.methods, ['ping', 'events.subscribe', 'session.snapshot'])
})
