import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { clipped, displayWidth, padded, wrapped } from './width.ts'

describe('the width of a text', () => {
  it('is that of its characters on a terminal', () => {
    for (const [text, columns] of [
      ['scout', 5],
      ['分支', 4],
      ['✅', 2],
      ['👩‍👩‍👧', 2],
      ['🇨🇭', 2],
      ['e\u0301', 1],
      ['\u200b', 0],
      ['한글', 4],
      ['…', 1],
      ['', 0],
    ] as const)
      assert.equal(displayWidth(text), columns, JSON.stringify(text))
  })

  it('is never more than a line was clipped to', () => {
    const character = fc.constantFrom('a', '分', '✅', 'e\u0301', '👩‍👩‍👧', ' ', '\u200b')
    fc.assert(
      fc.property(fc.array(character), fc.integer({ min: 1, max: 300 }), (characters, columns) => {
        const line = characters.join('')
        assert.ok(displayWidth(clipped(line, columns)) <= columns)
        if (displayWidth(line) <= columns) assert.equal(clipped(line, columns), line)
        for (const part of wrapped(line, columns))
          assert.ok(displayWidth(part) <= Math.max(columns, 2), JSON.stringify(part))
      }),
    )
  })

  it('shows where a line was cut, and fills a short one', () => {
    assert.equal(clipped('scout works', 6), 'scout…')
    assert.equal(clipped('分支分支', 4), '分…')
    assert.equal(clipped('scout', 0), '')
    assert.equal(padded('分', 4), '分  ')
  })
})

describe('a text broken into lines', () => {
  it('is broken at blanks, and loses nothing but them', () => {
    assert.deepEqual(wrapped('one two three\nfour', 7), ['one two', 'three', 'four'])
    assert.deepEqual(wrapped('/a/long/path', 5), ['/a/lo', 'ng/pa', 'th'])
    assert.deepEqual(wrapped('', 5), [''])
  })
})
