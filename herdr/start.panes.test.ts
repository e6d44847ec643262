import assert from 'node:assert/strict'
import { existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { generationVariable } from '../actors/index.ts'
import { systemProcesses } from '../mailbox/index.ts'
import { RunnerBench, until } from './testing/index.ts'

describe('a start in bad surroundings', () => {
  const nothingIsLeft = (b: RunnerBench) =>
    until(() => b.herdr.panes().every(({ pane_id }) => pane_id === b.own.pane_id))

  it('is refused where HERDR_PANE_ID names a pane this process does not run in', async (t) => {
    const b = await RunnerBench.during(t)
    const foreign = await b.herdr.person.split(b.own)
    const runner = b.runnerIn(foreign.pane_id)
    await assert.rejects(runner.start(b.order()), { code: 'foreign_pane' })
    await assert.rejects(b.runnerIn('w7:p7').start(b.order()), { code: 'pane_not_found' })
  })

  it('in a directory that is not there is refused before a pane is opened', async (t) => {
    const b = await RunnerBench.during(t)
    await assert.rejects(b.runner.start(b.order('', { cwd: '/no/such/place' })), /does not exist/)
    assert.equal(b.herdr.panes().length, 1)
  })

  for (const placement of ['tab', 'split'] as const)
    it(`of a program that ends at once has its last words (${placement})`, async (t) => {
      const b = await RunnerBench.during(t)
      const order = b.order('console.error("no licence"); process.exit(1)', { placement })
      const { generation, paths } = order
      const placed = await b.runner.start(order).catch(() => undefined)
      if (placed !== undefined)
        await until(
          async () => (await b.runner.observe({ generation, paths, placement: placed })) === 'lost',
        )
      assert.deepEqual((await b.runner.capture({ generation, paths })).lines, ['no licence'])
      await nothingIsLeft(b)
    })

  it('of a program that is not there says so in its last words', async (t) => {
    const b = await RunnerBench.during(t)
    const { launch, ...order } = b.order()
    const placed = await b.runner
      .start({ ...order, launch: (...of) => ({ ...launch(...of), command: '/no/such/program' }) })
      .catch(() => undefined)
    if (placed !== undefined)
      await until(async () => (await b.runner.observe({ ...order, placement: placed })) === 'lost')
    assert.match((await b.runner.capture(order)).lines.join('\n'), /no\/such\/program/)
    await nothingIsLeft(b)
  })

  it('types its line again where a shell lost it while it started, and runs one agent', async (t) => {
    const b = await RunnerBench.during(t, { withoutLayout: true })
    b.herdr.faults.swallowInputMs = 1_500
    const place = await b.start()
    assert.ok(b.asked('pane.send_input').length > 1)
    assert.equal(await b.runner.observe(place), 'live')
  })

  it('runs one agent where its line was taken and the answer was lost', async (t) => {
    const b = await RunnerBench.during(t, { withoutLayout: true })
    b.herdr.faults.on('pane.send_input', { kind: 'dropAfter' }, 3)
    const place = await b.start()
    assert.equal(await b.runner.observe(place), 'live')
    assert.equal(b.herdr.panes().length, 2)
  })

  it('does not type into the agent what it typed again for a shell that was only busy', async (t) => {
    const b = await RunnerBench.during(t, { withoutLayout: true, shell: '/bin/bash' })
    writeFileSync(
      join(b.directory, '.bashrc'),
      'end=$((SECONDS + 6)); while [ $SECONDS -lt $end ]; do :; done\n',
    )
    const place = await b.start(
      'process.stdin.on("data", (bytes) => require("fs").appendFileSync("heard", bytes))',
    )
    assert.ok(b.asked('pane.send_input').length > 1)
    await b.herdr.person.type(place.placement.pane?.pane ?? '', 'mine\r')
    const heard = join(place.paths.activity, 'heard')
    await until(() => existsSync(heard))
    assert.equal(readFileSync(heard, 'utf8'), 'mine\n')
  })

  it('is given up when it is not wanted any more, and takes its pane back', async (t) => {
    const b = await RunnerBench.during(t, { withoutLayout: true, shell: '/bin/cat' })
    const limit = new AbortController()
    const started = b.runner.start({ ...b.order(), signal: limit.signal })
    started.catch(() => {})
    await until(() => b.herdr.panes().length === 2)
    limit.abort(new Error('no more'))
    await assert.rejects(started, /no more/)
    await nothingIsLeft(b)
  })

  it('runs a program with an = in its path, and keeps its error output from others', async (t) => {
    const b = await RunnerBench.during(t)
    const command = join(b.directory, 'a=b')
    symlinkSync(process.execPath, command)
    const { paths } = await b.start('', { command })
    assert.equal(statSync(paths.errorLog).mode & 0o777, 0o600)
  })

  it('works where a terminal cuts what is longer than 1024 bytes', async (t) => {
    const b = await RunnerBench.during(t, { withoutLayout: true })
    b.herdr.faults.inputBytesMax = 1_024
    const long = { ...process.env, LONG: 'x'.repeat(5_000) }
    const { launch, ...order } = b.order()
    const mark = { DROVER_AGENT: order.generation.identity.generation }
    const place = await b.placed({
      ...order,
      launch: (...of) => ({ ...launch(...of), env: { ...long, ...mark } }),
    })
    assert.equal(await b.runner.observe(place), 'live')
  })

  it('does nothing later where the server gave no answer to it', async (t) => {
    const b = await RunnerBench.during(t)
    b.herdr.faults.on('layout.apply', { kind: 'dropAfter' })
    const order = b.order()
    await assert.rejects(b.runner.start(order), { outcome: 'unknown' })
    await nothingIsLeft(b)
    const value = order.generation.identity.generation
    assert.deepEqual(systemProcesses().marked({ variable: generationVariable, value }), [])
  })

  it('takes its pane back where the shell in it never runs the line', async (t) => {
    const b = await RunnerBench.during(t, { withoutLayout: true, shell: '/bin/cat' })
    b.herdr.faults.on('pane.send_input', { kind: 'error', code: 'pane_not_found' })
    await assert.rejects(b.runner.start(b.order()), { code: 'pane_not_found' })
    await nothingIsLeft(b)
  })
})
