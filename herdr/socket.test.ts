import assert from 'node:assert/strict'
import { chownSync, symlinkSync } from 'node:fs'
import { it } from 'node:test'
import { systemClock } from '../mailbox/index.ts'
import { HerdrClient } from './client.ts'
import { HerdrError } from './errors.ts'
import { connectError, verifySocket } from './socket.ts'
import { RawServer } from './testing/raw-server.ts'

const own = process.getuid?.() ?? 0
const isRoot = own === 0
const notRoot = isRoot ? false : 'only root can give a file away'

/** The code a socket is refused with; undefined when it is fine. */
function verdict(socketPath: string, uid?: number): string | undefined {
  try {
    verifySocket(socketPath, 'ping', uid)
    return undefined
  } catch (error) {
    assert.ok(error instanceof HerdrError && error.outcome === 'refused', String(error))
    assert.ok(error.message.includes(socketPath))
    return error.code
  }
}

it('takes a socket of its own user, and none where there is none', async (t) => {
  const server = await RawServer.open(t)
  assert.equal(verdict(server.socketPath), undefined)
  assert.equal(verdict(`${server.socketPath}-not`), 'not_running')
  assert.equal(verdict(`${server.socketPath}\u0000`), 'not_running')
})

it('takes a path that could be cut short for no socket at all', () => {
  const long = `/${'x'.repeat(120)}`
  assert.throws(() => verifySocket(long, 'ping'), /the path is over 10[37] bytes/)
})

it('is refused a socket of another user, also through a link, and takes one of root', {
  skip: notRoot,
}, async (t) => {
  const server = await RawServer.open(t)
  const link = `${server.socketPath}-link`
  symlinkSync(server.socketPath, link)
  assert.equal(verdict(link, 4242), undefined)
  chownSync(server.socketPath, 4242, 4242)
  assert.deepEqual([verdict(link), verdict(link, 4242)], ['not_permitted', undefined])
  const client = new HerdrClient(link, systemClock)
  await assert.rejects(client.server(), { code: 'not_permitted', outcome: 'refused' })
  assert.deepEqual(server.asked, [])
})

it('tells a socket that may not be used from one where nothing listens', () => {
  const coded = (code: string) => connectError('/s', 'ping', Object.assign(new Error(), { code }))
  for (const code of ['EACCES', 'EPERM']) assert.equal(coded(code).code, 'not_permitted')
  for (const code of ['ENOENT', 'ECONNREFUSED', 'ENOTSOCK'])
    assert.equal(coded(code).code, 'not_running')
  assert.equal(connectError('/s', 'ping', undefined).code, 'not_running')
})
