import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { contradiction, type OwnershipEdge } from './owner-tree.ts'

const edge = (owner: string, session: string): OwnershipEdge => ({ owner, session })

/** What is said of these edges in any order. */
function said(...edges: readonly OwnershipEdge[]) {
  const found = contradiction('lead', edges)
  assert.deepEqual(contradiction('lead', edges.toReversed()), found)
  return found
}

describe('the edges below a session', () => {
  it('contradict nothing where each session has one owner, whoever else owns agents', () => {
    assert.equal(said(), undefined)
    assert.equal(said(edge('lead', 'a'), edge('a', 'b'), edge('a', 'c')), undefined)
    assert.equal(said(edge('lead', 'a'), edge('other', 'c'), edge('c', 'd')), undefined)
    assert.equal(said(edge('other', 'lead'), edge('lead', 'a')), undefined)
  })

  it('are refused where two living generations are one session', () => {
    const refusal = { refusal: 'duplicate', sessions: ['a'] }
    assert.deepEqual(said(edge('lead', 'a'), edge('lead', 'b'), edge('b', 'a')), refusal)
    assert.deepEqual(said(edge('lead', 'a'), edge('lead', 'a')), refusal)
  })

  it('are refused where one leads back to where they begin', () => {
    const back = said(edge('lead', 'a'), edge('a', 'lead'))
    assert.deepEqual(back, { refusal: 'cycle', sessions: ['a', 'lead'] })
    const farther = said(edge('lead', 'a'), edge('a', 'b'), edge('b', 'lead'))
    assert.deepEqual(farther, { refusal: 'cycle', sessions: ['b', 'lead'] })
    assert.deepEqual(said(edge('lead', 'lead')), { refusal: 'cycle', sessions: ['lead', 'lead'] })
  })

  it('may have a ring beside them that hangs on nothing: it is nobody’s', () => {
    assert.equal(said(edge('lead', 'a'), edge('x', 'y'), edge('y', 'x')), undefined)
    assert.equal(said(edge('y', 'lead'), edge('x', 'y'), edge('y', 'x')), undefined)
  })

  it('of 10,000 agents, each below the one before, need no deep stack', () => {
    const edges = Array.from({ length: 10_000 }, (_, n) => edge(`${n}`, `${n + 1}`))
    assert.equal(contradiction('0', edges), undefined)
    assert.equal(contradiction('0', [...edges, edge('10000', '0')])?.refusal, 'cycle')
  })
})
