import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Bench } from 'tinybench'
import { Actor } from '../actors/actor.ts'
import { limits, systemClock } from '../mailbox/index.ts'
import { type Effort, type Family, type Figure, interleave, median, ratioOf } from './measure.ts'

const efforts = { full: 9, quick: 2 }

interface Crowd {
  readonly name: string
  readonly actors: number
  readonly messagesEach: number
  readonly handler: 'plain' | 'async'
  readonly goal?: Figure['goal']
}

const goal = { atLeast: 0.5 }
const crowds: readonly Crowd[] = [
  { name: '1 actor', actors: 1, messagesEach: limits.actorQueueMax, handler: 'plain', goal },
  { name: '1, async', actors: 1, messagesEach: limits.actorQueueMax, handler: 'async', goal },
  { name: '10,000 actors', actors: 10_000, messagesEach: 10, handler: 'plain', goal },
  { name: '10,000, async', actors: 10_000, messagesEach: 10, handler: 'async', goal },
  { name: '10,000 idle', actors: 10_000, messagesEach: 1, handler: 'plain' },
]

/** Between `tell` and the handler. CPU alone, so tinybench times it: one short run per contender and round. */
export async function measureActors(effort: Effort): Promise<Family> {
  const figures: Figure[] = []
  for (const crowd of crowds) figures.push(...(await measureCrowd(effort, crowd)))
  return {
    name: 'actor tell to handled: 10,000 messages to 1 actor, 10 to each of 10,000, 1 to each of 10,000',
    floor:
      'a bare promise chain per actor (`chain = chain.then(() => handle(message))`), all messages told at once, same handler; ratio of messages/s',
    figures,
  }
}

/** Tells all messages, and resolves once all are handled. */
type TellAll = () => Promise<void>

async function measureCrowd(effort: Effort, crowd: Crowd): Promise<readonly Figure[]> {
  const messages = crowd.actors * crowd.messagesEach
  const chains = () => perSecond(tellChains(crowd), messages)
  const told = tellActors(crowd) // made once: their queues are warm, as those of real ones
  const results = await interleave(
    { floor: chains, control: chains, actor: () => perSecond(told, messages) },
    efforts[effort],
  )
  const figure = (what: string, of: readonly number[]): Figure => ({
    name: `${crowd.name}: ${what}`,
    value: median(of),
    unit: 'messages/s',
    ...(of !== results.floor && { ratio: ratioOf(of, results.floor) }),
  })
  return [
    figure('promise chain', results.floor),
    figure('chain against itself (A/A)', results.control),
    { ...figure('Actor.tell', results.actor), ...(crowd.goal && { goal: crowd.goal }) },
  ]
}

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

async function perSecond(tellAll: TellAll, messages: number): Promise<number> {
  const bench = new Bench({ time: 40, iterations: 2, warmup: false, throws: true })
  bench.add('tell', tellAll)
  collectGarbage() // or a contender would pay for the one before it
  await bench.run()
  const result = bench.getTask('tell')?.result
  if (result === undefined || !('latency' in result)) throw new Error('tinybench has no result')
  return (messages * 1_000) / result.latency.p50
}

function tellActors({ actors: count, messagesEach, handler }: Crowd): TellAll {
  const countdown = new Countdown()
  const handle = countdown.handlers[handler]
  const actors = Array.from(
    { length: count },
    (_, i) => new Actor<number, void>({ name: `actor-${i}`, clock: systemClock, handle }),
  )
  return async () => {
    const done = countdown.from(count * messagesEach)
    for (let message = 0; message < messagesEach; message++)
      for (const actor of actors) actor.tell(message)
    await done
  }
}

function tellChains({ actors: count, messagesEach, handler }: Crowd): TellAll {
  const countdown = new Countdown()
  const handle = countdown.handlers[handler]
  const chains = Array.from({ length: count }, () => Promise.resolve())
  return async () => {
    const done = countdown.from(count * messagesEach)
    for (let message = 0; message < messagesEach; message++)
      for (let i = 0; i < count; i++)
        chains[i] = (chains[i] as Promise<void>).then(() => handle(message))
    await done
  }
}

class Countdown {
  /** What both sides do with a message: nothing that would hide the cost of its way here. */
  readonly handlers: Readonly<Record<Crowd['handler'], (message: number) => void | Promise<void>>> =
    {
      plain: (message) => this.#step(message),
      async: async (message) => this.#step(message),
    }
  #left = 0
  #sum = 0
  #resolve: () => void = () => {}

  from(count: number): Promise<void> {
    this.#left = count
    return new Promise((resolve) => {
      this.#resolve = resolve
    })
  }

  #step(message: number): void {
    this.#sum += message
    if (--this.#left === 0) this.#resolve()
  }
}
