import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { visibleWidth } from '@mariozechner/pi-tui'
import { generations } from '../demo/evidence.ts'
import type { PiEvent } from '../demo/pi-process.ts'
import type { ScriptRule } from '../demo/scripted-model.ts'
import { agentCall, delegate, fact, runs, sandbox, settled, started } from './support.ts'
import { PiTerminal } from './terminal.ts'

const question = 'Which of the two tokens should stay: the old or the new one?'
const key = '\u001ba' // alt+a
const expand = '\u000f' // ctrl+o

const rules: readonly ScriptRule[] = [
  {
    when: 'please start',
    say: 'Two pieces of work.',
    calls: [
      delegate('implementer', 'dig for callers', { label: 'callers' }),
      delegate('reviewer', 'weigh the tokens', { label: 'auth-review' }),
    ],
  },
  { when: 'accepted', say: 'Both at work.' },
  {
    when: 'dig for callers',
    say: 'Looking.',
    calls: [{ name: 'bash', args: { command: 'sleep 600' } }],
  },
  { when: 'weigh the tokens', calls: [{ name: 'ask_owner', args: { question } }] },
  {
    when: 'please answer',
    calls: [agentCall({ action: 'reply', agent: 'auth-review', message: 'The new one.' })],
  },
  { when: 'The new one.', say: 'The **new** token stays.\n\n- one caller changed\n' },
  { when: 'please close', calls: [agentCall({ action: 'close', agent: 'callers' })] },
]

/** The lines of the widget on a screen: from its counts to the editor below it. */
function widgetOn(lines: readonly string[]): readonly string[] {
  const from = lines.findLastIndex((line) => /^ ?agents \d/.test(line))
  const to = lines.findIndex((line, i) => i > from && line.startsWith('──'))
  return from < 0 ? [] : lines.slice(from, to)
}

const widgetOf = (lead: PiTerminal) => widgetOn(lead.lines)

async function opened(t: Parameters<typeof sandbox>[0]): Promise<PiTerminal> {
  const place = sandbox(t, rules)
  const lead = new PiTerminal(place, { cols: 80, rows: 40 })
  t.after(async () => {
    await lead.end()
  })
  await lead.shows('scripted-model.ts')
  assert.deepEqual(widgetOf(lead), [])
  await lead.enter('please start')
  return lead
}

const isAtWork = (text: string) =>
  /● callers .*bash sleep 600/.test(text) && /\? auth-review .*needs an answer/.test(text)

describe('agents on the screen of their lead', () => {
  it('are rows above the editor from the first delegation until each is told or closed', async (t) => {
    const lead = await opened(t)
    await lead.until('the question and both agents', isAtWork)
    const [counts, asked, ...rows] = widgetOf(lead)
    assert.match(
      counts ?? '',
      /^ agents 2 · 1 asking · 1 working +\/agents to answer · alt\+a hides$/,
    )
    assert.match(asked ?? '', /^ \? auth-review asks: Which of the two tokens should stay: the old/)
    assert.equal(rows.length, 2)
    await lead.until('the question as a message', (text) =>
      /\? auth-review \(reviewer\) asks/.test(text),
    )

    await lead.enter('please answer')
    await lead.until('the result in one line', (text) =>
      /✓ auth-review \(reviewer\) result .*The new token stays\./.test(text),
    )
    await lead.until('one agent', () => widgetOf(lead).length === 2)
    assert.ok(!lead.text.includes('one caller changed'))
    lead.type(expand)
    await lead.until('the whole result', (text) =>
      /- one caller changed\s+end of what auth-review wrote/.test(text),
    )
    lead.type(expand)
    await lead.until('one line again', (text) => !text.includes('one caller changed'))

    await lead.enter('please close')
    await lead.until('that it is closed', (text) =>
      /agent close callers\s+✓ callers closed/.test(text),
    )
    await lead.until('no widget', () => widgetOf(lead).length === 0)
  })

  it('fit into the screen however it is resized, and are hidden and shown by a key', async (t) => {
    const lead = await opened(t)
    await lead.until('the question and both agents', isAtWork)
    for (const [cols, parts] of [
      [20, ['● callers']],
      [200, ['ctx ', ' tok', 'the old or the new one?']],
      [80, ['implementer']],
    ] as const) {
      lead.resize(cols, 40)
      await lead.until(`the widget at ${cols}`, () => {
        const lines = widgetOf(lead)
        const doFit = lines.length === 4 && lines.every((line) => visibleWidth(line) <= cols)
        return doFit && parts.every((part) => lines.join('\n').includes(part))
      })
    }
    lead.resize(80, 8)
    await lead.until('one line', () => widgetOf(lead).length === 1)
    lead.resize(80, 40)
    await lead.until('all again', () => widgetOf(lead).length === 4)
    lead.type(key)
    await lead.until('no widget', () => widgetOf(lead).length === 0)
    lead.type(key)
    await lead.until('all again', () => widgetOf(lead).length === 4)
  })

  it('are seen again in the next life of their session', async (t) => {
    const place = sandbox(t, rules)
    const { lead, file } = await started(place)
    await fact('both are at work', () => generations(place).length === 2 && runs(lead) >= 1)
    await lead.kill()
    const next = new PiTerminal(place, { cols: 80, rows: 40 }, ['--session', file])
    t.after(() => next.end())
    await next.until('the question and both agents', isAtWork)
  })
})

describe('agents in what a client is asked to show', () => {
  it('are plain lines on each change, and taken away in the end', async (t) => {
    const place = sandbox(t, rules)
    const { lead } = await started(place)
    const asked = () => lead.events.filter(isWidget).map(({ widgetLines }) => widgetLines)
    await fact('the question is shown', () =>
      asked().some((lines) => isAtWork(Array.isArray(lines) ? lines.join('\n') : '')),
    )
    await lead.until(() => runs(lead) === 2)
    lead.prompt('please answer')
    await lead.until(() => runs(lead) === 4)
    lead.prompt('please close')
    await settled(place, [lead])
    await fact('the widget is taken away', () => asked().at(-1) === undefined)
    for (const lines of asked().slice(0, -1)) {
      assert.ok(Array.isArray(lines))
      for (const line of lines) {
        assert.ok(visibleWidth(line) <= 80)
        assert.ok(!/\p{Cc}/u.test(line))
      }
    }
    await lead.close()
  })
})

const isWidget = (event: PiEvent): boolean =>
  event.type === 'extension_ui_request' && event['method'] === 'setWidget'
