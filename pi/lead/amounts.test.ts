import assert from 'node:assert/strict'
import { it } from 'node:test'
import { amount, duration } from './amounts.ts'

const minute = 60_000

it('tells how long something lasts in five columns at most', () => {
  const told = [-1, 0, minute - 1, minute, 59 * minute, 185 * minute, 48 * 60 * minute]
  assert.deepEqual(told.map(duration), ['<1m', '<1m', '<1m', '1m', '59m', '3h05', '2d'])
})

it('tells how many there are in four figures at most', () => {
  const told = [0, 999, 1_000, 12_400, 999_499, 999_500, 2_340_000]
  assert.deepEqual(told.map(amount), ['0', '999', '1k', '12k', '999k', '1.0M', '2.3M'])
})
