import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { it } from 'node:test'
import { exchange } from './fake-client.ts'
import { fact, Scene } from './fake-scene.ts'

const profiles = ['0.8', '0.9.2'] as const
const line = (id: string, method: string, params?: object) =>
  `${JSON.stringify({ id, method, ...(params && { params }) })}\n`

it('answers one request of a connection, and ends it', async (t) => {
  const { herdr } = await Scene.open(t)
  const both = line('one', 'ping', {}) + line('two', 'ping', {})
  const received = await exchange(herdr.socketPath, both)
  assert.deepEqual(
    received
      .trim()
      .split('\n')
      .map((each) => JSON.parse(each).id),
    ['one'],
  )
})

it('keeps its socket for its owner alone', async (t) => {
  const { herdr } = await Scene.open(t)
  assert.equal(statSync(herdr.socketPath).mode & 0o777, 0o600)
})

for (const profile of profiles) {
  const [version, protocol] = profile === '0.8' ? ['0.8.0', 20] : ['0.9.2', 22]

  it(`says which version it plays (${profile})`, async (t) => {
    const pong = await (await Scene.open(t, { profile })).result('ping')
    assert.deepEqual([pong['version'], pong['protocol']], [version, protocol])
  })

  it(`refuses what it cannot read, with the id as its version has it (${profile})`, async (t) => {
    const { herdr } = await Scene.open(t, { profile })
    const kept = profile === '0.8' ? '' : 'x'
    const refused = async (bytes: string) => {
      const { id, error } = JSON.parse(await exchange(herdr.socketPath, bytes))
      return [id, error.code]
    }
    assert.deepEqual(await refused('nonsense\n'), ['', 'invalid_request'])
    assert.deepEqual(await refused(line('x', 'ping')), [kept, 'invalid_request'])
    assert.deepEqual(await refused(line('x', 'pane.get', {})), [kept, 'invalid_request'])
    assert.deepEqual(await refused(line('x', 'pane.get', { pane_id: 7 })), [
      kept,
      'invalid_request',
    ])
    assert.deepEqual(
      await refused(line('x', 'pane.juggle', {})),
      profile === '0.8' ? ['', 'invalid_request'] : ['x', 'unknown_method'],
    )
  })

  it(`names what is absent with its code and the id of the request (${profile})`, async (t) => {
    const scene = await Scene.open(t, { profile })
    const { id, error } = await scene.ask('pane.get', { pane_id: 'w1:p1' })
    assert.deepEqual([id, error?.code], ['pane.get', 'pane_not_found'])
  })
}

it('ignores fields it does not know, and takes null for absent', async (t) => {
  const scene = await Scene.open(t)
  await scene.workspace({ label: null, cwd: null, shiny: true })
  assert.deepEqual(await scene.paneIds(), ['w1:p1'])
})

it('closes a line over one mebibyte without an answer', async (t) => {
  const { herdr } = await Scene.open(t)
  const long = 'x'.repeat(1024 * 1024)
  assert.equal(await exchange(herdr.socketPath, line('x', 'ping', { long })), '')
  assert.deepEqual(herdr.requests, [])
})

it('takes a line that is nearly one mebibyte', async (t) => {
  const { herdr } = await Scene.open(t)
  const long = 'x'.repeat(1024 * 1024 - 100)
  assert.match(await exchange(herdr.socketPath, line('x', 'ping', { long })), /pong/)
})

it('ends long calls without an answer on any byte of the client', async (t) => {
  const scene = await Scene.open(t)
  const { pane_id } = await scene.workspace()
  const never = { pane_id, source: 'recent', match: { type: 'substring', value: 'never' } }
  const status = { event: 'pane_agent_status_changed', pane_id, agent_status: 'working' }
  const waits = [
    scene.listen('pane.wait_for_output', never),
    scene.listen('events.wait', { match_event: status }),
  ]
  const subscription = await scene.subscribe('pane.closed')
  await fact('all have arrived', () => scene.herdr.requests.length === 4)
  for (const each of [...waits, subscription]) each.say('x')
  await fact('all have ended', () => [...waits, subscription].every((each) => each.hasEnded))
  assert.deepEqual(
    waits.map(({ lines }) => lines),
    [[], []],
  )
})

it('ends long calls when the client ends its side', async (t) => {
  const scene = await Scene.open(t)
  const subscription = await scene.subscribe('pane.closed')
  subscription.halfClose()
  await fact('the subscription has ended', () => subscription.hasEnded)
})

it('says what it does not play, and what a server without layouts refuses', async (t) => {
  const scene = await Scene.open(t)
  assert.equal(await scene.code('worktree.list'), 'not_implemented')
  const other = await Scene.open(t, { profile: '0.9.2', withoutLayout: true })
  assert.equal(
    (await exchange(other.herdr.socketPath, line('x', 'ping', {}))).includes('"server":"tuios"'),
    true,
  )
  assert.equal(await other.code('layout.apply', { root: { type: 'pane' } }), 'unsupported')
  assert.equal(await other.code('workspace.create', { env: { A: '1' } }), 'unsupported')
  await other.workspace()
})

it('notifies nobody, as without a client', async (t) => {
  const scene = await Scene.open(t)
  const { reason } = await scene.result('notification.show', { title: 'hello' })
  assert.equal(reason, 'no_foreground_client')
})
