import assert from 'node:assert/strict'
import { it } from 'node:test'
import { HerdrError, isNotFound, isUnsupported, plain } from './errors.ts'

const failed = (code: string): HerdrError =>
  new HerdrError({ code, method: 'pane.close', outcome: 'refused', message: 'no' })

it('knows what is not there by the code alone', () => {
  for (const code of ['pane_not_found', 'tab_not_found', 'agent_pane_not_found'])
    assert.ok(isNotFound(failed(code)))
  assert.ok(!isNotFound(failed('not_running')))
  assert.ok(!isNotFound(new Error('pane_not_found')))
})

it('knows what a server does not offer, in the words of old and new ones', () => {
  for (const code of ['unsupported', 'unknown_method', 'not_implemented', 'invalid_request'])
    assert.ok(isUnsupported(failed(code)))
  assert.ok(!isUnsupported(failed('unsupported_protocol')))
  assert.ok(!isUnsupported(undefined))
})

it('makes one short line without control characters of any text', () => {
  assert.equal(plain(' a\r\n\u001b[31mb\u2028c\u0000 '), 'a [31mb c')
  assert.equal(plain('x'.repeat(400)).length, 301)
})
