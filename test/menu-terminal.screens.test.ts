import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { piCommand } from '../demo/pi-process.ts'
import { Terminal } from '../herdr/testing/fake-terminal.ts'
import { sandbox } from './support.ts'

const keys = { enter: '\r', escape: '\x1b', down: '\x1b[B' } as const

/** A Pi in a terminal, and somebody before it. */
async function sat(t: TestContext, cols: number, prepare: (agents: string) => void = () => {}) {
  const place = sandbox(t, [])
  const agents = join(place.agentDirectory, 'agents')
  mkdirSync(agents)
  prepare(agents)
  const env = Object.fromEntries(
    Object.entries({ ...place.env, TERM: 'xterm-256color' }).filter(([, value]) => value),
  ) as Record<string, string>
  const { file, args } = piCommand()
  const terminal = Terminal.start({
    argv: [file, ...args],
    cwd: place.project,
    env,
    cols,
    rows: 40,
  })
  t.after(() => terminal.end())
  const rows = async () => {
    await terminal.screen.settled()
    return terminal.screen.read('visible').text.split('\n')
  }
  /** Waits until a row of the screen shows this, or none does. */
  const sees = async (part: string | RegExp, isThere: boolean = true): Promise<string[]> => {
    const deadline = performance.now() + 30_000
    const shows = (row: string) => (typeof part === 'string' ? row.includes(part) : part.test(row))
    for (;;) {
      const shown = await rows()
      if (shown.some(shows) === isThere) return shown
      assert.ok(performance.now() < deadline, `${part} is not on the screen:\n${shown.join('\n')}`)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  await sees('(auto)')
  return { place, terminal, sees }
}

describe('/agents in a terminal of 80 columns', () => {
  it('is completed, walked through with the arrows, and left with escape', async (t) => {
    const { place, terminal, sees } = await sat(t, 80)
    terminal.write('/agents p')
    await sees(/placement split +New agents open/)
    terminal.write(keys.enter)
    await sees(/^.?\/agents placement/)
    terminal.write(keys.enter)
    await sees('Layout: tab (the default)')
    terminal.write(keys.down)
    await sees('→ split: ')
    terminal.write(keys.enter)
    await sees('Layout is split for new agents (global: ')
    terminal.write('/agents')
    terminal.write(keys.enter)
    await sees('→ Running (0)')
    terminal.write(keys.down)
    await sees('→ Definitions (5 of 5 in use)')
    terminal.write(keys.down)
    await sees('→ Layout (split)')
    const settings = join(place.agentDirectory, 'drover.json')
    assert.deepEqual(JSON.parse(readFileSync(settings, 'utf8')), { placement: 'split' })
    terminal.write(keys.escape)
    await sees('→', false)
    terminal.write('still typing')
    await sees('still typing')
  })

  for (const cols of [80, 20])
    it(`clips every line of a list to the width of the terminal: ${cols} columns`, async (t) => {
      const model = `a/${'模型🚀e\u0301'.repeat(20)}`
      const { terminal, sees } = await sat(t, cols, (agents) =>
        writeFileSync(join(agents, 'implementer.md'), `---\nmodel: ${model}\n---\n`),
      )
      terminal.write('/agents definitions')
      terminal.write(keys.enter)
      const rows = await sees('  implementer')
      const at = rows.findIndex((row) => row.includes('  implementer'))
      assert.match(rows[at] ?? '', /…\s*$/)
      assert.match(rows[at + 1] ?? '', /^ +researcher/)
    })
})
