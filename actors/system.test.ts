import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Clock } from '../mailbox/index.ts'
import { ActorError } from './errors.ts'
import type { ActorEvent } from './observation.ts'
import { type ActorSpec, ActorSystem, type ActorSystemOptions } from './system.ts'

describe('a name', () => {
  it('belongs to one actor at a time', async () => {
    const system = await start()
    assert.notEqual(await system.spawn(recorder('a')), undefined)
    assert.equal(await system.spawn(recorder('a')), undefined)
    const both = await Promise.all([system.spawn(recorder('b')), system.spawn(recorder('b'))])
    assert.equal(both.filter((ref) => ref !== undefined).length, 1)
  })

  it('reaches the new life after a restart, which its factory built again', async () => {
    const system = await start()
    let lives = 0
    const build = async () => {
      const life = ++lives
      return (message: string) => {
        if (message === 'fail') throw new Error('failed')
        return `${message} in life ${life}`
      }
    }
    const ref = await system.spawn<string, string>({ ...recorder('a'), build })
    assert.equal(await ref?.ask('hello', 1_000), 'hello in life 1')
    ref?.tell('fail')
    await settle()
    assert.equal(await ref?.ask('hello', 1_000), 'hello in life 2')
  })

  it('refuses with `retry` between two lives', async () => {
    const gate = withResolvers()
    const system = await start()
    let lives = 0
    const build = async () => {
      if (++lives > 1) await gate.promise
      return (message: string) => {
        if (message === 'fail') throw new Error('failed')
      }
    }
    const ref = await system.spawn<string>({ ...recorder('a'), build })
    ref?.tell('fail')
    await settle()
    assert.deepEqual(
      system.list().map(({ state }) => state),
      ['starting'],
    )
    assert.throws(() => ref?.tell('x'), stopped('retry'))
    await assert.rejects(async () => ref?.ask('x', 1_000), stopped('retry'))
    gate.resolve()
    await settle()
    ref?.tell('x')
  })

  for (const restart of ['transient', 'temporary'] as const) {
    it(`is free again when its ${restart} actor has finished`, async () => {
      const system = await start()
      const build = () => (_: string, self: { stop(how: 'drain'): Promise<void> }) =>
        void self.stop('drain')
      const ref = await system.spawn<string>({ ...recorder('a'), restart, build })
      ref?.tell('finish')
      await settle()
      assert.deepEqual(system.list(), [])
      assert.equal(system.find('a'), undefined)
      assert.notEqual(await system.spawn(recorder('a')), undefined)
    })
  }

  it('is free again when its actor did not start', async () => {
    const system = await start()
    const build = () => Promise.reject(new Error('no records'))
    await assert.rejects(system.spawn({ ...recorder('a'), build }), /no records/)
    assert.notEqual(await system.spawn(recorder('a')), undefined)
  })

  it('is free again when its actor was stopped', async () => {
    const system = await start()
    await system.spawn(recorder('a'))
    const ref = system.find('a')
    assert.equal(await system.stopActor('a'), 'stopped')
    assert.equal(await system.stopActor('a'), 'absent')
    assert.throws(() => ref?.tell('late'), stopped('stop'))
    const seen: unknown[] = []
    const next = await system.spawn(recorder('a', seen))
    next?.tell('hello')
    await settle()
    assert.deepEqual(seen, ['hello'])
  })
})

describe('a system', () => {
  it('lists its actors with state and queue depth, in start order', async () => {
    const system = await start()
    const gate = withResolvers()
    const a = await system.spawn({ ...recorder('a'), build: () => () => gate.promise })
    await system.spawn({ ...recorder('b'), restart: 'temporary' })
    for (const message of ['1', '2', '3']) a?.tell(message)
    await settle()
    assert.deepEqual(system.list(), [
      { name: 'a', restart: 'permanent', state: 'running', queueDepth: 2 },
      { name: 'b', restart: 'temporary', state: 'running', queueDepth: 0 },
    ])
    gate.resolve()
  })

  it('finds an actor by its name', async () => {
    const system = await start()
    const seen: unknown[] = []
    await system.spawn(recorder('a', seen))
    system.find('a')?.tell('hello')
    await settle()
    assert.deepEqual(seen, ['hello'])
  })

  it('keeps to the queue limit of the spec', async () => {
    const system = await start()
    const ref = await system.spawn({ ...recorder('a'), queueMax: 1 })
    ref?.tell('1')
    assert.throws(
      () => ref?.tell('2'),
      (error: unknown) => error instanceof ActorError && error.code === 'DROVER_ACTOR_FULL',
    )
  })

  it('stops all in reverse, draining or dropping as each spec says', async () => {
    const system = await start()
    const seen: string[] = []
    const stops: string[] = []
    system.observation.subscribe((event) => event.type === 'stopped' && stops.push(event.name))
    const drains = await system.spawn(recorder('drains', seen))
    const drops = await system.spawn({ ...recorder('drops', seen), stop: 'drop' as const })
    await system.spawn(recorder('last', seen))
    drains?.tell('drained')
    drops?.tell('dropped')
    await system.stop()
    assert.deepEqual(stops, ['last', 'drops', 'drains'])
    assert.ok(seen.includes('drained'))
    assert.deepEqual(system.list(), [])
    assert.throws(() => drains?.tell('late'), stopped('stop'))
    await assert.rejects(system.spawn(recorder('new')), stopped('stop'))
  })

  it('shows spawns, failures and restarts in its one stream', async () => {
    const system = await start()
    const events: ActorEvent['type'][] = []
    system.observation.subscribe(({ type }) => events.push(type))
    const build = () => () => Promise.reject(new Error('failed'))
    const ref = await system.spawn({ ...recorder('a'), build })
    ref?.tell('x')
    await settle()
    const message = ['message-begin', 'message-end']
    assert.deepEqual(events, ['spawned', ...message, 'failed', 'stopped', 'spawned'])
  })

  it('stops and exits with shutdown when its actors fail too often, and reports why', async () => {
    const reports: string[] = []
    const report = (name: string, during: string, error: unknown) =>
      void reports.push(`${name} ${during}: ${error}`)
    const system = await start({ intensity: 1, report })
    const build = () => () => assert.fail('always')
    const ref = await system.spawn({ ...recorder('a'), build })
    await system.spawn(recorder('b'))
    for (let life = 0; life < 2; life++) {
      ref?.tell('x')
      await settle()
    }
    assert.deepEqual(await system.exited, { reason: 'shutdown' })
    assert.equal(reports.length, 2)
    assert.match(reports[0] ?? '', /^a run: AssertionError.*always/)
    assert.deepEqual(system.list(), [])
  })
})

/** A permanent, draining actor that notes what it is told. */
function recorder(name: string, seen: unknown[] = []): ActorSpec<string, unknown> {
  const build = () => (message: string) => void seen.push(message)
  return { name, restart: 'permanent', stop: 'drain', build }
}

function start(options: Partial<ActorSystemOptions> = {}): Promise<ActorSystem> {
  return ActorSystem.start({ clock: stillClock, intensity: 3, ...options })
}

function stopped(remedy: ActorError['remedy']) {
  return (error: unknown) =>
    error instanceof ActorError && error.code === 'DROVER_ACTOR_STOPPED' && error.remedy === remedy
}

/** Nothing here waits for time, so all promises are through after one turn of the event loop. */
const settle = () => new Promise<void>((resolve) => setImmediate(resolve))

const stillClock: Clock = {
  now: () => 0,
  monotonic: () => 0,
  after: () => () => {},
  background: () => () => {},
  yield: settle,
}

function withResolvers(): { promise: Promise<void>; resolve: () => void } {
  let resolve = () => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}
