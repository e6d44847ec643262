import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { visibleWidth } from '@mariozechner/pi-tui'
import fc from 'fast-check'
import { type AgentFacts, fold, type Row, row } from '../../actors/index.ts'
import { aGeneration, anAck, anAsk, aTask, seed } from '../../actors/testing/index.ts'
import { type Activity, limits } from '../../mailbox/index.ts'
import { columnsGivenUp, type WidgetRow, widgetLines, widgetRows } from './widget-rows.ts'

const minute = 60_000

interface Made {
  readonly at?: number
  readonly activity?: Partial<Activity>
  readonly asks?: string
  readonly presence?: AgentFacts['presence']
  readonly isStarting?: boolean
  readonly definition?: string
}

function agent(label: string, made: Made = {}): Row {
  const { at = 0, activity, asks, presence = 'live', isStarting = false, definition } = made
  const accept = anAck('task')
  const ask = asks === undefined ? [] : [{ ...anAsk('ask'), text: asks }]
  const assignment = fold([aTask('look around')], isStarting ? [] : [accept, ...ask])
  return row({
    generation: aGeneration(label, { at, ...(definition !== undefined && { definition }) }),
    assignment,
    presence,
    delivered: false,
    ...(activity && { activity: { at, lines: [], ...activity } }),
  })
}

const below = (child: Row, parent: string) => ({ row: child, parent, isOrphan: false })

function lines(
  rows: readonly WidgetRow[],
  width: number,
  height = 100,
  now = 5 * minute,
): readonly string[] {
  return widgetLines(rows, { width, height, now, paint: (_, text) => text, key: 'alt+a' })
}

const shown = (rows: readonly Row[], width: number, height?: number) =>
  lines(widgetRows(rows, []), width, height)

describe('the rows of the widget', () => {
  it('are in the order the agents were started, whatever they are called', () => {
    const rows = [agent('a', { at: 2 }), agent('c', { at: 1 }), agent('b', { at: 2 })]
    assert.deepEqual(
      widgetRows(rows, []).map((each) => each.agent),
      ['c', 'a', 'b'],
    )
  })

  it('keep their places when the states change', () => {
    const order = (rows: readonly Row[]) => widgetRows(rows, []).map((each) => each.agent)
    const calm = [agent('a'), agent('b', { at: 1 }), agent('c', { at: 2 })]
    const asking = [agent('a'), agent('b', { at: 1 }), agent('c', { at: 2, asks: 'which?' })]
    assert.deepEqual(order(asking), order(calm))
  })

  it('have the agents of an agent indented right under it, at every level', () => {
    const rows = widgetRows(
      [agent('a'), agent('b', { at: 1 })],
      [below(agent('a-2', { at: 9 }), 'a'), below(agent('a-1'), 'a'), below(agent('deep'), 'a-1')],
    )
    assert.deepEqual(
      rows.map(({ agent: label, indent }) => [label, indent]),
      [
        ['a', 0],
        ['a-1', 1],
        ['deep', 2],
        ['a-2', 1],
        ['b', 0],
      ],
    )
    const drawn = lines(rows, 80).slice(1)
    assert.deepEqual(
      drawn.map((line) => line.search(/[ab]|deep/)),
      [2, 4, 6, 4, 2],
    )
  })

  it('do not change while only time passes', () => {
    const at = (now: number) =>
      JSON.stringify(widgetRows([agent('a', { activity: { at: now, tool: 'bash' } })], []))
    assert.equal(at(1), at(10 * minute))
  })

  it('are as many as the agents there are, each by its label', () => {
    const rows = [agent('a'), agent('b', { presence: 'lost' }), agent('c', { isStarting: true })]
    assert.deepEqual(
      widgetRows(rows, []).map((each) => [each.agent, each.state]),
      [
        ['a', 'working'],
        ['b', 'lost'],
        ['c', 'starting'],
      ],
    )
  })
})

describe('what an agent is said to do', () => {
  const says = (made: Made) => widgetRows([agent('a', made)], [])[0]?.doing

  it('is the tool it is in, with what that was given', () => {
    const tool = (line: string) => says({ activity: { tool: 'bash', lines: ['says hm', line] } })
    assert.equal(tool('tool bash {"command":"npm test","timeout":5}'), 'bash npm test 5')
    assert.equal(tool('tool bash {"command":"npm run a-very-lo'), 'bash npm run a-very-lo')
    assert.equal(tool('tool bash'), 'bash')
  })

  it('is what it last said between two tools, and its task before it has said anything', () => {
    assert.equal(says({ activity: { lines: ['says Now.', 'turn', 'tool bash done'] } }), 'Now.')
    assert.equal(says({ activity: { lines: ['turn'] } }), 'look around')
    assert.equal(says({ isStarting: true }), 'look around')
  })

  it('is why it cannot go on', () => {
    assert.equal(says({ asks: 'which?' }), 'needs an answer')
    assert.equal(says({ presence: 'lost' }), 'process is gone')
    assert.equal(says({ presence: 'unknown' }), 'process not seen')
    assert.equal(says({ activity: { waiting: 'agents' } }), 'waits for agents')
    assert.equal(says({ activity: { waiting: 'person' } }), 'needs a person')
    const resultError = { status: 'completed', attempts: 1, cause: 'EIO', since: 0 } as const
    assert.equal(says({ activity: { resultError } }), 'cannot write its result: EIO')
  })
})

describe('the widget', () => {
  it('shows all that is known of an agent in one line', () => {
    const activity = { tool: 'bash', lines: [], tokens: 12_400, contextPercent: 34.4 }
    assert.deepEqual(shown([agent('docs', { activity })], 80), [
      `agents 1 · 1 working${' '.repeat(31)}/agents to look · alt+a hides`,
      `● docs  scout  working  5m  bash${' '.repeat(32)}ctx 34%  12k tok`,
    ])
  })

  it('counts each agent once, what somebody should look at first', () => {
    const rows = [
      agent('a'),
      agent('b', { asks: 'which?' }),
      agent('c', { activity: { waiting: 'person' } }),
      agent('d', { activity: { waiting: 'agents' } }),
      agent('e', { presence: 'lost' }),
      agent('f', { presence: 'unknown' }),
      agent('g', { isStarting: true }),
      agent('h', {
        activity: { resultError: { status: 'failed', attempts: 1, cause: 'x', since: 0 } },
      }),
    ]
    assert.equal(
      shown(rows, 200)[0]?.split('  ')[0],
      'agents 8 · 1 asking · 1 at a prompt · 1 lost · 1 unknown · 1 working · 1 waiting · 1 starting · 1 settling',
    )
  })

  it('shows first who waits for an answer or a person, and what for', () => {
    const rows = [
      agent('a'),
      agent('b', { at: 1, asks: 'which of\nthe two?' }),
      agent('c', { at: 2, activity: { waiting: 'person' } }),
    ]
    assert.deepEqual(shown(rows, 80).slice(1, 3), [
      '? b asks: which of the two?',
      '! c waits for you in its pane',
    ])
    assert.match(shown(rows, 80)[0] ?? '', /\/agents to answer · alt\+a hides$/)
  })

  it('shows no question of an agent that has another owner', () => {
    const rows = widgetRows([agent('a')], [below(agent('b', { asks: 'which?' }), 'a')])
    assert.equal(lines(rows, 80).length, 3)
    assert.match(lines(rows, 80)[2] ?? '', /b .*blocked .*needs an answer/)
  })

  it('gives up its columns one by one as the width shrinks, in the stated order', () => {
    const activity = { tool: 'bash', lines: [], tokens: 12_400, contextPercent: 34 }
    const parts = {
      tokens: '12k tok',
      context: 'ctx 34%',
      definition: 'scout',
      state: 'working',
      since: '5m',
      doing: 'bash',
    }
    const gone: string[] = []
    for (let width = 300; width >= 1; width--) {
      const line = shown([agent('docs', { activity })], width)[1] ?? ''
      const missing = columnsGivenUp.filter(
        (column) => !line.includes(parts[column as keyof typeof parts]),
      )
      for (const column of missing) if (!gone.includes(column)) gone.push(column)
      assert.deepEqual(missing, gone, `at ${width}`) // what was given up does not come back
    }
    assert.deepEqual(gone, columnsGivenUp)
  })

  it('shows sign and label as long as there is any room', () => {
    assert.equal(shown([agent('docs')], 6)[1], '● docs')
    assert.equal(shown([agent('docs')], 4)[1], '● d…')
    assert.equal(shown([agent('docs')], 1)[1], '●')
  })

  it('moves what is waited for into the rows where height is short, and then becomes one line', () => {
    const rows = [agent('a'), agent('b', { at: 1, asks: 'which?' })]
    assert.equal(shown(rows, 80, 4).length, 4)
    const short = shown(rows, 80, 3)
    assert.equal(short.length, 3)
    assert.match(short[2] ?? '', /^\? b .*which\?/)
    for (const height of [2, 1, 0])
      assert.deepEqual(shown(rows, 80, height), [
        'agents 2 · 1 asking · 1 working  ? b asks: which?',
      ])
  })

  it('is nothing where there are no agents', () => {
    assert.deepEqual(shown([], 80), [])
  })

  it('says when it only shows what another window acts for', () => {
    const space = { width: 80, height: 9, now: 0, paint: (_: unknown, text: string) => text }
    const [header] = widgetLines(widgetRows([agent('a')], []), space, true)
    assert.equal(header, 'agents 1 · 1 working · another window acts')
  })

  it('lets no text of others move a cursor or begin a line', () => {
    const hostile = '\u001b[2Ja\u202eb\r\n\u001b]0;title\u0007c\u0000'
    const rows = [
      agent('a', { asks: hostile, definition: hostile }),
      agent('b', { at: 1, activity: { lines: [`says ${hostile}`] } }),
    ]
    for (const line of shown(rows, 120)) assert.doesNotMatch(line, /[\p{Cc}\u202e]/u)
  })

  const texts = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 60 }),
    fc.string({ unit: 'grapheme', maxLength: 60 }),
    fc
      .array(
        fc.constantFrom(
          '✅',
          '👩‍👩‍👧',
          '🇩🇪',
          '漢字',
          'ｶﾞ',
          'e\u0301',
          '\u0301',
          '\u200d',
          'ำ',
          '\u001b[31m',
          '\t',
          'a',
        ),
        { maxLength: 40 },
      )
      .map((parts) => parts.join('')),
  )
  const anyAgent = fc
    .record({
      label: texts,
      definition: texts,
      words: texts,
      tool: fc.option(texts, { nil: undefined }),
      asks: fc.option(texts, { nil: undefined }),
      tokens: fc.option(fc.nat(), { nil: undefined }),
      contextPercent: fc.option(fc.nat(200), { nil: undefined }),
      presence: fc.constantFrom('live', 'lost', 'unknown'),
      at: fc.nat(1e12),
    })
    .map(({ label, words, asks, presence, at, definition, ...activity }) => {
      const made = agent('a', {
        ...{ at, presence, definition },
        ...(asks !== undefined && { asks }),
        activity: { ...activity, lines: [`says ${words}`] },
      })
      return { ...made, agent: label }
    })

  it('is never wider than the screen nor higher than its room, whatever agents are called and say', () => {
    fc.assert(
      fc.property(
        fc.array(anyAgent, { minLength: 1, maxLength: 12 }),
        fc.array(anyAgent, { maxLength: 4 }),
        fc.integer({ min: 1, max: 300 }),
        fc.integer({ min: 0, max: 30 }),
        fc.nat(1e13),
        (direct, others, width, height, now) => {
          const rows = widgetRows(
            direct,
            others.map((child) => below({ ...child, agent: 'child' }, direct[0]?.agent ?? '')),
          )
          const drawn = lines(rows, width, height, now)
          assert.ok(drawn.length >= 1 && drawn.length <= Math.max(1, height))
          for (const line of drawn) {
            assert.ok(visibleWidth(line) <= width, `${visibleWidth(line)} > ${width}: ${line}`)
            assert.doesNotMatch(line, /\p{Cc}/u)
          }
        },
      ),
      { seed: seed(), numRuns: 200 },
    )
  })

  it('has a line for each of as many agents as a tree may have, at every width', () => {
    const rows = Array.from({ length: limits.liveAgentsMax }, (_, i) => agent(`agent-${i}`))
    for (let width = 1; width <= 300; width++) {
      const drawn = shown(rows, width)
      assert.equal(drawn.length, rows.length + 1)
      for (const line of drawn) assert.ok(visibleWidth(line) <= width)
    }
  })
})
