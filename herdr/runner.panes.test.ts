import assert from 'node:assert/strict'
import { existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { generationVariable } from '../actors/index.ts'
import { type Processes, systemProcesses } from '../mailbox/index.ts'
import { type BenchOptions, RunnerBench, until } from './testing/index.ts'

async function bench(t: TestContext, options?: BenchOptions): Promise<RunnerBench> {
  const made = await RunnerBench.of(options)
  t.after(() => made.close())
  return made
}

const wherever = [
  ['with layouts', {}],
  ['without layouts', { profile: '0.9.2', withoutLayout: true }],
] as const satisfies readonly (readonly [string, BenchOptions])[]

describe('where panes open', () => {
  it('is a tab of its own for the first, by an exact command, then the same tab, split, up to four', async (t) => {
    const b = await bench(t)
    const places = []
    for (let count = 0; count < 5; count++) places.push(await b.start())
    const tabs = places.map(({ placement }) => placement.pane?.tab)
    assert.notEqual(tabs[0], b.own.tab_id)
    assert.deepEqual(new Set(tabs.slice(0, 4)).size, 1)
    assert.notEqual(tabs[4], tabs[0])
    assert.deepEqual(
      new Set(places.map(({ placement }) => placement.pane?.workspace)),
      new Set([b.own.workspace_id]),
    )
    assert.equal(b.asked('layout.apply').length, 2)
    assert.equal(b.asked('pane.send_input').length, 3)
    for (const { text } of b.asked('pane.send_input') as { text: string }[])
      assert.ok(Buffer.byteLength(text) < 200, text)
    assert.deepEqual(
      b.asked('pane.split').map(({ direction }) => direction),
      ['right', 'down', 'down'],
    )
  })

  it('counts the panes of the person, and never goes by what a tab is called', async (t) => {
    const b = await bench(t)
    const mine = await b.herdr.person.newTab(b.own.workspace_id)
    await b.client.request('pane.rename', { pane_id: b.own.pane_id, label: 'agents' })
    const first = await b.start()
    const tab = first.placement.pane?.tab
    assert.notEqual(tab, mine.tab_id)
    for (let count = 0; count < 3; count++)
      await b.herdr.person.split(first.placement.pane?.pane ?? '')
    const second = await b.start()
    assert.notEqual(second.placement.pane?.tab, tab)
  })

  it('is beside the owner where that is set, until its tab is full', async (t) => {
    const b = await bench(t)
    const places = []
    for (let count = 0; count < 4; count++) places.push(await b.start('', { placement: 'split' }))
    const tabs = places.map(({ placement }) => placement.pane?.tab)
    assert.deepEqual(tabs.slice(0, 3), Array(3).fill(b.own.tab_id))
    assert.notEqual(tabs[3], b.own.tab_id)
    const [first, second] = b.asked('pane.split')
    assert.deepEqual([first?.['target_pane_id'], first?.['direction']], [b.own.pane_id, 'right'])
    assert.deepEqual(
      [second?.['target_pane_id'], second?.['direction']],
      [places[0]?.placement.pane?.pane, 'down'],
    )
  })

  it('follows its owner to another workspace', async (t) => {
    const b = await bench(t)
    const moved = await b.herdr.person.move(b.own, 'new-workspace')
    assert.notEqual(moved.workspace_id, b.own.workspace_id)
    const { placement } = await b.start()
    assert.equal(placement.pane?.workspace, moved.workspace_id)
  })

  for (const [what, options] of wherever)
    it(`takes the focus from nobody (${what})`, async (t) => {
      const b = await bench(t, options)
      await b.herdr.person.focus(b.own)
      for (const placement of ['tab', 'tab', 'split'] as const) await b.start('', { placement })
      assert.deepEqual(
        b.herdr.panes().flatMap((pane) => (pane.focused ? [pane.pane_id] : [])),
        [b.own.pane_id],
      )
      for (const { method, params } of b.herdr.requests) {
        assert.ok(!method.endsWith('.focus'), method)
        assert.notEqual((params as { focus?: boolean }).focus, true, method)
      }
    })
})

describe('an agent in a pane', () => {
  for (const [what, options] of wherever)
    it(`has its own directory, its own environment and its pane's, and no shell above it (${what})`, async (t) => {
      const b = await bench(t, options)
      const odd = `it's "odd" $(x) \`y\`\nnext`
      const program = 'require("fs").writeFileSync("env", JSON.stringify(process.env))'
      const env = {
        ...process.env,
        ODD: odd,
        TERM: 'dumb',
        HERDR_PANE_ID: 'w9:p9',
        DROVER_AGENT: 'x',
      }
      const order = b.order(program)
      const { launch, ...rest } = order
      const generation = order.generation.identity.generation
      const place = await b.placed({
        ...rest,
        launch: (...of) => ({ ...launch(...of), env: { ...env, DROVER_AGENT: generation } }),
      })
      const seen = JSON.parse(readFileSync(join(place.paths.activity, 'env'), 'utf8'))
      assert.equal(seen.ODD, odd)
      assert.equal(seen.HERDR_PANE_ID, place.placement.pane?.pane)
      assert.equal(seen.HERDR_SOCKET_PATH, b.herdr.socketPath)
      assert.notEqual(seen.TERM, 'dumb')
      const { process_info: info } = await b.client.request('pane.process_info', {
        pane_id: place.placement.pane?.pane ?? '',
      })
      assert.equal(info.shell_pid, place.placement.process?.pid)
      assert.ok(!existsSync(join(place.paths.activity, 'launch.sh')))
    })

  it('is lost once its person closes the pane, and is not started again', async (t) => {
    const b = await bench(t)
    const place = await b.start()
    await b.herdr.person.close(place.placement.pane?.pane ?? '')
    await until(async () => (await b.runner.observe(place)) === 'lost')
    assert.equal(b.herdr.panes().length, 1)
    assert.equal(b.asked('layout.apply').length, 1)
  })

  it('is followed where its person moves it, and shown there', async (t) => {
    const b = await bench(t)
    const place = await b.start()
    const moved = await b.herdr.person.move(place.placement.pane?.pane ?? '', 'new-workspace')
    await until(
      async () =>
        (await b.runner.observe(place)) === 'live' &&
        b.runner.pane(place)?.workspace === moved.workspace_id,
    )
    assert.equal(b.runner.pane(place)?.pane, moved.pane_id)
    assert.equal(await b.runner.focus(place), 'focused')
    assert.ok(b.herdr.panes().find(({ pane_id }) => pane_id === moved.pane_id)?.focused)
    await b.runner.stop(place, 'closed')
    assert.ok(b.herdr.panes().every(({ pane_id }) => pane_id !== moved.pane_id))
  })

  it('lives on over a live handoff of the server, which gives it another terminal', async (t) => {
    const b = await bench(t)
    const [one, other] = [await b.start(), await b.start()]
    const end = b.runner.onChange(() => {})
    await b.herdr.handoff()
    for (const place of [one, other]) {
      await until(async () => {
        const presence = await b.runner.observe(place)
        assert.notEqual(presence, 'lost')
        return b.runner.pane(place)?.terminal !== place.placement.pane?.terminal
      })
      assert.equal(await b.runner.observe(place), 'live')
    }
    await b.runner.stop(one, 'closed')
    assert.deepEqual(
      b.herdr
        .panes()
        .map(({ pane_id }) => pane_id)
        .sort(),
      [b.own.pane_id, other.placement.pane?.pane].sort(),
    )
    end()
  })

  it('is lost when the server is started again, and what comes back in its place is left alone', async (t) => {
    const b = await bench(t)
    const place = await b.start()
    await b.herdr.restart()
    await until(async () => (await b.runner.observe(place)) === 'lost')
    const before = b.herdr.panes().length
    assert.equal((await b.runner.stop(place, 'closed')).outcome, 'gone')
    assert.equal(b.herdr.panes().length, before)
    assert.deepEqual(b.asked('pane.close'), [])
  })

  it('is seen and ended by its process where the server is gone', async (t) => {
    const b = await bench(t)
    const order = b.order()
    const place = await b.placed(order)
    b.herdr.faults.on('*', { kind: 'drop' }, Number.POSITIVE_INFINITY)
    assert.equal(await b.runner.observe(place), 'live')
    assert.equal((await b.runner.stop(place, 'closed')).outcome, 'gone')
    assert.equal(await b.runner.observe(place), 'lost')
  })

  it('is unknown where its process lives and its pane holds another one', async (t) => {
    const b = await bench(t)
    const [one, other] = [await b.start(), await b.start()]
    const mixed = {
      ...one,
      placement: { ...one.placement, ...(other.placement.pane && { pane: other.placement.pane }) },
    }
    assert.equal(await b.runner.observe(mixed), 'unknown')
    assert.equal(await b.runner.observe(one), 'live')
  })

  it('is unknown where its process lives and no pane is listed for it', async (t) => {
    const b = await bench(t)
    const place = await b.start()
    const pane = {
      workspace: 'w1',
      tab: 'w1:t9',
      pane: 'w1:p99',
      terminal: 'term_0',
      server: b.herdr.socketPath,
    }
    const elsewhere = { ...place, placement: { ...place.placement, pane } }
    assert.equal(await b.runner.observe(elsewhere), 'unknown')
    await assert.rejects(b.runner.focus(elsewhere), { code: 'pane_not_found' })
  })

  it('of which no record says where it was put is seen and ended by its process, and its pane goes with it', async (t) => {
    const b = await bench(t)
    const { placement, ...place } = await b.start()
    const { pane, ...known } = placement
    const trace = { ...place, placement: known }
    assert.equal(await b.runner.observe(trace), 'live')
    assert.equal((await b.runner.stop(trace, 'closed')).outcome, 'gone')
    await until(() => b.herdr.panes().every(({ pane_id }) => pane_id !== pane?.pane))
  })

  it('shows its screen, and after it what it said on its error output', async (t) => {
    const b = await bench(t)
    const place = await b.start('console.log("on the screen"); console.error("in the log")')
    await until(async () => (await b.runner.capture(place)).lines.length === 2)
    assert.deepEqual((await b.runner.capture(place)).lines, ['on the screen', 'in the log'])
  })

  it('has a label and a mark in herdr, for the person alone', async (t) => {
    const b = await bench(t)
    const place = await b.start()
    const pane = () => b.herdr.panes().find(({ pane_id }) => pane_id === place.placement.pane?.pane)
    await until(() => pane()?.tokens?.['drover'] === 'scout')
    assert.equal(pane()?.label, 'scout')
  })
})

describe('the end of a delivered agent', () => {
  it('closes its pane', async (t) => {
    const b = await bench(t)
    const place = await b.start()
    assert.equal((await b.runner.stop(place, 'delivered')).outcome, 'gone')
    assert.deepEqual(
      b.herdr.panes().map(({ pane_id }) => pane_id),
      [b.own.pane_id],
    )
  })

  for (const [why, options] of [
    ['its person is in it', {}],
    ['that is set', { keepsPanes: true }],
  ] as const)
    it(`leaves its pane where ${why}, but not when it is closed`, async (t) => {
      const b = await bench(t, options)
      const place = await b.start()
      if (!('keepsPanes' in options)) await b.herdr.person.focus(place.placement.pane?.pane ?? '')
      assert.deepEqual(await b.runner.stop(place, 'delivered'), { outcome: 'kept' })
      assert.equal(await b.runner.observe(place), 'live')
      assert.equal((await b.runner.stop(place, 'closed')).outcome, 'gone')
      assert.equal(b.herdr.panes().length, 1)
    })
})

describe('the end of an agent herdr says nothing of', () => {
  it('waits where its person may be in its pane, and keeps what is to be kept in any case', async (t) => {
    const b = await bench(t)
    const place = await b.start()
    b.herdr.faults.on('session.snapshot', { kind: 'drop' }, 2)
    assert.equal((await b.runner.stop(place, 'delivered')).outcome, 'unproven')
    assert.equal(await b.runner.observe(place), 'live')
    b.keepsPanes = true
    b.herdr.faults.on('session.snapshot', { kind: 'drop' }, 2)
    assert.equal((await b.runner.stop(place, 'delivered')).outcome, 'kept')
    b.herdr.faults.clear()
    b.keepsPanes = false
    assert.equal((await b.runner.stop(place, 'delivered')).outcome, 'gone')
  })

  it('and names no process is not taken for gone where processes bear no marks', async (t) => {
    const unmarked = { ...systemProcesses(), seesMarks: false, marked: () => [] }
    const b = await bench(t, { processes: unmarked })
    const { generation, paths, placement } = await b.start()
    const trace = { generation, paths, placement: { runner: 'herdr', pane: placement.pane } }
    await b.herdr.handoff()
    for (let looks = 0; looks < 3; looks++) {
      assert.equal(await b.runner.observe(trace), 'unknown')
      await new Promise((resolve) => setTimeout(resolve, 600))
    }
    b.herdr.faults.on('session.snapshot', { kind: 'drop' }, 2)
    assert.equal((await b.runner.stop(trace, 'closed')).outcome, 'unproven')
  })

  it('is found by its process from another herdr, which has panes of the same names', async (t) => {
    const [here, elsewhere] = [await bench(t), await bench(t)]
    const place = await here.start()
    await elsewhere.start()
    assert.equal(await elsewhere.runner.observe(place), 'live')
    assert.equal((await elsewhere.runner.stop(place, 'closed')).outcome, 'gone')
    assert.equal(elsewhere.herdr.panes().length, 2)
  })

  for (const [what, options] of wherever)
    it(`whose starter died before it could say where it was is found by its mark (${what})`, async (t) => {
      const b = await bench(t, options)
      const { generation, paths, placement } = await b.start()
      const trace = { generation, paths, placement: { runner: placement.runner } }
      assert.equal((await b.runner.stop(trace, 'closed')).outcome, 'gone')
      await until(() => b.herdr.panes().length === 1)
    })

  it('and that was never begun leaves no shell that was opened for it', async (t) => {
    const b = await bench(t, { shell: '/bin/cat' })
    const order = b.order('', { placement: 'split' })
    const limit = new AbortController()
    const started = b.runner.start({ ...order, signal: limit.signal }).catch(() => {})
    await until(() => b.herdr.panes().length === 2)
    const trace = { ...order, placement: { runner: 'herdr' } }
    assert.equal((await b.runner.stop(trace, 'closed')).outcome, 'gone')
    await until(() => b.herdr.panes().length === 1)
    limit.abort()
    await started
  })
})

describe('a start in bad surroundings', () => {
  const nothingIsLeft = (b: RunnerBench) =>
    until(() => b.herdr.panes().every(({ pane_id }) => pane_id === b.own.pane_id))

  it('is refused where HERDR_PANE_ID names a pane this process does not run in', async (t) => {
    const b = await bench(t)
    const foreign = await b.herdr.person.split(b.own)
    const runner = b.runnerIn(foreign.pane_id)
    await assert.rejects(runner.start(b.order()), { code: 'foreign_pane' })
    await assert.rejects(b.runnerIn('w7:p7').start(b.order()), { code: 'pane_not_found' })
  })

  it('in a directory that is not there is refused before a pane is opened', async (t) => {
    const b = await bench(t)
    await assert.rejects(b.runner.start(b.order('', { cwd: '/no/such/place' })), /does not exist/)
    assert.equal(b.herdr.panes().length, 1)
  })

  for (const placement of ['tab', 'split'] as const)
    it(`of a program that ends at once has its last words (${placement})`, async (t) => {
      const b = await bench(t)
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
    const b = await bench(t)
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
    const b = await bench(t, { withoutLayout: true })
    b.herdr.faults.swallowInputMs = 1_500
    const place = await b.start()
    assert.ok(b.asked('pane.send_input').length > 1)
    assert.equal(await b.runner.observe(place), 'live')
  })

  it('runs one agent where its line was taken and the answer was lost', async (t) => {
    const b = await bench(t, { withoutLayout: true })
    b.herdr.faults.on('pane.send_input', { kind: 'dropAfter' }, 3)
    const place = await b.start()
    assert.equal(await b.runner.observe(place), 'live')
    assert.equal(b.herdr.panes().length, 2)
  })

  it('does not type into the agent what it typed again for a shell that was only busy', async (t) => {
    const b = await bench(t, { withoutLayout: true, shell: '/bin/bash' })
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
    const b = await bench(t, { withoutLayout: true, shell: '/bin/cat' })
    const limit = new AbortController()
    const started = b.runner.start({ ...b.order(), signal: limit.signal })
    started.catch(() => {})
    await until(() => b.herdr.panes().length === 2)
    limit.abort(new Error('no more'))
    await assert.rejects(started, /no more/)
    await nothingIsLeft(b)
  })

  it('runs a program with an = in its path, and keeps its error output from others', async (t) => {
    const b = await bench(t)
    const command = join(b.directory, 'a=b')
    symlinkSync(process.execPath, command)
    const { paths } = await b.start('', { command })
    assert.equal(statSync(paths.errorLog).mode & 0o777, 0o600)
  })

  it('works where a terminal cuts what is longer than 1024 bytes', async (t) => {
    const b = await bench(t, { withoutLayout: true })
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
    const b = await bench(t)
    b.herdr.faults.on('layout.apply', { kind: 'dropAfter' })
    const order = b.order()
    await assert.rejects(b.runner.start(order), { outcome: 'unknown' })
    await nothingIsLeft(b)
    const value = order.generation.identity.generation
    assert.deepEqual(systemProcesses().marked({ variable: generationVariable, value }), [])
  })

  it('takes its pane back where the shell in it never runs the line', async (t) => {
    const b = await bench(t, { withoutLayout: true, shell: '/bin/cat' })
    b.herdr.faults.on('pane.send_input', { kind: 'error', code: 'pane_not_found' })
    await assert.rejects(b.runner.start(b.order()), { code: 'pane_not_found' })
    await nothingIsLeft(b)
  })
})

describe('what it costs', () => {
  it('is nothing before there is an agent, and one stream from then on', async (t) => {
    const b = await bench(t)
    const ends = [b.runner.onChange(() => {}), b.runner.onChange(() => {})]
    await b.client.request('session.snapshot', {})
    assert.deepEqual(
      b.herdr.requests.map(({ method }) => method),
      ['ping', 'session.snapshot'],
    )
    ends[0]?.()
    await b.start()
    await until(() => b.asked('events.subscribe').length > 0)
    assert.equal(b.asked('events.subscribe').length, 1)
    ends[1]?.()
    await until(() => b.herdr.connections === 0)
  })

  it('is one look at all processes in a turn of the event loop, however many agents end at once', async (t) => {
    let turn = 0
    const firstLooks = new Map<string, number>()
    const real = systemProcesses()
    const marked: Processes['marked'] = (mark) => {
      if (!firstLooks.has(mark.value)) firstLooks.set(mark.value, turn)
      return real.marked(mark)
    }
    const b = await bench(t, { processes: { ...real, marked } })
    const places = await Promise.all([b.start(), b.start(), b.start(), b.start()])
    for (const place of places) assert.equal(await b.runner.observe(place), 'live') // proves which pane is whose
    firstLooks.clear()
    let timer = setImmediate(function next() {
      turn++
      timer = setImmediate(next)
    })
    await Promise.all(places.map((place) => b.runner.stop(place, 'closed')))
    clearImmediate(timer)
    assert.equal(new Set(firstLooks.values()).size, places.length)
  })
})
