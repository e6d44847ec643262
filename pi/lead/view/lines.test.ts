import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { seed } from '../../../actors/testing/index.ts'
import { type Line, LineSplitter, wholeCharacters } from './lines.ts'

/** The lines of these bytes, given in pieces of these sizes. */
function split(bytes: Buffer, sizes: readonly number[], bytesMax: number): Line[] {
  const splitter = new LineSplitter(bytesMax)
  const lines: Line[] = []
  let from = 0
  for (let i = 0; from < bytes.length; i++) {
    const size = sizes[i % sizes.length] ?? 1
    const piece = Buffer.from(bytes.subarray(from, from + size))
    lines.push(...splitter.push(piece))
    piece.fill(0) // a piece is used again for what is read next
    from += size
  }
  return lines
}

const anyText = fc.string({ unit: fc.constantFrom('a', 'é', '羊', '🐑', '\\', '"'), maxLength: 40 })
const anySizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 })

describe('lines of a file that comes in pieces', () => {
  it('are the same however the pieces fall', () =>
    fc.assert(
      fc.property(fc.array(anyText), anyText, anySizes, (texts, torn, sizes) => {
        const bytes = Buffer.from(texts.map((text) => `${text}\n`).join('') + torn)
        const lines = split(bytes, sizes, 1_000)
        assert.deepEqual(
          lines.map(({ text }) => text),
          texts,
        )
        assert.ok(lines.every(({ isCut }) => !isCut))
      }),
      { seed: seed() },
    ))

  it('are cut at a limit, never inside a character, and say how long they are', () =>
    fc.assert(
      fc.property(anyText, anySizes, fc.integer({ min: 1, max: 30 }), (text, sizes, bytesMax) => {
        const [line] = split(Buffer.from(`${text}\n`), sizes, bytesMax)
        assert.ok(line !== undefined)
        const bytes = Buffer.byteLength(text)
        assert.equal(line.bytes, bytes)
        assert.equal(line.isCut, bytes > bytesMax)
        assert.ok(text.startsWith(line.text))
        assert.ok(bytes <= bytesMax || Buffer.byteLength(line.text) > bytesMax - 4)
      }),
      { seed: seed() },
    ))
})

it('leaves out only the character that an end has split', () => {
  for (const character of ['a', 'é', '羊', '🐑']) {
    const bytes = Buffer.from(`ab${character}`)
    assert.equal(wholeCharacters(bytes).toString(), `ab${character}`)
    for (let cut = 1; cut < Buffer.byteLength(character); cut++)
      assert.equal(wholeCharacters(bytes.subarray(0, -cut)).toString(), 'ab')
  }
})
