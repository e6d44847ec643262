import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { type OwnershipEdge, ownerTree, settlingOrder, type TreeNode } from './owner-tree.ts'
import { seed } from './testing/index.ts'

describe('an owner tree', () => {
  it('has all agents below a session and no others', () => {
    const edges = [edge('lead', 'a'), edge('a', 'b'), edge('other', 'c'), edge('c', 'd')]
    assert.deepEqual(shape(tree('lead', edges)), [['a', [['b', []]]]])
  })

  it('is empty where nothing is owned', () => assert.deepEqual(ownerTree('lead', []), []))

  it('does not depend on the order of the edges', () => {
    const edges = [edge('b', 'c'), edge('a', 'b'), edge('lead', 'a')]
    assert.deepEqual(shape(tree('lead', edges)), shape(tree('lead', edges.toReversed())))
  })

  it('is refused where two living generations are one session', () => {
    const edges = [edge('lead', 'a'), edge('lead', 'b'), { ...edge('b', 'a'), generation: 'a2' }]
    assert.deepEqual(ownerTree('lead', edges), { refusal: 'duplicate', sessions: ['a'] })
  })

  it('is refused where an edge leads back to where the tree begins', () => {
    const edges = [edge('lead', 'a'), edge('a', 'lead')]
    assert.deepEqual(ownerTree('lead', edges), { refusal: 'cycle', sessions: ['a', 'lead'] })
    assert.ok('refusal' in ownerTree('lead', [edge('lead', 'lead')]))
  })

  it('passes over a ring that hangs on nothing: it is nobody’s', () => {
    const edges = [edge('lead', 'a'), edge('x', 'y'), edge('y', 'x')]
    assert.deepEqual(shape(tree('lead', edges)), [['a', []]])
  })
})

describe('the settling order', () => {
  it('has children before parents', () => {
    const edges = [edge('lead', 'a'), edge('a', 'b'), edge('b', 'c'), edge('a', 'd')]
    const order = sessions(settlingOrder(tree('lead', edges)))
    assert.equal(order.at(-1), 'a')
    assert.ok(order.indexOf('c') < order.indexOf('b'))
  })

  it('has every agent of any tree once, after all below it', () =>
    fc.assert(
      fc.property(fc.array(fc.nat(), { maxLength: 40 }), (owners) => {
        // Each below the lead or below one that came before it.
        const edges = owners.map((pick, n) => {
          const owner = pick % (n + 1)
          return edge(owner === n ? 'lead' : `${owner}`, `${n}`)
        })
        const order = settlingOrder(tree('lead', edges))
        assert.deepEqual(sessions(order).toSorted(), edges.map(({ session }) => session).toSorted())
        const place = new Map(order.map(({ session }, n) => [session, n]))
        for (const { owner, session } of edges)
          assert.ok((place.get(session) ?? -1) < (place.get(owner) ?? Number.POSITIVE_INFINITY))
      }),
      { seed: seed() },
    ))

  it('of 10,000 agents, each below the one before, needs no deep stack and linear time', () => {
    const chain = (length: number) =>
      Array.from({ length }, (_, n) => edge(n === 0 ? 'lead' : `${n - 1}`, `${n}`))
    const looks = (length: number) => {
      let count = 0
      const edges = chain(length).map((each) => counted(each, () => count++))
      const order = settlingOrder(tree('lead', edges))
      assert.equal(order.length, length)
      assert.equal(order[0]?.session, `${length - 1}`)
      return count
    }
    assert.ok(looks(20_000) <= 2.01 * looks(10_000))
  })

  it('of one owner with 10,000 agents has all of them', () => {
    const edges = Array.from({ length: 10_000 }, (_, n) => edge('lead', `${n}`))
    assert.equal(settlingOrder(tree('lead', edges)).length, 10_000)
  })
})

const edge = (owner: string, session: string): OwnershipEdge => ({
  generation: `generation-of-${session}`,
  owner,
  session,
})

/** An edge that says when it is looked at. */
function counted({ generation, owner, session }: OwnershipEdge, look: () => void): OwnershipEdge {
  const seen = <T>(value: T): T => {
    look()
    return value
  }
  return {
    generation,
    get owner() {
      return seen(owner)
    },
    get session() {
      return seen(session)
    },
  }
}

function tree(root: string, edges: readonly OwnershipEdge[]): readonly TreeNode[] {
  const found = ownerTree(root, edges)
  assert.ok(!('refusal' in found), 'refused')
  return found
}

type Shape = readonly (readonly [string, Shape])[]

const shape = (nodes: readonly TreeNode[]): Shape =>
  nodes.map((node) => [node.edge.session, shape(node.children)])

const sessions = (edges: readonly OwnershipEdge[]): string[] => edges.map(({ session }) => session)
