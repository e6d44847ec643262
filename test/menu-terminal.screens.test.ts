import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { sandbox } from './support.ts'
import { PiTerminal } from './terminal.ts'

const keys = { enter: '\r', escape: '\x1b', down: '\x1b[B' } as const

/** A Pi in a terminal, and somebody before it. */
async function sat(t: TestContext, cols: number, prepare: (agents: string) => void = () => {}) {
  const place = sandbox(t, [])
  const agents = join(place.agentDirectory, 'agents')
  mkdirSync(agents)
  prepare(agents)
  const terminal = new PiTerminal(place, { cols, rows: 40 })
  t.after(() => terminal.kill())
  /** Waits until a row of the screen shows this, or none does. */
  const sees = async (part: string | RegExp, isThere: boolean = true): Promise<string[]> => {
    const shows = (row: string) => (typeof part === 'string' ? row.includes(part) : part.test(row))
    const what = `${part} ${isThere ? 'in a row' : 'in none'}`
    return (await terminal.until(what, (text) => text.split('\n').some(shows) === isThere)).split(
      '\n',
    )
  }
  await sees('(auto)')
  return { place, terminal, sees }
}

describe('/agents in a terminal of 80 columns', () => {
  it('is completed, walked through with the arrows, and left with escape', async (t) => {
    const { place, terminal, sees } = await sat(t, 80)
    terminal.type('/agents p')
    await sees(/placement split +New agents open/)
    terminal.type(keys.enter)
    await sees(/^.?\/agents placement/)
    terminal.type(keys.enter)
    await sees('Layout: tab (the default)')
    terminal.type(keys.down)
    await sees('→ split: ')
    terminal.type(keys.enter)
    await sees('Layout is split for new agents (global: ')
    terminal.type('/agents')
    terminal.type(keys.enter)
    await sees('→ Running (0)')
    terminal.type(keys.down)
    await sees('→ Definitions (5 of 5 in use)')
    terminal.type(keys.down)
    await sees('→ Layout (split)')
    const settings = join(place.agentDirectory, 'drover.json')
    assert.deepEqual(JSON.parse(readFileSync(settings, 'utf8')), { placement: 'split' })
    terminal.type(keys.escape)
    await sees('→', false)
    terminal.type('still typing')
    await sees('still typing')
  })

  for (const cols of [80, 20])
    it(`clips every line of a list to the width of the terminal: ${cols} columns`, async (t) => {
      const model = `a/${'模型🚀e\u0301'.repeat(20)}`
      const { terminal, sees } = await sat(t, cols, (agents) =>
        writeFileSync(join(agents, 'implementer.md'), `---\nmodel: ${model}\n---\n`),
      )
      terminal.type('/agents definitions')
      terminal.type(keys.enter)
      const rows = await sees('  implementer')
      const at = rows.findIndex((row) => row.includes('  implementer'))
      assert.match(rows[at] ?? '', /…\s*$/)
      assert.match(rows[at + 1] ?? '', /^ +researcher/)
    })
})
