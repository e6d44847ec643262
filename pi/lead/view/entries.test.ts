import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { seed } from '../../../actors/testing/index.ts'
import { type Block, conversation, type Entry, entryOf } from './entries.ts'

const lineOf = (text: string, bytes = Buffer.byteLength(text)) => ({
  text,
  bytes,
  isCut: bytes > Buffer.byteLength(text),
})
const read = (value: unknown): Entry => entryOf(lineOf(JSON.stringify(value)))
const said = (message: unknown): readonly Block[] => read({ type: 'message', message }).blocks

const call = (id: string, name: string, args: unknown = {}) => ({
  type: 'toolCall',
  ...{ id, name, arguments: args },
})

describe('an entry of a session', () => {
  it('shows what is said, then the calls', () => {
    assert.deepEqual(
      said({
        role: 'assistant',
        content: [{ type: 'text', text: 'I look.' }, call('c1', 'bash', { command: 'ls' })],
      }),
      [
        { kind: 'says', parts: [{ type: 'text', text: 'I look.' }] },
        { kind: 'call', id: 'c1', tool: 'bash', args: { command: 'ls' } },
      ],
    )
  })

  it('shows a prompt, a message with its origin, and a failed answer with its error', () => {
    assert.deepEqual(said({ role: 'user', content: [{ type: 'text', text: 'go' }] }), [
      { kind: 'prompt', text: 'go' },
    ])
    assert.deepEqual(
      read({ type: 'custom_message', customType: 'drover-task', content: 'do' }).blocks,
      [{ kind: 'message', from: 'drover-task', text: 'do' }],
    )
    assert.deepEqual(
      said({ role: 'assistant', content: [], stopReason: 'error', errorMessage: 'no' }),
      [{ kind: 'says', parts: [], problem: { reason: 'error', text: 'no' } }],
    )
  })

  it('shows what its owner says without the mark for the model', () => {
    const [steer] = read({
      ...{ type: 'custom_message', customType: 'drover-steer' },
      content: '__PI_HERDSMAN_AGENT_V4__:steer:abc\ngo north',
    }).blocks
    assert.deepEqual(steer, { kind: 'message', from: 'drover-steer', text: 'go north' })
  })

  it('shows no message that is not to be displayed, and nothing of what the system says', () => {
    assert.deepEqual(
      read({ type: 'custom_message', customType: 'a', content: 'b', display: false }).blocks,
      [],
    )
    assert.deepEqual(said({ role: 'system', content: 'secret' }), [])
  })

  it('is cleaned of what moves a cursor, wherever it stands', () => {
    const nasty = '\u001b[2J\u001b]0;title\u0007\u202eback\r'
    const all = JSON.stringify([
      said({ role: 'user', content: nasty }),
      said({
        role: 'assistant',
        content: [{ type: 'text', text: nasty }, call('c', nasty, [nasty])],
      }),
      said({
        role: 'toolResult',
        toolName: nasty,
        content: [{ type: 'text', text: nasty }],
        details: { a: nasty },
      }),
      read({ type: 'custom_message', customType: nasty, content: nasty }).blocks,
      read({ type: 'model_change', provider: nasty, modelId: nasty }).blocks,
    ])
    assert.doesNotMatch(all, /\\u001b|\\u0007|\u202e|\\r/)
    assert.match(all, /back/)
  })

  it('says so where it cannot be read', () => {
    assert.match(JSON.stringify(entryOf(lineOf('{"torn":')).blocks), /9 bytes|8 bytes/)
    assert.equal(entryOf(lineOf('7')).blocks.length, 1)
  })

  it('shows the beginning of a line that is too long, and that it is cut', () => {
    const whole = JSON.stringify({
      type: 'message',
      id: 'a',
      parentId: 'b',
      message: {
        role: 'toolResult',
        toolCallId: 'c',
        toolName: 'read',
        content: [{ type: 'text', text: 'x'.repeat(500) }],
      },
    })
    const { blocks, id, parent } = entryOf(lineOf(whole.slice(0, 200), 20 * 1024 * 1024))
    assert.deepEqual([id, parent], ['a', 'b'])
    assert.deepEqual(
      blocks.map(({ kind }) => kind),
      ['answer', 'note'],
    )
    assert.match(JSON.stringify(blocks[1]), /20\.0 MiB/)
  })

  it('never throws, whatever a line holds', () =>
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json(),
          fc.object({ key: fc.constantFrom('type', 'message', 'role', 'content', 'a') }).map((o) =>
            JSON.stringify({
              type: 'message',
              message: { role: 'assistant', content: [o], ...o },
            }),
          ),
        ),
        (text) => {
          assert.ok(Array.isArray(entryOf(lineOf(text)).blocks))
        },
      ),
      { seed: seed() },
    ))
})

describe('the conversation', () => {
  const prompt = (id: string, parentId: string | null, text: string) =>
    read({ type: 'message', id, parentId, message: { role: 'user', content: text } })
  const texts = (entries: readonly Entry[]) =>
    conversation(entries).map(({ block }) => ('text' in block ? block.text : block.kind))

  it('joins a call with its answer, and keeps an answer whose call was let go', () => {
    const answer = (toolCallId: string) =>
      read({
        type: 'message',
        message: {
          role: 'toolResult',
          toolCallId,
          toolName: 'a',
          content: [{ type: 'text', text: 'ok' }],
        },
      })
    const items = conversation([
      answer('old'),
      read({
        type: 'message',
        message: { role: 'assistant', content: [call('c1', 'a'), call('c2', 'b')] },
      }),
      answer('c2'),
    ])
    assert.deepEqual(
      items.map(({ block, answer: given }) => [block.kind, given?.text]),
      [
        ['answer', undefined],
        ['call', undefined],
        ['call', 'ok'],
      ],
    )
  })

  it('is the branch that goes on, without those that were left', () => {
    const entries = [
      prompt('a', null, 'one'),
      prompt('b', 'a', 'left'),
      prompt('c', 'a', 'two'),
      prompt('d', 'c', 'three'),
    ]
    assert.deepEqual(texts(entries), ['one', 'two', 'three'])
    assert.deepEqual(texts([...entries, prompt('e', null, 'anew')]), ['anew'])
  })

  it('goes on with the entry before where a parent is not known', () => {
    assert.deepEqual(texts([prompt('b', 'a', 'two'), prompt('d', 'gone', 'three')]), [
      'two',
      'three',
    ])
  })
})
