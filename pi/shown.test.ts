import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { seed } from '../actors/testing/index.ts'
import { shownData, shownLine, shownText } from './shown.ts'

describe('text of somebody else', () => {
  for (const [what, given, shown] of [
    ['colours', '\x1b[1;31mred\x1b[0m and \x9b32mgreen', 'red and green'],
    ['a title', 'a\x1b]0;evil title\x07b', 'ab'],
    ['a link', '\x1b]8;;https://x.test\x1b\\here\x1b]8;;\x1b\\', 'here'],
    ['a cleared screen', '\x1bc\x1b[2J\x1b(Bgone', 'gone'],
    ['a sequence without end', 'a\x1b]0;title', 'a0;title'],
    ['a bell, a backspace, a C1 control', 'a\x07b\x08c\x84d', 'abcd'],
    ['an override of direction', 'safe\u202egpj.exe\u2066x\u2069', 'safegpj.exex'],
    ['letters that only a model reads', `hi${String.fromCodePoint(0xe0041)}`, 'hi'],
    ['half a character', 'a\ud83d', 'a\ufffd'],
  ] as const)
    it(`has no ${what}`, () => {
      assert.equal(shownText(given), shown)
      assert.equal(shownLine(given), shown)
    })

  it('keeps what people write, tabs and lines among it', () => {
    const text = 'naïve 日本 עברית \u200f👩‍👧\n\tif (x) {\n'
    assert.equal(shownText(text), text)
  })

  it('has its lines under one another, or all in one', () => {
    assert.equal(shownText('10%\r20%\r\nnext\u2028last'), '10%\n20%\nnext\nlast')
    assert.equal(shownLine('10%\r20%\r\n\tnext'), '10% 20% next')
  })

  it('is cut at its limit, between characters, and says so', () => {
    assert.equal(shownText('abcdef', 6), 'abcdef')
    assert.equal(shownText('abcdefg', 6), 'abcdef… [cut here; 7 characters in all]')
    assert.equal(shownLine('abcdefg', 6), 'abcde…')
    assert.equal(shownLine('abcd👩efgh', 6), 'abcd…')
  })

  it('is clean wherever it stands in a value', () => {
    const value = { a: ['\x1b[1mx', { b: 'y\x9bm' }], c: 1, d: true, e: null }
    assert.deepEqual(shownData(value), { a: ['x', { b: 'y' }], c: 1, d: true, e: null })
  })

  it('holds nothing of the kind, whatever it was, and is clean as it stands then', () => {
    const piece = fc.constantFrom(
      ...['\x1b', '\x1b[', '\x9b', '\x1b]', '\x9d', '\x07', '\x1b\\', '\r', '\n', '0', ';', 'm'],
      ...['\u202e', '\u2067', '\u{e0001}', '\ud83d', '\ude00', 'a', ' '],
    )
    const property = fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
      const text = shownText(pieces.join(''))
      assert.doesNotMatch(text, /(?![\t\n])\p{Cc}|[\u202a-\u202e\u2066-\u2069]|\p{Surrogate}/u)
      assert.equal(shownText(text), text)
    })
    fc.assert(property, { seed: seed() })
  })
})
