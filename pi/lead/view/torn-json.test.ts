import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { seed } from '../../../actors/testing/index.ts'
import { tornJson } from './torn-json.ts'

describe('the beginning of a JSON text', () => {
  it('is the value as far as it goes', () => {
    const whole = '{"type":"message","message":{"content":[{"text":"one two"}]},"more":1}'
    const upTo = (part: string) => tornJson(whole.slice(0, whole.indexOf(part) + part.length))
    assert.deepEqual(upTo('one t'), { type: 'message', message: { content: [{ text: 'one t' }] } })
    assert.deepEqual(upTo(',"mess'), { type: 'message' })
    assert.deepEqual(upTo('"content":'), { type: 'message' })
    assert.deepEqual(upTo('"more":'), {
      type: 'message',
      message: { content: [{ text: 'one two' }] },
    })
    assert.deepEqual(tornJson(whole), JSON.parse(whole))
  })

  it('leaves out an escape that is half said', () => {
    for (const half of ['\\', '\\u', '\\u00', '\\u00e'])
      assert.deepEqual(tornJson(`{"a":"b${half}`), { a: 'b' })
    assert.deepEqual(tornJson('{"a":"b\\\\'), { a: 'b\\' })
  })

  it('never throws, and keeps every field that was whole', () =>
    fc.assert(
      fc.property(fc.json(), fc.nat(200), (json, length) => {
        const text = `{"id":"x","value":${json}}`
        const value = tornJson(text.slice(0, Math.max(length, 10)))
        assert.equal((value as { id: string }).id, 'x')
      }),
      { seed: seed() },
    ))
})
