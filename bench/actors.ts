import { Bench } from 'tinybench'
import { Actor } from '../actors/actor.ts'
import { limits, systemClock } from '../mailbox/index.ts'
import { type Effort, type Family, type Figure, interleave, median, ratioOf } from './measure.ts'

const efforts = { full: 15, quick: 4 }

/** Between `tell` and the handler. CPU alone, so tinybench times it: one short run per contender and round. */
export async function measureActors(effort: Effort): Promise<Family> {
  const crowds = [
    { name: '1 actor', actors: 1, messagesEach: limits.actorQueueMax },
    { name: '10,000 actors', actors: 10_000, messagesEach: 10 },
    { name: '10,000 actors, one message each', actors: 10_000, messagesEach: 1 },
  ]
  const figures: Figure[] = []
  for (const { name, actors, messagesEach } of crowds)
    figures.push(...(await measureCrowd(effort, name, actors, messagesEach)))
  return {
    name: 'actor tell to handled',
    floor:
      'a bare promise chain per actor (`chain = chain.then(handle)`), all messages told at once; ratio of messages/s',
    figures,
  }
}

/** Tells all messages, and resolves once all are handled. */
type TellAll = () => Promise<void>

async function measureCrowd(
  effort: Effort,
  name: string,
  actors: number,
  messagesEach: number,
): Promise<readonly Figure[]> {
  const messages = actors * messagesEach
  const chains = () => perSecond(tellChains(actors, messagesEach), messages)
  const told = tellActors(actors, messagesEach) // made once: their queues are warm, as those of real ones
  const results = await interleave(
    { floor: chains, control: chains, actor: () => perSecond(told, messages) },
    efforts[effort],
  )
  const figure = (what: string, of: readonly number[], goal?: Figure['goal']): Figure => ({
    name: `${name}: ${what}`,
    value: median(of),
    unit: 'messages/s',
    ...(of !== results.floor && { ratio: ratioOf(of, results.floor) }),
    ...(goal && { goal }),
  })
  return [
    figure('promise chain', results.floor),
    figure('chain against itself (A/A)', results.control),
    figure('Actor.tell', results.actor, messagesEach > 1 ? { atLeast: 0.5 } : undefined),
  ]
}

async function perSecond(tellAll: TellAll, messages: number): Promise<number> {
  const bench = new Bench({ time: 60, iterations: 3, warmup: false, throws: true })
  bench.add('tell', tellAll)
  await bench.run()
  const result = bench.getTask('tell')?.result
  if (result === undefined || !('latency' in result)) throw new Error('tinybench has no result')
  return (messages * 1_000) / result.latency.p50
}

function tellActors(count: number, messagesEach: number): TellAll {
  const countdown = new Countdown()
  const handle = () => countdown.step()
  const actors = Array.from(
    { length: count },
    (_, i) => new Actor<number>({ name: `actor-${i}`, clock: systemClock, handle }),
  )
  return async () => {
    const done = countdown.from(count * messagesEach)
    for (let message = 0; message < messagesEach; message++)
      for (const actor of actors) actor.tell(message)
    await done
  }
}

function tellChains(count: number, messagesEach: number): TellAll {
  const countdown = new Countdown()
  const handle = () => countdown.step()
  const chains = Array.from({ length: count }, () => Promise.resolve())
  return async () => {
    const done = countdown.from(count * messagesEach)
    for (let message = 0; message < messagesEach; message++)
      for (let i = 0; i < count; i++) chains[i] = (chains[i] as Promise<void>).then(handle)
    await done
  }
}

class Countdown {
  #left = 0
  #resolve: () => void = () => {}

  from(count: number): Promise<void> {
    this.#left = count
    return new Promise((resolve) => {
      this.#resolve = resolve
    })
  }

  step(): void {
    if (--this.#left === 0) this.#resolve()
  }
}
