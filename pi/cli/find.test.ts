import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fold, type Row, row } from '../../actors/index.ts'
import { aGeneration, anIdentity, aTask, idOf } from '../../actors/testing/index.ts'
import type { OwnerView } from './agents.ts'
import { findAgent, nameOf } from './find.ts'
import { closingOrder, flat, forest } from './tree.ts'

function agent(label: string, owner: string, more: { session?: string; root?: string } = {}): Row {
  const { root = owner, session = `session of ${label} of ${owner}` } = more
  const identity = anIdentity(label, { owner, session, generation: idOf(`${owner}/${label}`) })
  const generation = aGeneration(label, { identity, root })
  return row({ generation, assignment: fold([aTask()], []), presence: 'live', delivered: false })
}

const view = (session: string, ...rows: Row[]): OwnerView => ({
  directory: `/mailboxes/${session}`,
  session,
  acting: 'live',
  rows,
  untrusted: [],
})

describe('an agent', () => {
  const one = agent('scout', 'session-a1')
  const two = agent('scout', 'session-a2')
  const below = agent('digger', 'session of scout of session-a1', { root: 'session-a1' })
  const rows = [one, two, below]

  it('is found by its label, by its session and label, and by its generation', () => {
    for (const [name, wanted] of [
      ['digger', below],
      ['session-a1/scout', one],
      ['session-a1/digger', below],
      ['session of/digger', below],
      [two.facts.generation.identity.generation, two],
      [two.facts.generation.identity.generation.slice(0, 6), two],
    ] as const) {
      const found = findAgent(rows, name, 'show')
      assert.ok('found' in found, name)
      assert.equal(found.found, wanted, name)
    }
  })

  it('that several could be is none of them: what to type for each is said', () => {
    const found = findAgent(rows, 'scout', 'close')
    assert.ok('problem' in found)
    assert.equal(found.problem, 'many')
    const typed = [...found.message.matchAll(/^ {2}drover close (\S+) {2}/gm)].map(
      ([, name]) => name,
    )
    assert.deepEqual(typed, ['session-a1/scout', 'session-a2/scout'])
    for (const name of typed) assert.ok('found' in findAgent(rows, name ?? '', 'close'))
    assert.equal('problem' in findAgent(rows, 'session-a/scout', 'show'), true)
  })

  it('that there is not is none, whatever is named', () => {
    for (const name of ['miner', 'x/scout', '', '/', 's/scout', 'ab']) {
      const found = findAgent(rows, name, 'show')
      assert.ok('problem' in found, name)
      assert.match(found.message, /No agent is called .*There are: digger, scout\./)
    }
    const hostile = findAgent([], 'a\x1b[2J\nb', 'show')
    assert.ok('problem' in hostile)
    assert.equal(hostile.message, 'No agent is called a b. There are none.')
  })

  it('is named as shortly as is clear, by its generation where nothing else is', () => {
    assert.equal(nameOf(below, rows), 'digger')
    assert.equal(nameOf(two, rows), 'session-a2/scout')
    const twin = agent('scout', 'session-a1')
    assert.equal(nameOf(twin, [one, two, twin]).length, 26)
  })
})

describe('agents as trees', () => {
  it('stand below those that delegated to them, by label', () => {
    const [b, a] = [agent('b', 'lead'), agent('a', 'lead')]
    const child = agent('c', 'session of a of lead', { root: 'lead' })
    const tops = forest([view('session of a of lead', child), view('lead', b, a), view('empty')])
    assert.deepEqual(
      tops.map(({ session, agents }) => [
        session,
        flat(agents).map(({ row, depth, parent }) => [row.agent, depth, parent?.agent]),
      ]),
      [
        [
          'lead',
          [
            ['a', 0, undefined],
            ['c', 1, 'a'],
            ['b', 0, undefined],
          ],
        ],
      ],
    )
    const [first] = tops[0]?.agents ?? []
    assert.deepEqual(first && closingOrder(first), ['c', 'a'])
  })

  it('end, and hold every agent once, where owners contradict each other', () => {
    const ring = [
      view('x', agent('a', 'x', { session: 'y' })),
      view('y', agent('b', 'y', { session: 'x' })),
      view('z', agent('c', 'z', { session: 'z' })),
    ]
    const labels = forest(ring).flatMap(({ agents }) => flat(agents).map(({ row }) => row.agent))
    assert.deepEqual(labels.sort(), ['a', 'b', 'c'])
  })
})
