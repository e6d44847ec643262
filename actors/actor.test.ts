import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { Clock } from '../mailbox/index.ts'
import { Actor } from './actor.ts'
import { ActorError } from './errors.ts'

describe('an actor', () => {
  it('handles messages in the order they were told', async () => {
    const seen: number[] = []
    const actor = actorOf((n: number) => void seen.push(n))
    for (const n of [1, 2, 3]) actor.tell(n)
    await actor.stop('drain')
    assert.deepEqual(seen, [1, 2, 3])
  })

  it('handles nothing inside tell', async () => {
    const seen: number[] = []
    const actor = actorOf((n: number) => void seen.push(n))
    actor.tell(1)
    assert.deepEqual(seen, [])
    assert.equal(actor.queueDepth, 1)
    await actor.stop('drain')
    assert.deepEqual(seen, [1])
    assert.equal(actor.queueDepth, 0)
  })

  it('handles one message at a time when the handler is asynchronous', async () => {
    let running = 0
    const actor = actorOf(async () => {
      running += 1
      assert.equal(running, 1)
      await turn()
      running -= 1
    })
    for (const n of [1, 2, 3]) actor.tell(n)
    await actor.stop('drain')
    assert.equal((await actor.exited).reason, 'normal')
  })

  it('keeps told values of every kind apart, undefined and promises too', async () => {
    const seen: unknown[] = []
    const actor = actorOf((message: unknown) => void seen.push(message))
    const messages = [undefined, null, 0, Promise.resolve(1), () => 2]
    for (const message of messages) actor.tell(message)
    await actor.stop('drain')
    assert.deepEqual(seen, messages)
  })

  it('handles what it tells itself after what waited already', async () => {
    const seen: string[] = []
    const actor = actorOf((message: string, self) => {
      seen.push(message)
      if (message === 'a') self.tell('c')
    })
    actor.tell('a')
    actor.tell('b')
    while (seen.length < 3) await turn()
    assert.deepEqual(seen, ['a', 'b', 'c'])
  })

  it('refuses a message over its limit with a coded error and takes one again when there is room', async () => {
    const seen: number[] = []
    const actor = actorOf((n: number) => void seen.push(n), { queueMax: 2 })
    actor.tell(1)
    actor.tell(2)
    assert.throws(() => actor.tell(3), coded('DROVER_ACTOR_FULL', 'retry'))
    await assert.rejects(actor.ask(4, 1_000), coded('DROVER_ACTOR_FULL', 'retry'))
    await turn()
    actor.tell(5)
    await actor.stop('drain')
    assert.deepEqual(seen, [1, 2, 5])
  })

  it('keeps order over a queue that is never empty', async () => {
    let handled = 0
    const actor = actorOf((n: number, self) => {
      assert.equal(n, handled++)
      if (n < 5_000) self.tell(n + 3_000)
    })
    for (let n = 0; n < 3_000; n++) actor.tell(n)
    while (actor.queueDepth > 0) await turn()
    assert.equal(handled, 8_000)
    assert.equal(actor.state, 'running')
  })
})

describe('ask', () => {
  it('resolves with what a synchronous or an asynchronous handler returned', async () => {
    assert.equal(await actorOf((n: number) => n + 1).ask(1, 1_000), 2)
    assert.equal(await actorOf(async (n: number) => n + 1).ask(1, 1_000), 2)
  })

  it('rejects at its deadline, and the message is still handled', async () => {
    const clock = testClock()
    const gate = withResolvers<void>()
    const seen: number[] = []
    const actor = actorOf(
      async (n: number) => {
        await gate.promise
        seen.push(n)
      },
      { clock },
    )
    const answer = assert.rejects(actor.ask(1, 50), coded('DROVER_ASK_TIMEOUT', 'report'))
    clock.advance(50)
    await answer
    gate.resolve()
    await actor.stop('drain')
    assert.deepEqual(seen, [1])
  })

  it('leaves no timer behind, however it ends', async () => {
    const clock = testClock()
    const actor = actorOf(
      (n: number) => {
        if (n === 2) throw new Error('two')
      },
      { clock },
    )
    const asks = [1, 2, 3].map((n) => actor.ask(n, 1_000))
    await Promise.allSettled(asks)
    await assert.rejects(actor.ask(4, 1_000), coded('DROVER_ACTOR_STOPPED', 'stop'))
    assert.equal(clock.timers(), 0)
  })
})

const failures = {
  throws: (): undefined => {
    throw new TypeError('thrown')
  },
  rejects: () => Promise.reject(new TypeError('rejected')),
}
for (const [kind, fail] of Object.entries(failures)) {
  describe(`a handler that ${kind}`, () => {
    it('fails the actor, answers its asker and rejects those behind', async () => {
      const seen: number[] = []
      const actor = actorOf((n: number) => {
        seen.push(n)
        return n === 2 ? fail() : undefined
      })
      actor.tell(1)
      const asked = assert.rejects(actor.ask(2, 1_000), TypeError)
      actor.tell(3)
      const behind = assert.rejects(actor.ask(4, 1_000), coded('DROVER_ACTOR_STOPPED', 'stop'))
      await Promise.all([asked, behind])
      const exit = await actor.exited
      assert.ok(exit.reason === 'failure' && exit.error instanceof TypeError)
      assert.deepEqual(seen, [1, 2])
      assert.equal(actor.state, 'stopped')
      assert.throws(() => actor.tell(5), coded('DROVER_ACTOR_STOPPED', 'stop'))
    })

    it('fails it during a drain as well, and the stop resolves', async () => {
      const actor = actorOf(() => fail())
      actor.tell(1)
      await actor.stop('drain')
      assert.equal((await actor.exited).reason, 'failure')
    })
  })
}

describe('stop', () => {
  it('resolves at once for an idle actor, and again when it has stopped', async () => {
    const actor = actorOf(() => {})
    await actor.stop('drain')
    await actor.stop('drop', 'shutdown')
    assert.deepEqual(await actor.exited, { reason: 'normal' })
  })

  it('exits with the reason of the first caller', async () => {
    const actor = actorOf(() => {})
    await actor.stop('drop', 'shutdown')
    assert.deepEqual(await actor.exited, { reason: 'shutdown' })
  })

  it('drains what waits, and takes nothing more meanwhile', async () => {
    const seen: number[] = []
    const actor = actorOf((n: number) => void seen.push(n))
    actor.tell(1)
    const answer = actor.ask(2, 1_000)
    const stopped = actor.stop('drain')
    assert.equal(actor.state, 'stopping')
    assert.throws(() => actor.tell(3), coded('DROVER_ACTOR_STOPPED', 'stop'))
    await stopped
    await answer
    assert.deepEqual(seen, [1, 2])
    assert.equal(actor.state, 'stopped')
  })

  it('drops what waits, and waits for the running handler', async () => {
    const gate = withResolvers<void>()
    const seen: string[] = []
    const actor = actorOf(async (message: string) => {
      seen.push(`${message} begins`)
      await gate.promise
      seen.push(`${message} ends`)
    })
    const running = actor.ask('a', 1_000)
    const dropped = assert.rejects(actor.ask('b', 1_000), coded('DROVER_ACTOR_STOPPED', 'stop'))
    await turn()
    const stopped = actor.stop('drop').then(() => seen.push('stopped'))
    await dropped
    assert.deepEqual(seen, ['a begins'])
    gate.resolve()
    await Promise.all([running, stopped])
    assert.deepEqual(seen, ['a begins', 'a ends', 'stopped'])
  })

  it('may turn a drain that has begun into a drop', async () => {
    const gate = withResolvers<void>()
    const seen: number[] = []
    const actor = actorOf(async (n: number) => {
      seen.push(n)
      await gate.promise
    })
    actor.tell(1)
    actor.tell(2)
    const drained = actor.stop('drain')
    await turn()
    const dropped = actor.stop('drop')
    gate.resolve()
    await Promise.all([drained, dropped])
    assert.deepEqual(seen, [1])
  })

  it('may be called by the handler itself', async () => {
    const actor = actorOf((_: number, self) => void self.stop('drain'))
    actor.tell(1)
    assert.deepEqual(await actor.exited, { reason: 'normal' })
  })
})

describe('the event loop', () => {
  it('is given back after every 64 messages', async () => {
    const clock = testClock()
    const actor = actorOf(() => {}, { clock })
    for (let n = 0; n < 640; n++) actor.tell(n)
    await actor.stop('drain')
    assert.equal(clock.yields(), 9) // not after the last: nothing waits any more
  })

  it('may bring a drop while the actor waits for its turn', async () => {
    const seen: number[] = []
    const clock = testClock()
    const dropping: Clock = { ...clock, yield: async () => void actor.stop('drop') }
    const actor: Actor<number> = actorOf<number>((n) => seen.push(n), { clock: dropping })
    for (let n = 0; n < 100; n++) actor.tell(n)
    assert.deepEqual(await actor.exited, { reason: 'normal' })
    assert.deepEqual(seen, [...Array(64).keys()])
  })

  it('is given back after 8 ms of handling, as seen at every fourth message', async () => {
    const clock = testClock()
    const actor = actorOf(() => clock.advance(3), { clock })
    for (let n = 0; n < 9; n++) actor.tell(n)
    await actor.stop('drain')
    assert.equal(clock.yields(), 2)
  })

  it('is given back to others while two actors keep answering each other', async () => {
    const clock = testClock()
    const ping: Actor<number> = actorOf<number>((n) => n > 0 && pong.tell(n - 1), { clock })
    const pong: Actor<number> = actorOf<number>((n) => ping.tell(n), { clock })
    await ping.ask(200, 1_000)
    while (ping.queueDepth + pong.queueDepth > 0) await turn()
    await Promise.all([ping.stop('drain'), pong.stop('drain')])
    assert.ok(clock.yields() >= 4, `only ${clock.yields()} times`)
  })
})

type Step = 'tell' | 'ask' | 'run' | 'drain' | 'drop'
const steps = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom<Step[]>('tell', 'ask', 'run') },
    { weight: 1, arbitrary: fc.constantFrom<Step[]>('drain', 'drop') },
  ),
  { maxLength: 300, size: 'max' },
)

it('handles what it took in order, each message at most once, and after a drain exactly once', () =>
  fc.assert(
    fc.asyncProperty(steps, fc.boolean(), fc.integer({ min: 1, max: 90 }), play),
    seed() === undefined ? {} : { seed: seed() as number },
  ))

async function play(plan: readonly Step[], isAsync: boolean, queueMax: number): Promise<void> {
  const handled: number[] = []
  const taken: number[] = []
  const answers: Promise<unknown>[] = []
  const handle = (n: number) => {
    handled.push(n)
    return isAsync ? turn().then(() => n) : n
  }
  const actor = actorOf<number, number>(handle, { queueMax })
  let isDropped = false
  for (const [n, step] of plan.entries()) {
    if (step === 'run') await turn()
    else if (step === 'drain' || step === 'drop') {
      void actor.stop(step)
      isDropped ||= step === 'drop'
    } else if (actor.state !== 'running' || actor.queueDepth >= queueMax) {
      const refused = coded(
        actor.state === 'running' ? 'DROVER_ACTOR_FULL' : 'DROVER_ACTOR_STOPPED',
      )
      if (step === 'tell') assert.throws(() => actor.tell(n), refused)
      else await assert.rejects(actor.ask(n, 1_000), refused)
    } else {
      taken.push(n)
      if (step === 'tell') actor.tell(n)
      else answers.push(expectAnswer(actor.ask(n, 1_000), n, handled))
    }
  }
  await actor.stop('drain')
  await Promise.all(answers)
  assert.deepEqual(handled, taken.slice(0, handled.length)) // a drop takes from the end only
  if (!isDropped) assert.deepEqual(handled, taken)
}

async function expectAnswer(answer: Promise<number>, n: number, handled: number[]): Promise<void> {
  try {
    assert.equal(await answer, n)
    assert.ok(handled.includes(n))
  } catch (error) {
    assert.ok(coded('DROVER_ACTOR_STOPPED')(error), String(error))
    assert.ok(!handled.includes(n), 'a handled message was rejected')
  }
}

function actorOf<M, R = unknown>(
  handle: (message: M, self: Actor<M, R>) => R | Promise<R>,
  options: { queueMax?: number; clock?: Clock } = {},
): Actor<M, R> {
  return new Actor({ name: 'a', clock: testClock(), handle, ...options })
}

function coded(code: ActorError['code'], remedy?: ActorError['remedy']) {
  return (error: unknown) =>
    error instanceof ActorError && error.code === code && error.remedy === (remedy ?? error.remedy)
}

/** Lets all that is ready run. */
const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

function withResolvers<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => {}
  const promise = new Promise<T>((done) => {
    resolve = done
  })
  return { promise, resolve }
}

/** DROVER_SEED replays a failing run; fast-check prints the seed of each failure. */
function seed(): number | undefined {
  const given = process.env['DROVER_SEED']
  return given === undefined ? undefined : Number(given)
}

interface TestClock extends Clock {
  advance(ms: number): void
  yields(): number
  timers(): number
}

/** Time that moves by hand only. */
function testClock(): TestClock {
  let nowMs = 0
  let yields = 0
  const timers = new Set<{ atMs: number; callback: () => void }>()
  const after: Clock['after'] = (delayMs, callback) => {
    const timer = { atMs: nowMs + delayMs, callback }
    timers.add(timer)
    return () => timers.delete(timer)
  }
  return {
    now: () => nowMs,
    monotonic: () => nowMs,
    after,
    background: after,
    yield() {
      yields += 1
      return turn()
    },
    advance(ms) {
      nowMs += ms
      for (const timer of timers) if (timer.atMs <= nowMs && timers.delete(timer)) timer.callback()
    },
    yields: () => yields,
    timers: () => timers.size,
  }
}
