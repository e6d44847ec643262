import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { type Processes, systemProcesses } from '../mailbox/index.ts'
import { type BenchOptions, RunnerBench, until } from './testing/index.ts'

const wherever = [
  ['with layouts', {}],
  ['without layouts', { profile: '0.9.2', withoutLayout: true }],
] as const satisfies readonly (readonly [string, BenchOptions])[]

describe('where panes open', () => {
  it('is a tab of its own for the first, by an exact command, then the same tab, split, up to four', async (t) => {
    const b = await RunnerBench.during(t)
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
    const b = await RunnerBench.during(t)
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
    const b = await RunnerBench.during(t)
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
    const b = await RunnerBench.during(t)
    const moved = await b.herdr.person.move(b.own, 'new-workspace')
    assert.notEqual(moved.workspace_id, b.own.workspace_id)
    const { placement } = await b.start()
    assert.equal(placement.pane?.workspace, moved.workspace_id)
  })

  for (const [what, options] of wherever)
    it(`takes the focus from nobody (${what})`, async (t) => {
      const b = await RunnerBench.during(t, options)
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
      const b = await RunnerBench.during(t, options)
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
    const b = await RunnerBench.during(t)
    const place = await b.start()
    await b.herdr.person.close(place.placement.pane?.pane ?? '')
    await until(async () => (await b.runner.observe(place)) === 'lost')
    assert.equal(b.herdr.panes().length, 1)
    assert.equal(b.asked('layout.apply').length, 1)
  })

  it('is followed where its person moves it, and shown there', async (t) => {
    const b = await RunnerBench.during(t)
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
    const b = await RunnerBench.during(t)
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
    const b = await RunnerBench.during(t)
    const place = await b.start()
    await b.herdr.restart()
    await until(async () => (await b.runner.observe(place)) === 'lost')
    const before = b.herdr.panes().length
    assert.equal((await b.runner.stop(place, 'closed')).outcome, 'gone')
    assert.equal(b.herdr.panes().length, before)
    assert.deepEqual(b.asked('pane.close'), [])
  })

  it('is seen and ended by its process where the server is gone', async (t) => {
    const b = await RunnerBench.during(t)
    const order = b.order()
    const place = await b.placed(order)
    b.herdr.faults.on('*', { kind: 'drop' }, Number.POSITIVE_INFINITY)
    assert.equal(await b.runner.observe(place), 'live')
    assert.equal((await b.runner.stop(place, 'closed')).outcome, 'gone')
    assert.equal(await b.runner.observe(place), 'lost')
  })

  it('is unknown where its process lives and its pane holds another one', async (t) => {
    const b = await RunnerBench.during(t)
    const [one, other] = [await b.start(), await b.start()]
    const mixed = {
      ...one,
      placement: { ...one.placement, ...(other.placement.pane && { pane: other.placement.pane }) },
    }
    assert.equal(await b.runner.observe(mixed), 'unknown')
    assert.equal(await b.runner.observe(one), 'live')
  })

  it('is unknown where its process lives and no pane is listed for it', async (t) => {
    const b = await RunnerBench.during(t)
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
    const b = await RunnerBench.during(t)
    const { placement, ...place } = await b.start()
    const { pane, ...known } = placement
    const trace = { ...place, placement: known }
    assert.equal(await b.runner.observe(trace), 'live')
    assert.equal((await b.runner.stop(trace, 'closed')).outcome, 'gone')
    await until(() => b.herdr.panes().every(({ pane_id }) => pane_id !== pane?.pane))
  })

  it('shows its screen, and after it what it said on its error output', async (t) => {
    const b = await RunnerBench.during(t)
    const place = await b.start('console.log("on the screen"); console.error("in the log")')
    await until(async () => (await b.runner.capture(place)).lines.length === 2)
    assert.deepEqual((await b.runner.capture(place)).lines, ['on the screen', 'in the log'])
  })

  it('has a label and a mark in herdr, for the person alone', async (t) => {
    const b = await RunnerBench.during(t)
    const place = await b.start()
    const pane = () => b.herdr.panes().find(({ pane_id }) => pane_id === place.placement.pane?.pane)
    await until(() => pane()?.tokens?.['drover'] === 'scout')
    assert.equal(pane()?.label, 'scout')
  })
})

describe('the end of a delivered agent', () => {
  it('closes its pane', async (t) => {
    const b = await RunnerBench.during(t)
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
      const b = await RunnerBench.during(t, options)
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
    const b = await RunnerBench.during(t)
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
    const b = await RunnerBench.during(t, { processes: unmarked })
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
    const [here, elsewhere] = [await RunnerBench.during(t), await RunnerBench.during(t)]
    const place = await here.start()
    await elsewhere.start()
    assert.equal(await elsewhere.runner.observe(place), 'live')
    assert.equal((await elsewhere.runner.stop(place, 'closed')).outcome, 'gone')
    assert.equal(elsewhere.herdr.panes().length, 2)
  })

  for (const [what, options] of wherever)
    it(`whose starter died before it could say where it was is found by its mark (${what})`, async (t) => {
      const b = await RunnerBench.during(t, options)
      const { generation, paths, placement } = await b.start()
      const trace = { generation, paths, placement: { runner: placement.runner } }
      assert.equal((await b.runner.stop(trace, 'closed')).outcome, 'gone')
      await until(() => b.herdr.panes().length === 1)
    })

  it('and that was never begun leaves no shell that was opened for it', async (t) => {
    const b = await RunnerBench.during(t, { shell: '/bin/cat' })
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

describe('what it costs', () => {
  it('is nothing before there is an agent, and one stream from then on', async (t) => {
    const b = await RunnerBench.during(t)
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
    const b = await RunnerBench.during(t, { processes: { ...real, marked } })
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
