import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { sessionFiles } from '../demo/evidence.ts'
import type { Sandbox } from '../demo/pi-process.ts'
import { delegate, fact, sandbox } from './support.ts'
import { PiTerminal } from './terminal.ts'

const list = { name: 'ls', args: {} }
const steps = Array.from({ length: 60 }, (_, i) => ({
  when: 'notes.txt',
  times: 1,
  afterMs: 1_000,
  say: `Step ${i + 1}.`,
  calls: [list],
}))

/** Whether the agent has come to this step: its session says so. */
const hasSaid = (place: Sandbox, text: string): boolean =>
  sessionFiles(place).some((file) =>
    readFileSync(join(place.agentDirectory, 'sessions', file), 'utf8').includes(text),
  )

/** The number of the last step on the screen. */
const lastStep = (screen: string): number =>
  Math.max(0, ...[...screen.matchAll(/Step (\d+)\./g)].map(([, number]) => Number(number)))

const isWhole = (terminal: PiTerminal): void => {
  assert.match(terminal.lines[0] ?? '', /^ scout/)
  assert.match(terminal.lines.at(-1) ?? '', /q leave/)
}

describe('the view of an agent in a terminal', () => {
  it('grows, scrolls, follows its end again, steers, answers, and is left', async (t) => {
    const place = sandbox(t, [
      { when: 'please start', calls: [delegate('scout', 'look around')] },
      { when: 'accepted', say: 'At work.' },
      {
        when: 'look around',
        say: 'I look at **the files** first. 🐑 羊',
        calls: [{ name: 'read', args: { path: 'notes.txt' } }, list],
      },
      {
        when: 'go north',
        say: 'I go north.',
        calls: [{ name: 'ask_owner', args: { question: 'Red or blue?' } }],
      },
      { when: 'Make it blue', say: 'Painted blue.' },
      { when: 'cannot go on', say: 'The person may answer.' },
      ...steps,
    ])
    place.write('notes.txt', 'sheep in the notes\n')
    const terminal = new PiTerminal(place, { cols: 80, rows: 30 })
    t.after(() => terminal.kill())
    await terminal.shows('actor')
    await terminal.enter('please start')
    await terminal.shows('At work.')

    await terminal.enter('/agents')
    await terminal.shows('→ Running (1)')
    terminal.type('\r')
    await terminal.shows('→ scout')
    terminal.type('\r')
    const first = await terminal.shows('Step 1.')
    assert.match(first, /I look at the files first\. 🐑 羊/)
    assert.match(first, /read notes\.txt/)
    assert.match(first, /ls \.\s+notes\.txt/)
    isWhole(terminal)
    await terminal.shows('Step 5.')
    assert.match(terminal.text, /working/)

    terminal.type('\x1b[H')
    const top = await terminal.shows('End follow')
    assert.match(top, /look around/)
    const stays = terminal.lines.slice(1, -1)
    await fact('it goes on', () => hasSaid(place, `Step ${lastStep(top) + 8}.`))
    assert.deepEqual(terminal.lines.slice(1, -1), stays)
    terminal.type('\x1b[F')
    await fact('the end is shown', () => lastStep(terminal.text) >= lastStep(top) + 8)
    terminal.type('\x1b[5~')
    await terminal.shows('End follow')
    terminal.type('\x1b[F')

    terminal.type('r')
    await terminal.shows('agent_busy: scout asks nothing now.')
    terminal.type('x')
    await terminal.shows('Close scout?')
    terminal.type('n')
    await fact('it is not closed', () => !terminal.text.includes('Close scout?'))
    terminal.type('s')
    await terminal.shows('steer: scout')
    terminal.type('go north')
    await terminal.shows('> go north')
    terminal.type('\r')
    await terminal.shows(/steer (accepted|taken into account)/)
    await terminal.shows('I go north.')
    await terminal.shows('scout asks: Red or blue?')
    await terminal.shows('blocked')
    terminal.type('s')
    await terminal.shows('agent_busy: scout waits for an answer to its question.')

    for (const [cols, rows, head] of [
      [20, 24, /^ scout · blocked\s*$/],
      [200, 40, /^ scout · blocked · scout · context 0% · \d+ tokens\s*$/],
      [80, 30, /^ scout · blocked · scout · context 0% · \d+ tokens\s*$/],
    ] as const) {
      terminal.resize(cols, rows)
      const question = cols === 20 ? /^scout asks: Red or\s*$/ : /^scout asks: Red or blue\?\s*$/
      await fact(`the view has ${cols} columns`, () => {
        const { lines } = terminal
        const [first = '', second = '', last = ''] = [lines[0], lines[1], lines.at(-1)]
        return head.test(first) && question.test(second) && last.startsWith(' q leave')
      })
    }

    terminal.type('r')
    await terminal.shows('reply: scout')
    terminal.type('Make it blue')
    await terminal.shows('> Make it blue')
    terminal.type('\r')
    await terminal.shows('Painted blue.')
    await terminal.shows('has come to its end')
    terminal.type('q')
    await terminal.shows('→ Running (0)') // the menu it was opened from
    assert.doesNotMatch(terminal.text, /q leave/)
  })
})
