import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { seed } from '../actors/testing/index.ts'
import { Lines } from './lines.ts'

/** The lines and what is left, each as text of single bytes. */
function linesOf(chunks: readonly Uint8Array[], bytesMax?: number) {
  const lines = new Lines(bytesMax)
  const found = chunks.flatMap((chunk) => lines.push(chunk))
  const texts = found.map((line) => Buffer.from(line).toString('latin1'))
  return { texts, rest: lines.rest > 0, isTooLong: lines.isTooLong }
}

it('finds the lines of any bytes, wherever they are cut', () => {
  const byte = fc.oneof(fc.constant(0x0a), fc.constant(0x20), fc.integer({ min: 0, max: 255 }))
  fc.assert(
    fc.property(fc.array(fc.array(byte)), (parts) => {
      const chunks = parts.map((part) => Uint8Array.from(part))
      const whole = Buffer.concat(chunks)
      const texts = whole.toString('latin1').split('\n')
      const rest = texts.pop()
      assert.deepEqual(linesOf(chunks), { texts, rest: rest !== '', isTooLong: false })
    }),
    { seed: seed() },
  )
})

it('gives up at the same line that is too long, wherever it is cut', () => {
  const whole = Buffer.from('good\n123456789\nafter\n')
  const bytewise = [...whole].map((byte) => Uint8Array.of(byte))
  for (const chunks of [[whole], bytewise]) {
    const { texts, isTooLong } = linesOf(chunks, 8)
    assert.deepEqual(texts, ['good'])
    assert.ok(isTooLong)
  }
  assert.deepEqual(linesOf([whole], 9).texts, ['good', '123456789', 'after'])
})
