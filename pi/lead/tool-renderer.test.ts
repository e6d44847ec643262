import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Theme } from '@mariozechner/pi-coding-agent'
import { visibleWidth } from '@mariozechner/pi-tui'
import { renderAgentCall, renderAgentResult } from './tool-renderer.ts'

const painted = (_: string, text: string) => `\u001b[36m${text}\u001b[39m`
const theme = { fg: painted, bold: (text: string) => text } as unknown as Theme
// biome-ignore lint/suspicious/noControlCharactersInRegex: what colours is taken away
const colours = /\u001b\[[0-9;]*m/g

const call = (args: unknown, expanded = false, width = 80): readonly string[] =>
  renderAgentCall(args, theme, { expanded })
    .render(width)
    .map((line) => line.replace(colours, '').trimEnd())

function answer(details: unknown, expanded = false, width = 80, isPartial = false) {
  const content = [{ type: 'text', text: 'line one\nline two' }] as const
  return renderAgentResult({ content: [...content], details }, { expanded, isPartial }, theme)
    .render(width)
    .map((line) => line.replace(colours, '').trimEnd())
}

const task = 'Find the callers of parse().\nList them by file.'

describe('a call of the agent tool', () => {
  it('says in one line what is asked of whom', () => {
    const delegate = { action: 'delegate', definition: 'scout', label: 'callers', task }
    assert.deepEqual(call(delegate), [
      'agent delegate scout as callers  Find the callers of parse(). List them by file.',
    ])
    assert.deepEqual(call({ action: 'delegate', session: '/s/1.jsonl', task: 'Go on.' }), [
      'agent delegate again  Go on.',
    ])
    assert.deepEqual(call({ action: 'reply', agent: 'auth', message: 'The new one.' }), [
      'agent reply auth  The new one.',
    ])
    assert.deepEqual(call({ action: 'close', agent: 'auth' }), ['agent close auth'])
    assert.deepEqual(call({ action: 'list' }), ['agent list'])
  })

  it('shows the whole task, the files and the place when it is expanded', () => {
    const args = { action: 'delegate', definition: 'scout', cwd: '/repo', files: ['a.md'], task }
    assert.deepEqual(call(args, true), [
      'agent delegate scout',
      'Find the callers of parse().',
      'List them by file.',
      'cwd /repo',
      'with a.md',
    ])
    assert.deepEqual(call({ action: 'close', agent: 'auth' }, true), ['agent close auth'])
  })

  it('is drawn while its arguments are still on their way, and whatever they are', () => {
    for (const args of [
      undefined,
      null,
      {},
      { action: 7, files: 'x' },
      { action: 'delegate' },
      'x',
    ])
      for (const expanded of [false, true]) assert.match(call(args, expanded)[0] ?? '', /^agent/)
  })
})

describe('what came of a call', () => {
  const agents = [
    { agent: 'auth', agent_definition: 'reviewer', state: 'blocked', question: 'which?' },
    { agent: 'docs', agent_definition: 'scout', state: 'working', parent_label: 'auth' },
  ]
  const cases: readonly [what: string, details: unknown, says: string][] = [
    [
      'a start',
      {
        action: 'delegate',
        agent: 'docs',
        definition: 'scout',
        started: { runner: 'headless', pid: 7 },
      },
      '✓ docs (scout) works headless, pid 7',
    ],
    [
      'a start in a pane',
      {
        action: 'delegate',
        agent: 'docs',
        definition: 'scout',
        started: { runner: 'herdr', pane: { tab: 't2' } },
      },
      '✓ docs (scout) works in tab t2',
    ],
    ['a reply', { action: 'reply', agent: 'docs', outcome: 'accepted' }, '✓ docs: accepted'],
    [
      'a late steer',
      { action: 'steer', agent: 'docs', outcome: 'too_late', reason: 'done' },
      '✗ docs: too late: done',
    ],
    [
      'a close',
      { action: 'close', agent: 'docs', closed: ['docs', 'sub'], kept: ['/r/1.md'], notClosed: [] },
      '✓ docs closed · with it sub · 1 unread kept',
    ],
    ['a look', { action: 'inspect', agent: 'docs', recent_output: 'a\nb\n' }, '· b'],
    [
      'a list',
      { action: 'list', agents, agent_definitions: [{ name: 'scout' }] },
      '· 2 agents: auth blocked, docs working · 1 definition',
    ],
    [
      'a refusal',
      { error: { category: 'agent_busy', message: 'docs has no work\nthat goes on' } },
      '✗ agent_busy: docs has no work that goes on',
    ],
    ['an error of the host', {}, '✗ line one line two'],
  ]
  for (const [what, details, says] of cases)
    it(`(${what}) is one line, and all of it when it is expanded`, () => {
      assert.deepEqual(answer(details), [says])
      const whole = answer(details, true)
      assert.equal(whole[0], says)
      assert.ok(whole.length > 1)
    })

  it('lists agents with what they ask and whose they are', () => {
    const details = {
      action: 'list',
      agents,
      agent_definitions: [{ name: 'scout' }, { name: 'x' }],
    }
    assert.deepEqual(answer(details, true).slice(1), [
      'agent auth  reviewer  blocked  asks: which?',
      'agent docs  scout  working  of auth',
      'definitions: scout, x',
    ])
  })

  it('is not said before it is there', () => {
    assert.deepEqual(answer({ action: 'list' }, false, 80, true), ['…'])
  })

  for (const width of [1, 20, 80, 200])
    it(`is never wider than ${width} columns, and no call is`, () => {
      const hostile = `\u001b[2J漢字✅👩‍👩‍👧 ${'漢'.repeat(300)}\ne\u0301`
      const args = {
        action: 'delegate',
        definition: hostile,
        label: hostile,
        task: hostile,
        files: [hostile],
      }
      const answers = [
        ...cases.map(([, details]) => details),
        { error: { category: 'x', message: hostile } },
      ]
      for (const expanded of [false, true]) {
        const lines = [
          ...renderAgentCall(args, theme, { expanded }).render(width),
          ...answers.flatMap((details) =>
            renderAgentResult(
              { content: [{ type: 'text', text: hostile }], details },
              { expanded, isPartial: false },
              theme,
            ).render(width),
          ),
        ]
        for (const line of lines) {
          assert.ok(visibleWidth(line) <= width, JSON.stringify(line))
          assert.ok(!line.includes('[2J'))
        }
      }
    })
})
