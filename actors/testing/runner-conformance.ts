import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { limits } from '../../mailbox/index.ts'
import type { AgentPlace, AgentRunner, StartOrder } from '../index.ts'

/** What the process of an agent in this suite does. `chatty`: it says more than a capture may hold, then waits. */
export type Conduct = 'waits' | 'chatty' | 'ignores-term' | 'with-commands' | 'cannot-start'

/** One runner, and a world to run it in. */
export interface RunnerHarness<Launch> {
  readonly runner: AgentRunner<Launch>
  /** What an agent `with-commands` runs; undefined where this platform cannot tell what a process runs. */
  readonly command: string | undefined
  /** An order for a new agent of its own generation. */
  order(conduct: Conduct): StartOrder<Launch>
  /** Ends a process from outside, as a person does. */
  kill(place: AgentPlace): void
  /** Waits for a promise, letting time pass. */
  run<T>(promise: Promise<T>): Promise<T>
  /** Waits for a fact, letting time pass. */
  until(isTrue: () => Promise<boolean>): Promise<void>
  /** Ends whatever is left. */
  close(): Promise<void>
}

/** What every `AgentRunner` promises. */
export function runnerConformance<Launch>(
  name: string,
  makeRunner: () => Promise<RunnerHarness<Launch>>,
): void {
  const test = (sentence: string, body: (harness: RunnerHarness<Launch>) => Promise<void>): void =>
    void it(sentence, async () => {
      const harness = await makeRunner()
      try {
        await body(harness)
      } finally {
        await harness.close()
      }
    })

  describe(`the ${name} runner`, () => {
    test('says where it put an agent, under its own name, and sees it live', async (harness) => {
      const place = await start(harness)
      assert.equal(place.placement.runner, harness.runner.name)
      assert.equal(await harness.runner.observe(place), 'live')
      assert.equal(await harness.runner.observe(place), 'live')
    })

    test('throws where nothing could be started, and says why', async (harness) => {
      const started = harness.run(harness.runner.start(harness.order('cannot-start')))
      await assert.rejects(started, ({ message }: Error) => message.length > 0)
    })

    test('proves an agent gone by stopping it, and says the same when it is asked again', async (harness) => {
      const place = await start(harness)
      const stopped = await harness.run(harness.runner.stop(place, 'closed'))
      assert.equal(stopped.outcome, 'gone')
      assert.equal(await harness.runner.observe(place), 'lost')
      const again = await harness.run(harness.runner.stop(place, 'closed'))
      assert.deepEqual(again, { outcome: 'gone', ended: [] })
      assert.equal(await harness.runner.observe(place), 'lost')
    })

    test('ends by force what does not end when asked', async (harness) => {
      const place = await start(harness, 'ignores-term')
      assert.equal((await harness.run(harness.runner.stop(place, 'closed'))).outcome, 'gone')
      assert.equal(await harness.runner.observe(place), 'lost')
    })

    test('ends what an agent started together with it', async (harness) => {
      const place = await start(harness, 'with-commands')
      const { runner } = harness
      await harness.until(async () => (await runner.processes(place)).length > 1)
      await harness.run(runner.stop(place, 'closed'))
      assert.deepEqual(await runner.processes(place), [])
    })

    test('says what an agent runs, as far as that can be told', async (harness) => {
      const { runner, command } = harness
      const place = await start(harness, 'with-commands')
      const below = async () =>
        (await runner.processes(place)).filter(({ pid }) => pid !== place.placement.process?.pid)
      await harness.until(async () => (await below()).some((each) => each.command === command))
      if (command === undefined)
        for (const each of await below()) assert.ok(!('command' in each), 'absent, not undefined')
    })

    test('calls an agent lost whose process has ended, and nothing else', async (harness) => {
      const [one, other] = [await start(harness), await start(harness)]
      harness.kill(one)
      await harness.until(async () => (await harness.runner.observe(one)) === 'lost')
      assert.equal(await harness.runner.observe(other), 'live')
    })

    test('calls the process of another machine or namespace unknown and leaves it alone', async (harness) => {
      const { runner } = harness
      const place = await start(harness)
      for (const elsewhere of [{ namespace: 'pid:[another]' }, { host: 'another machine' }]) {
        const seen = elsewhereOf(place, elsewhere)
        assert.equal(await runner.observe(seen), 'unknown')
        assert.equal((await harness.run(runner.stop(seen, 'closed'))).outcome, 'unproven')
      }
      assert.equal(await runner.observe(place), 'live')
    })

    test('takes the process that has an old pid now for no agent, and signals nothing', async (harness) => {
      const { runner } = harness
      const [old, other] = [await start(harness), await start(harness)]
      await harness.run(runner.stop(old, 'closed'))
      const { process } = other.placement
      const reused: AgentPlace = {
        ...old,
        placement: {
          ...other.placement,
          ...(process && { process: { ...process, started: '0' } }),
        },
      }
      assert.equal(await runner.observe(reused), 'lost')
      assert.deepEqual(await harness.run(runner.stop(reused, 'closed')), {
        outcome: 'gone',
        ended: [],
      })
      assert.equal(await runner.observe(other), 'live')
    })

    test('calls a process of another boot lost without a signal', async (harness) => {
      const { runner } = harness
      const place = await start(harness)
      const before = elsewhereOf(place, { boot: 'the boot before' })
      assert.equal(await runner.observe(before), 'lost')
      assert.equal(await runner.observe(place), 'live')
    })

    test('shows the end of what an agent said, within its limits', async (harness) => {
      const { runner } = harness
      const place = await start(harness, 'chatty')
      await harness.until(async () => (await runner.capture(place)).truncated)
      const { lines } = await runner.capture(place)
      assert.ok(lines.length > 0 && lines.length <= limits.captureLinesMax)
      assert.ok(Buffer.byteLength(lines.join('\n')) <= limits.captureBytesMax)
    })

    test('shows nothing of an agent that said nothing', async (harness) => {
      const place = await start(harness)
      const { lines, truncated } = await harness.runner.capture(place)
      assert.equal(lines.join('').trim(), '')
      assert.equal(truncated, false)
    })

    test('calls back when an agent ends, and not after the end of the subscription', async (harness) => {
      const { runner } = harness
      const calls = { kept: 0, ended: 0 }
      const ends = [runner.onChange(() => calls.kept++), runner.onChange(() => calls.ended++)]
      const [one, other] = [await start(harness), await start(harness)]
      harness.kill(one)
      await harness.until(async () => calls.kept > 0 && calls.ended > 0)
      ends[1]?.()
      const before = { ...calls }
      harness.kill(other)
      await harness.until(async () => calls.kept > before.kept)
      assert.equal(calls.ended, before.ended)
      ends[0]?.()
    })
  })
}

async function start<Launch>(
  { runner, order, run }: RunnerHarness<Launch>,
  conduct: Conduct = 'waits',
): Promise<AgentPlace> {
  const ordered = order(conduct)
  const { generation, paths } = ordered
  return { generation, paths, placement: await run(runner.start(ordered)) }
}

function elsewhereOf(
  place: AgentPlace,
  other: { readonly host?: string; readonly boot?: string; readonly namespace?: string },
): AgentPlace {
  const { process } = place.placement
  assert.ok(process !== undefined, 'this runner names no process')
  return { ...place, placement: { ...place.placement, process: { ...process, ...other } } }
}
