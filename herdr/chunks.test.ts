import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { it } from 'node:test'
import fc from 'fast-check'
import { seed } from '../actors/testing/index.ts'
import { systemClock } from '../mailbox/index.ts'
import { HerdrClient } from './client.ts'
import { HerdrError } from './errors.ts'
import { fact } from './testing/fake-scene.ts'
import { RawServer } from './testing/raw-server.ts'

const pane = { pane_id: 'w1:p1', terminal_id: 'term_ä🦆', workspace_id: 'w1', tab_id: 'w1:t1' }

/** What a server might send: good lines, bad lines, and bytes of any kind. */
const line = fc.oneof(
  fc.constantFrom(
    { result: { type: 'pane_info', pane } },
    { result: { type: 'subscription_started' } },
    { event: 'pane_exited', data: { pane_id: 'w1:p1' } },
    { event: 'pane.agent_status_changed', data: null },
    { error: { code: 'events_lost', message: '…' } },
    { jsonrpc: '2.0' },
    null,
  ),
  fc.jsonValue(),
)
const bytes = fc.oneof(
  { weight: 4, arbitrary: line.map((value) => Buffer.from(`${JSON.stringify(value)}\n`)) },
  fc.uint8Array({ maxLength: 20 }).map((each) => Buffer.from(each)),
)
const stream = fc.array(bytes, { maxLength: 5 }).map((parts) => Buffer.concat(parts))
const cuts = fc.array(fc.nat(60), { maxLength: 8 })

/** Sends all of it in pieces of these lengths, each in its own turn, then hangs up. */
async function sendCut(socket: Socket, whole: Buffer, lengths: readonly number[]): Promise<void> {
  let rest = whole
  for (const length of lengths) {
    socket.write(rest.subarray(0, length))
    rest = rest.subarray(length)
    await new Promise((resolve) => setTimeout(resolve, 0))
  }
  socket.end(rest)
}

/** All that a client makes of it: the answer, or the refusal; the events, and how the stream ended. */
async function seen(server: RawServer, whole: Buffer, lengths: readonly number[]) {
  const send = (socket: Socket): void => void sendCut(socket, whole, lengths)
  server.conduct['pane.get'] = send
  server.conduct['events.subscribe'] = send
  const client = new HerdrClient(server.socketPath, systemClock)
  const answer = await client.request('pane.get', { pane_id: 'w1:p1' }).catch(refusal)
  const told: unknown[] = []
  const ended = new Promise<string>((resolve) => {
    client
      .subscribe(
        [],
        (event) => told.push(event),
        (error) => resolve(refusal(error)),
      )
      .catch((error) => resolve(`not opened: ${refusal(error)}`))
  })
  return { answer, end: await ended, told }
}

function refusal(error: unknown): string {
  assert.ok(error instanceof HerdrError, String(error))
  return `${error.code}, ${error.outcome}: ${error.message}`
}

it('makes the same of any bytes, wherever they are cut', async (t) => {
  const server = await RawServer.open(t)
  await fc.assert(
    fc.asyncProperty(stream, cuts, async (whole, lengths) => {
      assert.deepEqual(await seen(server, whole, lengths), await seen(server, whole, []))
    }),
    { seed: seed(), numRuns: 100 },
  )
  await fact('every connection is closed', () => server.connections === 0)
})
