import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { systemClock } from '../mailbox/index.ts'
import { HerdrClient } from './client.ts'
import { failure, verdict } from './testing/failure.ts'
import { fact } from './testing/fake-scene.ts'
import { HandClock } from './testing/hand-clock.ts'
import { answers, type Conduct, pong, RawServer, sends } from './testing/raw-server.ts'

const pane = { pane_id: 'w1:p1', terminal_id: 'term_1', workspace_id: 'w1', tab_id: 'w1:t1' }
const paneInfo = { ...pane, focused: false }
const found = { type: 'pane_info', pane: { ...pane, tab_id: 'Größe 🦆', label: 'more' } }

async function open(t: TestContext, conduct: Record<string, Conduct> = {}) {
  const server = await RawServer.open(t, conduct)
  return { server, client: new HerdrClient(server.socketPath, systemClock) }
}

const get = (client: HerdrClient) => client.request('pane.get', { pane_id: 'w1:p1' })

describe('a request', () => {
  it('is one line on its own connection, and gets what Drover reads of the answer', async (t) => {
    const { server, client } = await open(t, { 'pane.get': answers({ ...found, more: [1] }) })
    assert.deepEqual(await get(client), { pane: { ...paneInfo, tab_id: 'Größe 🦆' } })
    const { id, ...asked } = server.asked[1] ?? assert.fail()
    assert.equal(typeof id, 'string')
    assert.deepEqual(asked, { method: 'pane.get', params: { pane_id: 'w1:p1' } })
    await fact('the connection is closed', () => server.connections === 0)
  })

  it('reads an answer cut anywhere, also inside a character', async (t) => {
    const bytes = Buffer.from(`${JSON.stringify({ id: '', result: found })}\n`)
    const { client } = await open(t, {
      'pane.get': async (socket) => {
        for (const byte of bytes) {
          socket.write(Uint8Array.of(byte))
          await new Promise((resolve) => setImmediate(resolve))
        }
        socket.end()
      },
    })
    assert.equal((await get(client)).pane.tab_id, 'Größe 🦆')
  })

  it('takes an answer without an id, one with nulls, with unknown words, and what comes after it', async (t) => {
    const answer = { result: { pane: { ...pane, cwd: null, tokens: null, agent_status: 'new' } } }
    const { client } = await open(t, {
      'pane.get': sends(`${JSON.stringify(answer)}\n{"id":"x","result":{}}\nrest`),
    })
    assert.deepEqual(await get(client), { pane: paneInfo })
  })

  it('never ends its side while the server has not answered', async (t) => {
    let held: (() => void) | undefined
    const { server, client } = await open(t, {
      'pane.get': (...asked) => {
        held = () => answers(found)(...asked)
      },
    })
    const call = get(client)
    const answer = await fact('it was asked', () => held)
    await new Promise((resolve) => setImmediate(resolve))
    assert.deepEqual(server.breaches, [])
    answer()
    await call
  })

  it('carries the code of the server, known or not, and says what was asked', async (t) => {
    const { client } = await open(t, {
      'pane.get': sends(
        '{"id":"","error":{"code":"pane_not_found","message":"no\\u001b[2J pane"}}\n',
      ),
      'pane.close': sends('{"id":"","error":{"code":"brand_new"}}\n'),
    })
    const error = await failure(get(client))
    assert.equal(
      `${error.code} ${error.method} ${error.outcome}`,
      'pane_not_found pane.get refused',
    )
    assert.equal(error.message, 'herdr refused pane.get: no [2J pane (pane_not_found)')
    assert.equal(
      await verdict(client.request('pane.close', { pane_id: 'p' })),
      'brand_new, refused',
    )
  })

  it('knows nothing of what was done when the server gave up on itself', async (t) => {
    for (const code of ['server_unavailable', 'internal_error', 'timeout']) {
      const { client } = await open(t, { 'pane.get': sends(`{"error":{"code":"${code}"}}\n`) })
      assert.equal(await verdict(get(client)), `${code}, unknown`)
    }
  })

  const odd: Record<string, [string | Uint8Array, string]> = {
    'no bytes': ['', 'no_answer, unknown'],
    'half an answer': ['{"id":"d","result":{"type":"pane_in', 'no_answer, unknown'],
    'a whole answer without its end': [JSON.stringify({ result: found }), 'no_answer, unknown'],
    garbage: ['\u0000\u0001{]\n', 'invalid_response, unknown'],
    'a pane named in bytes that are no UTF-8': [
      Buffer.from(
        `${JSON.stringify({ result: { pane: { ...pane, label: '\u00ff' } } })}\n`,
        'latin1',
      ),
      'invalid_response, unknown',
    ],
    'an empty line': ['\n', 'invalid_response, unknown'],
    'a list': ['[]\n', 'invalid_response, unknown'],
    null: ['null\n', 'invalid_response, unknown'],
    'an empty object': ['{}\n', 'invalid_response, unknown'],
    'a result of another method': ['{"result":{"type":"ok"}}\n', 'invalid_response, unknown'],
    'a pane without a terminal': [
      JSON.stringify({ result: { pane: { ...pane, terminal_id: '' } } }).concat('\n'),
      'invalid_response, unknown',
    ],
    'an error without a code': ['{"error":"no"}\n', 'invalid_response, unknown'],
    'lists without end': [
      `${'['.repeat(100_000)}${']'.repeat(100_000)}\n`,
      'invalid_response, unknown',
    ],
    'a JSON-RPC result': ['{"jsonrpc":"2.0","id":1,"result":{}}\n', 'foreign_server, unknown'],
    'a JSON-RPC error': ['{"jsonrpc":"2.0","error":{"code":-32601}}\n', 'foreign_server, refused'],
    'a numeric code': ['{"error":{"code":4,"message":"no"}}\n', 'foreign_server, refused'],
    HTTP: ['HTTP/1.1 400 Bad Request\r\n\r\n', 'invalid_response, unknown'],
  }
  for (const [name, [bytes, expected]] of Object.entries(odd))
    it(`ends in ${expected} after ${name}`, async (t) => {
      const { client } = await open(t, { 'pane.get': sends(bytes) })
      assert.equal(await verdict(get(client)), expected)
    })

  it('is not sent when it is longer than a herdr reads', async (t) => {
    const { server, client } = await open(t)
    const text = 'ä'.repeat(600_000)
    const call = client.request('pane.send_input', { pane_id: 'w1:p1', text, keys: [] })
    assert.equal(await verdict(call), 'request_too_long, refused')
    assert.deepEqual(server.methods, ['ping'])
  })

  it('says that nothing runs, and that nothing was done', async (t) => {
    const { server, client } = await open(t)
    assert.equal(
      await verdict(new HerdrClient('/nowhere/s', systemClock).server()),
      'not_running, refused',
    )
    await client.server()
    await server.stop()
    const error = await failure(get(client))
    assert.equal(`${error.code} ${error.method} ${error.outcome}`, 'not_running pane.get refused')
    assert.ok(error.message.includes(server.socketPath), error.message)
  })

  it('waits so long for an answer, and longer for a read, then does not know', async (t) => {
    const clock = new HandClock()
    const server = await RawServer.open(t, {
      'pane.get': () => {},
      'pane.read': (socket) => socket.write('{'),
    })
    const client = new HerdrClient(server.socketPath, clock)
    await client.server()
    const ended: string[] = []
    const calls = [
      verdict(get(client)).then((each) => ended.push(`get: ${each}`)),
      verdict(client.request('pane.read', { pane_id: 'p', source: 'visible', lines: 80 })).then(
        (each) => ended.push(`read: ${each}`),
      ),
    ]
    await fact('both were asked', () => server.asked.length === 3)
    await clock.passOver(4_999)
    assert.deepEqual(ended, [])
    await clock.passOver(1)
    assert.deepEqual(ended, ['get: timeout, unknown'])
    await clock.passOver(15_000)
    await Promise.all(calls)
    assert.deepEqual(ended, ['get: timeout, unknown', 'read: timeout, unknown'])
    assert.equal(clock.pending, 0)
    await fact('it has hung up', () => server.connections === 0)
  })
})

describe('the server', () => {
  it('is asked once, however many need to know', async (t) => {
    const { server, client } = await open(t, { 'pane.get': answers(found) })
    const [who] = await Promise.all([client.server(), get(client), get(client)])
    assert.deepEqual(who, { type: 'pong', version: '0.9.2', protocol: 22 })
    assert.equal(server.count('ping'), 1)
  })

  it('is asked again once it has gone away', async (t) => {
    const { server, client } = await open(t, { 'pane.get': answers(found) })
    await get(client)
    await server.stop()
    await failure(get(client))
    server.conduct['ping'] = answers({ ...pong, version: '1.0' })
    await server.listen()
    assert.equal((await client.server()).version, '1.0')
    server.conduct['pane.get'] = sends('')
    await failure(get(client))
    await client.server()
    assert.equal(server.count('ping'), 3)
  })

  it('may be newer than any that was tested, or another program that speaks as herdr does', async (t) => {
    const tuios = { ...pong, protocol: 99, server: 'tuios', version: '0.9.3+tuios' }
    const { client } = await open(t, { ping: answers(tuios) })
    const { protocol, server } = await client.server()
    assert.deepEqual([protocol, server], [99, 'tuios'])
  })

  it('is used from protocol 19 on', async (t) => {
    const { client } = await open(t, { ping: answers({ ...pong, protocol: 19 }) })
    assert.equal((await client.server()).protocol, 19)
  })

  it('that is too old is asked for nothing', async (t) => {
    const { server, client } = await open(t, { ping: answers({ ...pong, protocol: 18 }) })
    const error = await failure(get(client))
    assert.equal(
      `${error.code} ${error.method} ${error.outcome}`,
      'unsupported_protocol pane.get refused',
    )
    assert.match(error.message, /protocol 18; 19 is/)
    assert.deepEqual(server.methods, ['ping'])
  })

  const foreign: Record<string, Conduct> = {
    'JSON-RPC': sends('{"jsonrpc":"2.0","error":{"code":-32601,"message":"no"},"id":null}\n'),
    'numeric codes': sends('{"error":{"code":404}}\n'),
    HTTP: sends('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n'),
    garbage: sends('\u0000\u0001\n'),
    'another result': answers({ type: 'ok' }),
    'a pong without a protocol': answers({ type: 'pong', version: '1' }),
  }
  for (const [name, conduct] of Object.entries(foreign))
    it(`that answers a ping with ${name} is foreign, and is asked for nothing`, async (t) => {
      const { server, client } = await open(t, { ping: conduct })
      assert.equal(await verdict(get(client)), 'foreign_server, refused')
      assert.deepEqual(server.methods, ['ping'])
    })

  it('that says nothing at all keeps a request from being sent', async (t) => {
    const clock = new HandClock()
    const server = await RawServer.open(t, { ping: () => {} })
    const call = verdict(get(new HerdrClient(server.socketPath, clock)))
    await fact('it was asked', () => server.asked.length === 1)
    await clock.passOver(5_000)
    assert.equal(await call, 'timeout, refused')
    assert.deepEqual(server.methods, ['ping'])
  })
})
