import assert from 'node:assert/strict'
import { it } from 'node:test'
import { herdrEnvironment } from './environment.ts'

const pane = { HERDR_ENV: '1', HERDR_SOCKET_PATH: '/s', HERDR_PANE_ID: 'w1:p2' }

it('is outside without the mark of herdr, whatever else is set', () => {
  assert.deepEqual(herdrEnvironment({}), { inside: false })
  for (const mark of [undefined, '', '0', 'true', '11'])
    assert.deepEqual(herdrEnvironment({ ...pane, HERDR_ENV: mark }), { inside: false })
})

it('is inside with a socket and a pane, and tells what else is known', () => {
  const inside = { inside: true, socketPath: '/s', paneId: 'w1:p2' }
  assert.deepEqual(herdrEnvironment(pane), inside)
  const more = { HERDR_TAB_ID: 'w1:t3', HERDR_WORKSPACE_ID: 'w1' }
  assert.deepEqual(herdrEnvironment({ ...pane, ...more }), {
    ...inside,
    tabId: 'w1:t3',
    workspaceId: 'w1',
  })
  assert.deepEqual(herdrEnvironment({ ...pane, HERDR_TAB_ID: '' }), inside)
})

it('is broken without a socket or a pane, and says which is missing', () => {
  const why = (env: object): string => {
    const found = herdrEnvironment({ ...pane, ...env })
    assert.ok(found.inside === 'broken')
    return found.why
  }
  assert.match(why({ HERDR_SOCKET_PATH: '' }), /^[^,]+, but HERDR_SOCKET_PATH is/)
  assert.match(why({ HERDR_PANE_ID: undefined }), /but HERDR_PANE_ID is/)
  assert.match(
    why({ HERDR_PANE_ID: '', HERDR_SOCKET_PATH: undefined }),
    /HERDR_SOCKET_PATH and HERDR_PANE_ID/,
  )
})
