import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Clock } from '../mailbox/index.ts'
import { Actor } from './actor.ts'
import { type ActorEvent, Observation } from './observation.ts'

describe('the stream of actor events', () => {
  it('tells the whole life of an actor in order, with durations', async () => {
    const observation = new Observation()
    const events: ActorEvent[] = []
    observation.subscribe((event) => events.push(event))
    const actor = timedActor(observation)
    actor.tell(5)
    await actor.stop('drain', 'shutdown')
    assert.deepEqual(events, [
      { type: 'spawned', name: 'a' },
      { type: 'message-begin', name: 'a', message: 5 },
      { type: 'message-end', name: 'a', durationMs: 5 },
      { type: 'stopped', name: 'a', reason: 'shutdown' },
    ])
  })

  it('tells a failure after the end of its message and before the stop', async () => {
    const observation = new Observation()
    const events: ActorEvent[] = []
    const actor = timedActor(observation)
    observation.subscribe((event) => events.push(event))
    actor.tell(-1)
    await actor.exited
    const types = events.map(({ type }) => type)
    assert.deepEqual(types, ['message-begin', 'message-end', 'failed', 'stopped'])
    const failed = events.find((event) => event.type === 'failed')
    assert.equal(String(failed?.error), 'Error: negative')
  })

  it('has nothing to call while nobody listens', () => {
    const observation = new Observation()
    assert.equal(observation.emit, undefined)
    const unsubscribe = observation.subscribe(() => {})
    assert.notEqual(observation.emit, undefined)
    unsubscribe()
    unsubscribe()
    assert.equal(observation.emit, undefined)
  })

  it('keeps what a listener throws from the actor and from the other listeners', async () => {
    const observation = new Observation()
    let heard = 0
    observation.subscribe(() => assert.fail('listener'))
    observation.subscribe(async () => assert.fail('asynchronous listener'))
    observation.subscribe(() => {
      heard += 1
    })
    const actor = timedActor(observation)
    actor.tell(1)
    await actor.stop('drain')
    assert.deepEqual(await actor.exited, { reason: 'normal' })
    assert.equal(heard, 4)
  })

  it('lets a listener leave while it is told, and counts one function subscribed twice as two', () => {
    const observation = new Observation()
    const heard: string[] = []
    const leave = observation.subscribe(() => {
      heard.push('leaver')
      leave()
    })
    const twice = () => void heard.push('twice')
    observation.subscribe(twice)
    const leaveOnce = observation.subscribe(twice)
    observation.emit?.({ type: 'spawned', name: 'a' })
    leaveOnce()
    observation.emit?.({ type: 'spawned', name: 'b' })
    assert.deepEqual(heard, ['leaver', 'twice', 'twice', 'twice'])
  })

  it('gives no end to a listener that has left, and none without a begin', async () => {
    const observation = new Observation()
    const events: ActorEvent[] = []
    const listener = (event: ActorEvent) => void events.push(event)
    let leave = () => {}
    const actor = new Actor<string>({
      name: 'a',
      clock: testClock(),
      observation,
      handle(message) {
        if (message === 'join') leave = observation.subscribe(listener)
        else leave()
      },
    })
    actor.tell('join')
    actor.tell('leave')
    await actor.stop('drain')
    assert.deepEqual(events, [{ type: 'message-begin', name: 'a', message: 'leave' }])
  })
})

/** Each message takes as many milliseconds as it says; a negative one fails. */
function timedActor(observation: Observation): Actor<number> {
  const clock = testClock()
  const handle = (ms: number) => {
    if (ms < 0) throw new Error('negative')
    clock.advance(ms)
  }
  return new Actor<number>({ name: 'a', clock, observation, handle })
}

function testClock(): Clock & { advance(ms: number): void } {
  let nowMs = 0
  return {
    now: () => nowMs,
    monotonic: () => nowMs,
    after: () => () => {},
    background: () => () => {},
    yield: () => Promise.resolve(),
    advance(ms) {
      nowMs += ms
    },
  }
}
