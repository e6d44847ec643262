import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { DrawnCache } from './drawn-cache.ts'
import type { Item, ToolAnswer } from './entries.ts'

const item = (text: string, answer?: ToolAnswer): Item => ({
  block: { kind: 'note', text },
  ...(answer && { answer }),
})
const given: ToolAnswer = {
  ...{ kind: 'answer', id: '1', tool: 'ls', text: '', isError: false, details: undefined },
}

describe('what was drawn lately', () => {
  it('is drawn again only when its answer has come or its shape is another', () => {
    const cache = new DrawnCache()
    const call = item('a')
    const drawings: string[] = []
    const draw = (of: Item, shape: string) =>
      cache.lines(of, shape, () => {
        drawings.push(shape)
        return [shape]
      })
    draw(call, '80')
    draw(call, '80')
    assert.deepEqual(drawings, ['80'])
    draw(call, '20')
    draw({ ...call, answer: given }, '20')
    draw({ ...call, answer: given }, '20')
    assert.deepEqual(drawings, ['80', '20', '20'])
    cache.clear()
    draw(call, '20')
    assert.equal(drawings.length, 4)
  })

  it('is let go when there is too much of it, the oldest first', () => {
    const cache = new DrawnCache()
    const long = Array<string>(6_000).fill('line')
    const [first, second] = [item('first'), item('second')]
    let drawings = 0
    const draw = (of: Item) =>
      cache.lines(of, '80', () => {
        drawings++
        return long
      })
    draw(first)
    draw(second)
    draw(second)
    assert.equal(drawings, 2)
    draw(first)
    assert.equal(drawings, 3)
  })
})
