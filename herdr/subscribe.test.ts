import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { systemClock } from '../mailbox/index.ts'
import { HerdrClient } from './client.ts'
import type { HerdrError } from './errors.ts'
import type { HerdrEvent } from './records.ts'
import { verdict } from './testing/failure.ts'
import { fact } from './testing/fake-scene.ts'
import { HandClock } from './testing/hand-clock.ts'
import { type Conduct, RawServer, say, sends } from './testing/raw-server.ts'

async function open(t: TestContext, conduct: Record<string, Conduct> = {}) {
  const server = await RawServer.open(t, conduct)
  return { server, client: new HerdrClient(server.socketPath, systemClock) }
}

describe('a stream of events', () => {
  const exited = {
    event: 'pane_exited',
    data: { type: 'pane_exited', pane_id: 'p', workspace_id: 'w' },
  }
  const seen = { kind: 'pane.exited', pane_id: 'p', workspace_id: 'w' }

  async function stream(t: TestContext, conduct: (server: RawServer) => Conduct) {
    const { server, client } = await open(t)
    server.conduct['events.subscribe'] = conduct(server)
    const events: HerdrEvent[] = []
    const ends: string[] = []
    const close = await client.subscribe(
      [{ type: 'pane.exited' }],
      (event) => events.push(event),
      ({ code }) => ends.push(code),
    )
    return { server, client, events, ends, close }
  }

  it('gives events in one form, from the same chunk as the agreement on', async (t) => {
    const status = { event: 'pane.agent_status_changed', data: { pane_id: 'q', agent: 7 } }
    const { server, events, ends } = await stream(t, () => (socket) => {
      const lines = [{ id: 'x', result: { type: 'subscription_started' } }, exited, status]
      socket.write(lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
    })
    await fact('both came', () => events.length === 2)
    assert.deepEqual(events, [seen, { kind: 'pane.agent_status_changed', pane_id: 'q' }])
    assert.deepEqual([ends, server.breaches], [[], []])
  })

  it('passes over what it does not understand', async (t) => {
    const { server, events, ends } = await stream(t, ({ subscribes }) => subscribes)
    const socket = server.streams[0] ?? assert.fail()
    say(socket, { heartbeat: 1 })
    say(socket, { event: 'thing.new', data: [] })
    say(socket, exited)
    await fact('the known one came', () => events.at(-1)?.pane_id === 'p')
    assert.deepEqual(
      events.map(({ kind }) => kind),
      ['thing.new', 'pane.exited'],
    )
    assert.deepEqual(ends, [])
  })

  const endings: Record<string, [string, string]> = {
    'the server hangs up': ['', 'no_answer'],
    'it hangs up in the middle of an event': ['{"event":"pane_ex', 'no_answer'],
    'events were lost': [
      '{"id":"d","error":{"code":"events_lost","message":"slow"}}\n',
      'events_lost',
    ],
    'garbage comes': ['}\n', 'invalid_response'],
    'another protocol breaks in': ['{"jsonrpc":"2.0"}\n', 'foreign_server'],
  }
  for (const [name, [bytes, code]] of Object.entries(endings))
    it(`ends once, with ${code}, when ${name}`, async (t) => {
      const { server, events, ends } = await stream(t, ({ subscribes }) => subscribes)
      server.streams[0]?.end(bytes.endsWith('\n') ? `${bytes}${JSON.stringify(exited)}\n` : bytes)
      await fact('it ended', () => ends.length > 0 && server.connections === 0)
      assert.deepEqual([ends, events], [[code], []])
    })

  it('tells nothing any more once it is closed', async (t) => {
    const { server, events, ends, close } = await stream(t, ({ subscribes }) => subscribes)
    const socket = server.streams[0] ?? assert.fail()
    say(socket, exited)
    close()
    await fact('it has hung up', () => server.connections === 0)
    assert.deepEqual([events, ends], [[], []])
  })

  it('can be closed by what it tells, and tells nothing more even of the same chunk', async (t) => {
    const { server, client } = await open(t)
    server.conduct['events.subscribe'] = server.subscribes
    let told = 0
    const close = await client.subscribe(
      [],
      () => {
        told++
        close()
      },
      () => assert.fail('it ended by itself'),
    )
    const line = `${JSON.stringify(exited)}\n`
    server.streams[0]?.write(line + line + line)
    await fact('it has hung up', () => server.connections === 0)
    assert.equal(told, 1)
  })

  it('is not opened when the server refuses, hangs up, or answers something else', async (t) => {
    const answersOf: Record<string, string> = {
      'pane_not_found, refused': '{"id":"d:sub:1:probe","error":{"code":"pane_not_found"}}\n',
      'no_answer, unknown': '',
      'invalid_response, unknown': '{"result":{"type":"ok"}}\n',
    }
    for (const [expected, bytes] of Object.entries(answersOf)) {
      const { client } = await open(t, { 'events.subscribe': sends(bytes) })
      const never = () => assert.fail('told something')
      assert.equal(await verdict(client.subscribe([], never, never)), expected)
    }
  })

  it('may stay silent for ever, once the server has agreed', async (t) => {
    const clock = new HandClock()
    const server = await RawServer.open(t)
    server.conduct['events.subscribe'] = server.subscribes
    const ends: HerdrError[] = []
    const client = new HerdrClient(server.socketPath, clock)
    const close = await client.subscribe(
      [],
      () => {},
      (error) => ends.push(error),
    )
    await clock.pass(60_000)
    assert.deepEqual([ends, clock.pending, server.streams.length], [[], 0, 1])
    close()
  })
})
