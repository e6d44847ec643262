import assert from 'node:assert/strict'
import { it } from 'node:test'
import { ask, exchange } from './fake-client.ts'
import { fact, Scene } from './fake-scene.ts'

const rename = (tab_id: string, label: string) =>
  [`tab.rename`, { tab_id, label }] as [string, object]

it('drops a request before or after it is carried out', async (t) => {
  const scene = await Scene.open(t)
  const { tab_id } = await scene.workspace()
  const { herdr } = scene
  const label = async () => {
    const { tab } = await scene.result<{ tab: { label: string } }>('tab.get', { tab_id })
    return tab.label
  }
  herdr.faults.on('tab.rename', { kind: 'drop' })
  herdr.faults.on('tab.rename', { kind: 'dropAfter' })
  assert.equal(await ask(herdr.socketPath, ...rename(tab_id, 'a')), undefined)
  assert.equal(await label(), '1')
  assert.equal(await ask(herdr.socketPath, ...rename(tab_id, 'b')), undefined)
  assert.equal(await label(), 'b')
  await scene.result(...rename(tab_id, 'c'))
})

it('cuts an answer in half, and sends one in pieces', async (t) => {
  const { herdr } = await Scene.open(t)
  const line = `${JSON.stringify({ id: 'x', method: 'ping', params: {} })}\n`
  const whole = await exchange(herdr.socketPath, line)
  herdr.faults.on('ping', { kind: 'cut' })
  herdr.faults.on('ping', { kind: 'split', bytes: 3 })
  assert.equal(await exchange(herdr.socketPath, line), whole.slice(0, whole.length >> 1))
  assert.equal(await exchange(herdr.socketPath, line), whole)
})

it('cuts the acknowledgement of a subscription, or sends all of it in pieces', async (t) => {
  const scene = await Scene.open(t)
  const { faults } = scene.herdr
  faults.on('events.subscribe', { kind: 'cut' })
  const cut = scene.listen('events.subscribe', { subscriptions: [] })
  await fact('it has ended', () => cut.hasEnded)
  assert.deepEqual(cut.lines, [])
  faults.on('events.subscribe', { kind: 'split' })
  const pieces = await scene.subscribe('tab.created')
  await scene.workspace()
  await fact('it has come', () => pieces.events.length === 1)
})

it('answers with an error, or late, or with a lie', async (t) => {
  const scene = await Scene.open(t)
  const { pane_id } = await scene.workspace()
  const { faults } = scene.herdr
  faults.on('pane.close', { kind: 'error', code: 'server_unavailable' })
  faults.on('pane.close', { kind: 'lie' })
  faults.on('*', { kind: 'delay', ms: 20 })
  faults.on('ping', { kind: 'delayAfter', ms: 20 })
  assert.equal(await scene.code('pane.close', { pane_id }), 'server_unavailable')
  assert.equal(await scene.code('pane.close', { pane_id }), undefined)
  const before = performance.now()
  assert.deepEqual(await scene.paneIds(), [pane_id])
  await scene.result('ping')
  assert.ok(performance.now() - before >= 35) // two delays, less the rounding of timers
})

it('never answers when silent', async (t) => {
  const scene = await Scene.open(t)
  scene.herdr.faults.on('ping', { kind: 'silent' })
  const listener = scene.listen('ping', {})
  await fact('it has arrived', () => scene.herdr.requests.length === 1)
  await scene.result('ping')
  assert.deepEqual([listener.lines, listener.hasEnded], [[], false])
})

it('lets a function decide what goes wrong with the nth request', async (t) => {
  const scene = await Scene.open(t)
  const code = 'server_unavailable'
  scene.herdr.faults.decide = (method, nth) =>
    method === 'ping' && nth === 2 ? { kind: 'error', code } : undefined
  const codes = [await scene.code('ping'), await scene.code('ping'), await scene.code('ping')]
  assert.deepEqual(codes, [undefined, code, undefined])
  scene.herdr.faults.clear()
})

it('lists a late pane late, and calls it busy till then', async (t) => {
  const scene = await Scene.open(t)
  scene.herdr.faults.latePanes = 60_000
  const { pane_id } = await scene.workspace()
  assert.deepEqual(await scene.paneIds(), [])
  const start = { name: 'a', kind: 'pi', pane_id }
  assert.equal(await scene.code('agent.start', start), 'agent_pane_busy')
  scene.herdr.faults.latePanes = 0
  assert.deepEqual(await scene.paneIds(), [pane_id])
})

it('swallows what is typed into a new shell, and cuts long texts', async (t) => {
  const scene = await Scene.open(t)
  const { pane_id } = await scene.workspace()
  const { faults } = scene.herdr
  const type = (text: string) => scene.result('pane.send_input', { pane_id, text })
  faults.swallowInputMs = 60_000
  await type('lost')
  faults.swallowInputMs = 0
  faults.inputBytesMax = 4
  await type('keptcut')
  await scene.shows(pane_id, 'kept')
  assert.doesNotMatch(scene.herdr.screen(pane_id), /lost|cut/)
})

it('drops one agent report, and answers ok', async (t) => {
  const scene = await Scene.open(t)
  const { pane_id } = await scene.workspace()
  scene.herdr.faults.dropFirstReport = true
  const report = { pane_id, source: 'x', agent: 'robot', state: 'working' }
  await scene.result('pane.report_agent', report)
  assert.equal((await scene.pane(pane_id)).agent_status, 'unknown')
  await scene.result('pane.report_agent', report)
  assert.equal((await scene.pane(pane_id)).agent_status, 'working')
})

it('shows an agent working for ever when statuses lie', async (t) => {
  const scene = await Scene.open(t)
  const { pane_id } = await scene.workspace()
  scene.herdr.faults.statusLies = true
  const report = { pane_id, source: 'x', agent: 'robot', state: 'idle' }
  await scene.result('pane.report_agent', report)
  assert.equal((await scene.agent(pane_id)).agent_status, 'working')
})

it('leaves a start pending for ever when it is stuck', async (t) => {
  const scene = await Scene.open(t, { launchReadyMs: 0 })
  const pane_id = await scene.shellWithPi()
  scene.herdr.faults.stuckPending = true
  await scene.result('agent.start', { name: 'a', kind: 'pi', pane_id })
  await fact('pi is seen', async () => (await scene.agent('a')).agent === 'pi')
  await scene.herdr.looked()
  assert.equal((await scene.agent('a')).launch_pending, true)
})

it('shows only what has scrolled off as recent, when told to', async (t) => {
  const scene = await Scene.open(t)
  await scene.workspace()
  const pane_id = await scene.run(['sh', '-c', 'echo here; read line'])
  await scene.shows(pane_id, 'here')
  scene.herdr.faults.recentWithoutScreen = true
  assert.equal((await scene.read(pane_id, 'recent')).text, '')
  assert.equal((await scene.read(pane_id, 'visible')).text, 'here')
})
