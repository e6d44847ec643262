import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { decodeAgentRecord, encode } from './codec.ts'
import { reportListMax, reportReasonCharsMax } from './limits.ts'
import { anyEncodable, decoders, type Encodable, smallest } from './testing/any-record.ts'
import { closed, idOf, result, seed } from './testing/builders.ts'
import {
  bytesOf,
  type Json,
  jsonOf,
  refusalOf,
  refused,
  withOneReplaced,
  withoutOneKey,
} from './testing/spoilt-json.ts'

const nameOf = (value: Encodable): string => value.kind

describe('encode and decode', () => {
  for (const [value, decode] of smallest)
    it(`keep the smallest ${nameOf(value)}`, () => {
      assert.deepEqual(decode(encode(value)), { value })
    })

  it('keep whatever a record may say, of every kind', () =>
    fc.assert(
      fc.property(anyEncodable, ([value, decode]) => {
        assert.deepEqual(decode(encode(value)), { value })
      }),
      { numRuns: 2_000, ...seed() },
    ))

  it('leave out what is not there', () => {
    const value = { ...result('a'), usage: undefined, whole: undefined }
    assert.deepEqual(decodeAgentRecord(encode(value)), { value: result('a') })
  })

  it('never take one kind for another', () => {
    for (const [value, decode] of smallest)
      for (const other of decoders)
        if (other !== decode) assert.equal(refusalOf(other(encode(value))), 'wrong-shape')
  })
})

describe('decode refuses', () => {
  const json = jsonOf(result('a'))

  it('bytes that are not UTF-8', () => {
    for (const bytes of [
      [0xff],
      [0xc0, 0x80], // a NUL in two bytes
      [0xed, 0xa0, 0x80], // half a surrogate pair
      [0xf4, 0x90, 0x80, 0x80], // past U+10FFFF
      [0xe2, 0x82], // cut short
    ]) {
      const bad = Buffer.concat([
        Buffer.from(json.replace('done"', '')),
        Buffer.from(bytes),
        Buffer.from('"}'),
      ])
      assert.equal(refusalOf(decodeAgentRecord(bad)), 'not-utf8')
    }
  })

  it('a byte order mark', () => {
    assert.equal(refused(`\ufeff${json}`), 'not-json')
  })

  it('what is no JSON, or more than one', () => {
    for (const bad of ['', ' ', '{', json.slice(0, -1), json + json, `${json},`, `//\n${json}`])
      assert.equal(refused(bad), 'not-json', bad)
  })

  it('what is no object', () => {
    for (const bad of ['null', '1', '"x"', 'true', '[]', `[${json}]`])
      assert.equal(refused(bad), 'wrong-protocol', bad)
  })

  it('another protocol, and says which', () => {
    for (const stated of [3, 5, 4.5, -4, 1e300, '4', null, true, [4], { protocol: 4 }])
      assert.equal(refused(jsonOf({ ...result('a'), protocol: stated })), 'wrong-protocol')
    const { protocol: _, ...without } = result('a')
    assert.equal(refused(jsonOf(without)), 'wrong-protocol')
    const five = decodeAgentRecord(bytesOf(json.replace('"protocol":4', '"protocol":5')))
    assert.ok('why' in five && five.why.includes('protocol 5'))
  })

  it('a protocol made to be shown, not to be read', () => {
    for (const stated of [
      '{"toString":null,"valueOf":null}',
      '{"__proto__":null,"toString":1,"valueOf":1}',
      `${'['.repeat(200_000)}${']'.repeat(200_000)}`,
      `"${'x'.repeat(1_000_000)}"`,
    ])
      assert.equal(refused(`{"protocol":${stated}}`), 'wrong-protocol')
  })

  it('200,000 arrays in each other, wherever they stand', () => {
    const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`
    assert.equal(refused(deep), 'wrong-protocol')
    assert.equal(refused(json.replace('"done"', deep)), 'wrong-shape')
    assert.equal(refused(json.replace('{', `{"more":${deep},`)), 'wrong-shape')
    const list = jsonOf(closed('a')).replace('"closed":[]', `"closed":[${deep}]`)
    assert.equal(refused(list), 'wrong-shape')
    const objects = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`
    assert.equal(refused(json.replace('"done"', objects)), 'wrong-shape')
  })

  it('a key too many, at every depth and whatever it is called', () => {
    for (const key of ['more', '__proto__', 'constructor', 'toString', 'author', '', 'Kind'])
      for (const [value, decode] of smallest) {
        const whole = jsonOf(value)
        for (let at = whole.indexOf('{'); at !== -1; at = whole.indexOf('{', at + 1)) {
          const added = `${whole.slice(0, at + 1)}${jsonOf(key)}:{"a":1},${whole.slice(at + 1)}`
          assert.equal(refused(added, decode), 'wrong-shape', added)
        }
      }
    assert.equal(({} as { a?: number }).a, undefined)
  })

  it('a key too few, at every depth', () => {
    for (const [value, decode] of smallest)
      for (const bad of withoutOneKey(value as unknown as Json))
        if (!('refusal' in decode(bytesOf(jsonOf(bad)))))
          // Only what a type calls optional may be missing.
          assert.ok(['lease', 'placed'].includes(nameOf(value)), jsonOf(bad))
  })

  it('null and every other type in the place of each value', () => {
    for (const [value, decode] of smallest)
      for (const replacement of [null, {}, [], -1, 1.5, 'x y', '', ' \n\t', '../x', 'A'.repeat(26)])
        for (const bad of withOneReplaced(value as unknown as Json, replacement)) {
          const decoded = decode(bytesOf(jsonOf(bad)))
          if ('value' in decoded)
            assert.deepEqual(decoded.value, bad) // a text may be any text
          else refusalOf(decoded)
        }
  })

  it('numbers that are not what they say', () => {
    for (const [written, expected] of [
      ['1e400', 'wrong-shape'],
      ['-1e400', 'wrong-shape'],
      ['9007199254740993', 'wrong-shape'],
      ['9007199254740992', 'wrong-shape'],
      ['-1', 'wrong-shape'],
      ['1.5', 'wrong-shape'],
      ['"1"', 'wrong-shape'],
      ['NaN', 'not-json'],
      ['0x10', 'not-json'],
      ['01', 'not-json'],
    ] as const)
      assert.equal(refused(json.replace('"at":1', `"at":${written}`)), expected, written)
    for (const written of ['0', '-0', '9007199254740991', '1e3'])
      assert.ok('value' in decodeAgentRecord(bytesOf(json.replace('"at":1', `"at":${written}`))))
  })

  it('a blank text', () => {
    for (const blank of ['', ' ', '\n\t', '\u3000'])
      assert.equal(refused(jsonOf({ ...result('a'), text: blank })), 'wrong-shape')
  })

  it('lists and names beyond their limits, without a list of all that is wrong', () => {
    const many = jsonOf(closed('a')).replace('"closed":[]', `"closed":[${'1,'.repeat(100_000)}1]`)
    assert.equal(refused(many), 'wrong-shape')
    const keys = Array.from({ length: 50_000 }, (_, i) => `"k${i}":1,`).join('')
    assert.equal(refused(json.replace('{', `{${keys}`)), 'wrong-shape')
    for (const [field, longest] of [
      ['owner', 128],
      ['session', 128],
      ['sessionFile', 4096],
      ['cwd', 4096],
      ['label', 32],
    ] as const) {
      const sized = (length: number): Uint8Array => {
        const value = result('a')
        return encode({
          ...value,
          identity: { ...value.identity, [field]: 'x'.repeat(length) },
        })
      }
      assert.ok('value' in decodeAgentRecord(sized(longest)), field)
      assert.equal(refusalOf(decodeAgentRecord(sized(longest + 1))), 'wrong-shape', field)
    }
  })

  it('the report of a close with a list or a reason beyond its limit', () => {
    const list = <T>(entry: T) => Array.from({ length: reportListMax }, () => entry)
    const open = { label: 'scout', why: 'x'.repeat(reportReasonCharsMax) }
    const notClosed = list({ ...open, why: '' })
    const full = { ...closed('a'), closed: list('scout'), notClosed, kept: list('/kept.md') }
    assert.deepEqual(decodeAgentRecord(encode(full)), { value: full })
    for (const tooMuch of [
      { closed: [...full.closed, 'scout'] },
      { notClosed: [...notClosed, open] },
      { kept: [...full.kept, '/kept.md'] },
      { notClosed: [{ ...open, why: `${open.why}x` }] },
    ])
      assert.equal(refused(jsonOf({ ...closed('a'), ...tooMuch })), 'wrong-shape')
    const longest = { ...closed('a'), notClosed: [open] }
    assert.deepEqual(decodeAgentRecord(encode(longest)), { value: longest })
  })

  it('an id or a generation that could be a path', () => {
    for (const bad of ['../../../../../../../../x', idOf('a').toUpperCase(), `${idOf('a')}\n`]) {
      assert.equal(refused(jsonOf({ ...result('a'), id: bad })), 'wrong-shape')
      const { identity } = result('a')
      const elsewhere = { ...result('a'), identity: { ...identity, generation: bad } }
      assert.equal(refused(jsonOf(elsewhere)), 'wrong-shape')
    }
  })
})
