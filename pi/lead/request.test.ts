import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { OperationError } from '../../actors/index.ts'
import { labelPattern, limits } from '../../mailbox/index.ts'
import { parseRequest } from './request.ts'

describe('a label that is asked for', () => {
  const longest = 'x'.repeat(limits.labelCharsMax)

  for (const label of ['s', 'scout', 'scout-2', 'a_b', longest])
    it(`may be ${label}, and a record may hold it`, () => {
      assert.match(label, labelPattern)
      assert.deepEqual(parseRequest(delegate(label)), delegate(label))
    })

  for (const label of ['', 'Scout', '1st', '-x', 'a b', 'a/b', 'a\n', 'ä', `${longest}x`])
    it(`may not be ${JSON.stringify(label)}, which no record holds`, () => {
      assert.doesNotMatch(label, labelPattern)
      assert.throws(() => parseRequest(delegate(label)), OperationError)
    })

  it('is refused with how long it may be', () => {
    const says = new RegExp(`up to ${limits.labelCharsMax - 1} of`)
    assert.throws(() => parseRequest(delegate(`${longest}x`)), says)
  })
})

const delegate = (label: string) => ({
  action: 'delegate',
  definition: 'scout',
  task: 'look',
  label,
})
