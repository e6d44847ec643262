import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { entryView } from './session-lines.ts'
import { addedLines } from './tail.ts'

const message = (message: object) => entryView(JSON.stringify({ type: 'message', message }))

describe('an entry of a session', () => {
  it('is shown by what was said, called and answered in it', () => {
    assert.deepEqual(message({ role: 'user', content: 'dig\ndeep' }).lines, ['» dig', '  deep'])
    const said = message({
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'hm' },
        { type: 'text', text: 'I dig.' },
        { type: 'toolCall', name: 'bash', arguments: { command: 'dig' } },
      ],
    })
    assert.deepEqual(said, { said: 'I dig.', lines: ['I dig.', '→ bash {"command":"dig"}'] })
    const answer = { role: 'toolResult', toolName: 'bash', isError: false }
    const content = [{ type: 'text', text: '\ngold\nsilver\n' }]
    assert.deepEqual(message({ ...answer, content }).lines, ['← bash: gold (and 1 more line)'])
    assert.deepEqual(message({ ...answer, content: [], isError: true }).lines, [
      '← bash failed: nothing',
    ])
    assert.deepEqual(message({ role: 'assistant', content: [], errorMessage: 'no key' }).lines, [
      'failed: no key',
    ])
  })

  it('brings nothing to a terminal that is not text', () => {
    const content = [{ type: 'text', text: 'a\x1b[2Jb\u202e' }]
    assert.deepEqual(message({ role: 'assistant', content }).lines, ['ab'])
    const huge = message({
      role: 'toolResult',
      toolName: 'x'.repeat(1e6),
      content: 'y'.repeat(1e6),
    })
    assert.ok((huge.lines[0]?.length ?? 0) <= 200)
  })

  it('is nothing where it is none, and never throws', () => {
    for (const line of [
      '',
      '{',
      'null',
      '[]',
      '7',
      '{"type":"message"}',
      '{"type":"message","message":[]}',
      '{"type":"message","message":{"role":"assistant","content":[null,7,{"type":"text","text":7}]}}',
      '{"type":"label"}',
    ])
      assert.deepEqual(entryView(line).lines, [], line)
  })
})

describe('what a list has that it did not have', () => {
  it('is at its end, also where its beginning was dropped', () => {
    assert.deepEqual(addedLines([], ['a']), ['a'])
    assert.deepEqual(addedLines(['a', 'b'], ['a', 'b', 'c']), ['c'])
    assert.deepEqual(addedLines(['a', 'b', 'c'], ['b', 'c', 'd']), ['d'])
    assert.deepEqual(addedLines(['a', 'a'], ['a', 'a', 'a']), ['a'])
    assert.deepEqual(addedLines(['a', 'b'], ['a', 'b']), [])
    assert.deepEqual(addedLines(['a', 'b'], ['x', 'y']), ['x', 'y'])
  })
})
