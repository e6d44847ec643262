import assert from 'node:assert/strict'
import { it } from 'node:test'
import { nearMatch } from './near.ts'

const names = ['reviewer', 'scout', 'researcher']

it('finds what was meant through one or two slips of the pen', () => {
  for (const slip of ['reveiwer', 'reviewr', 'revviewer', 'rewiever', 'reviewer'])
    assert.equal(nearMatch(slip, names), 'reviewer', slip)
  assert.equal(nearMatch('scuot', names), 'scout')
})

it('finds nothing where too much is different', () => {
  for (const other of ['', 'x', 'planner', 'writer'])
    assert.equal(nearMatch(other, names), undefined, other)
  assert.equal(nearMatch('scuot', names, 0), undefined)
})
