import { it } from 'node:test'
import fc from 'fast-check'
import { fates, ownShare, runBeside, Simulation, type Step, seed } from './testing/index.ts'

/** Runs in all; `DROVER_RUNS` changes it. */
const runs = Number(process.env['DROVER_RUNS'] ?? 10_000)
const processes = 2

const window = fc.nat(1)
const agent = fc.nat(1)
const operations = fc.nat(60)

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .constantFrom(0, 5, 30, 101, 400, 1_000, 6_000, 11_000, 31_000)
      .map((ms): Step => ({ do: 'wait', ms })),
  },
  {
    weight: 4,
    arbitrary: fc
      .constantFrom(...Object.keys(fates))
      .map((fate): Step => ({ do: 'delegate', fate })),
  },
  { weight: 2, arbitrary: agent.map((n): Step => ({ do: 'close', agent: n })) },
  { weight: 1, arbitrary: agent.map((n): Step => ({ do: 'kill-agent', agent: n })) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(agent, operations)
      .map(([n, after]): Step => ({ do: 'crash-agent', agent: n, after })),
  },
  { weight: 1, arbitrary: window.map((n): Step => ({ do: 'kill-owner', window: n })) },
  {
    weight: 3,
    arbitrary: fc
      .tuple(window, operations)
      .map(([n, after]): Step => ({ do: 'crash-owner', window: n, after })),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(window, operations, fc.boolean())
      .map(([n, after, full]): Step => ({ do: 'fault', window: n, after, full })),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.constantFrom('quit', 'reload'), window)
      .map(([what, n]): Step => ({ do: what, window: n })),
  },
  { weight: 3, arbitrary: fc.constant<Step>({ do: 'open' }) },
  {
    weight: 3,
    arbitrary: fc
      .tuple(fc.constantFrom('busy', 'idle', 'escape'), window)
      .map(([what, n]): Step => ({ do: what, window: n })),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(window, fc.constantFrom('dropped', 'model-error', 'dies-before', 'dies-after'))
      .map(([n, fate]): Step => ({ do: 'next-send', window: n, fate })),
  },
)

interface Share {
  readonly seed: number
  readonly numRuns: number
}

const share = ownShare<Share>()
if (share !== undefined) await model(share)
else
  it(`nothing is lost, told twice or left behind, whatever happens to an owner and its agents (${runs} runs)`, () =>
    runBeside(
      import.meta.url,
      Array.from({ length: processes }, (_, n) => ({
        seed: seed() + n,
        numRuns: Math.ceil(runs / processes),
      })),
    ))

function model(share: Share): Promise<void> {
  return fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 11, size: 'max' }), async (steps) => {
      await new Simulation().play([{ do: 'delegate', fate: 'quick' }, ...steps])
    }),
    { ...share, includeErrorInReport: true },
  )
}
