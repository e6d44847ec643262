import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { generationVariable } from '../actors/index.ts'
import { PaneStatus } from './pane-status.ts'
import { quickClock, RunnerBench, until } from './testing/index.ts'

async function shown(t: TestContext) {
  const bench = await RunnerBench.during(t)
  const order = bench.order()
  const env = {
    ...process.env,
    HERDR_AGENT: 'pi', // as which herdr takes what runs there
    [generationVariable]: order.generation.identity.generation,
  }
  const { launch, ...rest } = order
  const place = await bench.placed({ ...rest, launch: (...of) => ({ ...launch(...of), env }) })
  const paneId = place.placement.pane?.pane ?? ''
  const status = new PaneStatus(bench.client, quickClock(20), paneId)
  const pane = () => bench.herdr.panes().find(({ pane_id }) => pane_id === paneId)
  const seen = () => pane()?.agent_status
  await until(() => pane()?.agent === 'pi')
  return { bench, status, seen }
}

describe('what a pane shows of its agent', () => {
  it('is said again where a report, or the end of one, was answered and dropped', async (t) => {
    const { bench, status, seen } = await shown(t)
    bench.herdr.faults.on('pane.report_agent', { kind: 'lie' })
    status.show('waits')
    await until(() => seen() === 'blocked')
    assert.equal(bench.asked('pane.report_agent').length, 2)
    bench.herdr.faults.on('pane.release_agent', { kind: 'lie' })
    status.show(undefined)
    await until(() => seen() !== 'blocked')
    assert.equal(bench.asked('pane.release_agent').length, 2)
  })

  it('is the last that was wanted, however quickly that changed and whatever got lost', async (t) => {
    const { bench, status, seen } = await shown(t)
    bench.herdr.faults.on('pane.get', { kind: 'drop' })
    for (const wanted of ['waits', undefined, 'waits']) status.show(wanted)
    await until(() => seen() === 'blocked')
    for (const wanted of [undefined, 'waits', undefined]) status.show(wanted)
    await until(() => seen() !== 'blocked')
  })
})
