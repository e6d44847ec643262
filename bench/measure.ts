/** How much time to spend. `quick` finds a broken benchmark, `full` is for figures worth quoting. */
export type Effort = 'quick' | 'full'

/** What a family of benchmarks found out, and in words what it was held against. */
export interface Family {
  readonly name: string
  readonly floor: string
  readonly figures: readonly Figure[]
}

export interface Figure {
  readonly name: string
  /** The median over the rounds. */
  readonly value: number
  readonly unit: Unit
  readonly latency?: Latency
  /** To the floor of its family; absent for what is itself a floor. */
  readonly ratio?: Ratio
  /** Of the ratio, or of the value where there is none. */
  readonly goal?: Goal
}

type Unit =
  | 'records/s'
  | 'messages/s'
  | 'requests/s'
  | 'requests'
  | 'connections'
  | 'left'
  | 'us'
  | 'ms'
  | 'ms/s'
  | 'MB'

export interface Latency {
  readonly p50Us: number
  readonly p99Us: number
}

/** Each round against the floor of the same round. The quartiles say how noisy the median is. */
export interface Ratio {
  readonly median: number
  readonly lowQuartile: number
  readonly highQuartile: number
  readonly rounds: readonly number[]
}

type Goal = { readonly atLeast: number } | { readonly atMost: number }

export function isMet({ goal, ratio, value }: Figure): boolean | undefined {
  if (goal === undefined) return undefined
  const judged = ratio?.median ?? value
  return 'atLeast' in goal ? judged >= goal.atLeast : judged <= goal.atMost
}

/**
 * Lets every contender do one round after the other, so that a drift of the machine hits all of them alike.
 *
 * The order turns and is mirrored from round to round: nobody always follows the same neighbour. A fifth of the rounds
 * is done before the first that counts: cold code is not what is asked about.
 */
export async function interleave<Name extends string, Round>(
  contenders: Readonly<Record<Name, () => Promise<Round>>>,
  rounds: number,
): Promise<Record<Name, Round[]>> {
  const names = Object.keys(contenders) as Name[]
  const results = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<
    Name,
    Round[]
  >
  const warmUp = Math.ceil(rounds / 4)
  for (let round = 0; round < warmUp + rounds; round++)
    for (const name of turned(names, round)) {
      const result = await contenders[name]()
      if (round >= warmUp) results[name].push(result)
    }
  return results
}

function turned<T>(all: readonly T[], by: number): readonly T[] {
  const start = by % all.length
  const order = [...all.slice(start), ...all.slice(0, start)]
  return by % 2 === 0 ? order : order.reverse()
}

/** Compares round by round: `ours` over `floor`. */
export function ratioOf(ours: readonly number[], floor: readonly number[]): Ratio {
  const rounds = ours.map((value, round) => value / (floor[round] ?? Number.NaN))
  return {
    median: median(rounds),
    lowQuartile: quantile(rounds, 0.25),
    highQuartile: quantile(rounds, 0.75),
    rounds,
  }
}

export function latencyOf(samplesUs: readonly number[]): Latency {
  return { p50Us: median(samplesUs), p99Us: quantile(samplesUs, 0.99) }
}

export const median = (values: readonly number[]): number => quantile(values, 0.5)

function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  const place = (sorted.length - 1) * part
  const below = sorted[Math.floor(place)] ?? Number.NaN
  const above = sorted[Math.ceil(place)] ?? Number.NaN
  return below + (above - below) * (place % 1)
}
