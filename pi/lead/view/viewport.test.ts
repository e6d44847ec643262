import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { seed } from '../../../actors/testing/index.ts'
import type { Item } from './entries.ts'
import { type Draw, Viewport } from './viewport.ts'

/** Items of so many lines each; a line says which it is. */
function conversationOf(heights: readonly number[]) {
  const lines = new Map<Item, readonly string[]>()
  const items = heights.map((height, item): Item => {
    const made: Item = { block: { kind: 'note', text: `${item}` } }
    lines.set(
      made,
      Array.from({ length: height }, (_, line) => `${item}.${line}`),
    )
    return made
  })
  const draw: Draw = (item) => lines.get(item) ?? []
  return { items, draw, all: items.flatMap((item) => [...draw(item)]) }
}

const anyHeights = fc.array(fc.nat(6), { maxLength: 12 })
const anyMove = fc.oneof(
  fc.record({ by: fc.integer({ min: -9, max: 9 }), unit: fc.constant('lines' as const) }),
  fc.record({ by: fc.constantFrom(-1, 1), unit: fc.constant('screens' as const) }),
  fc.constantFrom('start' as const, 'end' as const),
)

describe('what is shown of a conversation', () => {
  it('is what a plain list of its lines would show, however it is scrolled', () =>
    fc.assert(
      fc.property(
        anyHeights,
        fc.integer({ min: 1, max: 9 }),
        fc.array(anyMove),
        (heights, height, moves) => {
          const { items, draw, all } = conversationOf(heights)
          const viewport = new Viewport()
          const last = Math.max(0, all.length - height)
          let top = last
          viewport.show(items, height, draw)
          for (const move of moves) {
            if (move === 'start') viewport.toStart()
            else if (move === 'end') viewport.toEnd()
            else viewport.scroll(move.by, move.unit)
            if (move === 'start') top = 0
            else if (move === 'end') top = last
            else top += move.unit === 'lines' ? move.by : move.by * Math.max(1, height - 1)
            top = Math.min(last, Math.max(0, top))
            assert.deepEqual(viewport.show(items, height, draw), all.slice(top, top + height))
            assert.equal(viewport.followsEnd, top === last)
          }
        },
      ),
      { seed: seed() },
    ))

  it('draws no more than what is shown', () => {
    const { items, draw } = conversationOf(Array<number>(1_000).fill(2))
    let drawings = 0
    const counted: Draw = (item) => {
      drawings++
      return draw(item)
    }
    new Viewport().show(items, 10, counted)
    assert.ok(drawings < 40, `${drawings}`)
  })

  it('goes on with the oldest where what was shown has been let go', () => {
    const { items, draw } = conversationOf(Array<number>(10).fill(2))
    const viewport = new Viewport()
    viewport.show(items, 4, draw)
    viewport.toStart()
    assert.deepEqual(viewport.show(items.slice(3), 4, draw), ['3.0', '3.1', '4.0', '4.1'])
  })
})
