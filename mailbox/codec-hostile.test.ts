import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { decodeAgentRecord, decodeOwnerRecord, encode } from './codec.ts'
import { anyEncodable, decoders, smallest } from './testing/any-record.ts'
import { placed, processOf, result, seed } from './testing/builders.ts'
import { bytesOf, type Json, jsonOf, partsOf, refusalOf, refused } from './testing/spoilt-json.ts'

describe('decode refuses a key that stands twice', () => {
  it('at every depth, with an equal value, first or last', () => {
    for (const [value, decode] of smallest)
      for (const [part, whole] of partsOf(value as unknown as Json))
        for (const [key, held] of Object.entries(part)) {
          const written = jsonOf(part)
          const again = `${jsonOf(key)}:${jsonOf(held)}`
          for (const twice of [
            `{${again},${written.slice(1)}`,
            `${written.slice(0, -1)},${again}}`,
          ])
            assert.equal(refused(whole(twice), decode), 'duplicate-key', twice)
        }
  })

  it('written with escapes, and between strings that look like keys', () => {
    const text = 'a \\" "text": \\\\'
    const whole = jsonOf({ ...result('a'), text })
    assert.deepEqual(decodeAgentRecord(bytesOf(whole)), { value: { ...result('a'), text } })
    for (const key of ['"\\u0074ext"', '"te\\u0078t"', '"text"  ', '"text"\n\t\r '])
      assert.equal(refused(whole.replace('{', `{${key}:"x",`)), 'duplicate-key', key)
  })

  it('around a long string full of quotes and backslashes', () => {
    const text = `${'\\"":"'.repeat(100_000)}\\`
    const whole = jsonOf({ ...result('a'), text })
    const started = performance.now()
    assert.ok('value' in decodeAgentRecord(bytesOf(whole)))
    assert.equal(refused(whole.replace('{', '{"text":"x",')), 'duplicate-key')
    assert.ok(performance.now() - started < 1_000)
  })

  it('and none that only looks like one', () =>
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('"', '\\', ':', '"text":', '{', '}', ',', ' '), { maxLength: 30 }),
        (parts) => {
          const value = result('a', `x${parts.join('')}`)
          assert.deepEqual(decodeAgentRecord(encode(value)), { value })
        },
      ),
      { numRuns: 1_000, ...seed() },
    ))
})

describe('decode of hostile bytes', () => {
  /** Refused, or exactly what the bytes say. Never thrown. */
  function judge(bytes: Uint8Array): void {
    for (const decode of decoders) {
      const decoded = decode(bytes)
      if ('value' in decoded)
        assert.deepEqual(
          decoded.value,
          JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)),
        )
      else refusalOf(decoded)
    }
  }

  it('never throws, whatever they are', () =>
    fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), judge), {
      numRuns: 2_000,
      ...seed(),
    }))

  it('never throws, whatever JSON they are', () =>
    fc.assert(
      fc.property(fc.json({ maxDepth: 4 }), (json) => judge(bytesOf(json))),
      { numRuns: 1_000, ...seed() },
    ))

  it('refuses a spoilt record, or reads what it says', () =>
    fc.assert(
      fc.property(
        anyEncodable,
        fc.array(
          fc.record({
            at: fc.nat(),
            remove: fc.nat(3),
            insert: fc.oneof(
              fc.uint8Array({ maxLength: 3 }),
              fc.constantFrom(
                ...['"', '\\', '{}', '[]', ',', '"at":2,', '"__proto__":1,', '9'].map(bytesOf),
              ),
            ),
          }),
          { minLength: 1, maxLength: 3 },
        ),
        ([value], edits) => {
          let bytes = Buffer.from(encode(value))
          for (const { at, remove, insert } of edits) {
            const place = at % (bytes.length + 1)
            bytes = Buffer.concat([
              bytes.subarray(0, place),
              insert,
              bytes.subarray(place + remove),
            ])
          }
          judge(bytes)
        },
      ),
      { numRuns: 3_000, ...seed() },
    ))

  it('refuses a record cut short anywhere', () => {
    for (const [value, decode] of smallest) {
      const whole = encode(value)
      for (let length = 0; length < whole.length; length++)
        assert.equal(refusalOf(decode(whole.subarray(0, length))), 'not-json')
    }
  })

  it('reads a record with anything JSON calls white space in it', () => {
    const spaced = JSON.stringify(result('a'), undefined, '\t').replaceAll('\n', ' \r\n')
    assert.deepEqual(decodeAgentRecord(bytesOf(spaced)), { value: result('a') })
  })

  it('keeps lone surrogates as they were written', () => {
    const value = result('a', 'x\ud800')
    assert.deepEqual(decodeAgentRecord(encode(value)), { value })
    assert.deepEqual(decodeAgentRecord(bytesOf(jsonOf(value))), { value })
  })

  it('never changes what it was given', () => {
    const bytes = encode(placed('a'))
    const before = Buffer.from(bytes)
    decodeOwnerRecord(bytes)
    assert.deepEqual(Buffer.from(bytes), before)
    assert.deepEqual(processOf(2), processOf(2))
  })
})
