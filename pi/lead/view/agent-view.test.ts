import assert from 'node:assert/strict'
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it, type TestContext } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { type ExtensionContext, initTheme, type Theme } from '@mariozechner/pi-coding-agent'
import { type Component, type TUI, visibleWidth } from '@mariozechner/pi-tui'
import { hangs, type Lead, refusal, world } from '../../../actors/testing/index.ts'
import { type Clock, systemClock } from '../../../mailbox/index.ts'
import { openAgentView } from './agent-view.ts'
import type { ViewedAgents } from './watched-agent.ts'

initTheme('dark')

const directory = mkdtempSync(join(tmpdir(), 'drover-view-'))
after(() => rmSync(directory, { recursive: true }))

const plain = (_colour: string, text: string) => text
const theme = { fg: plain, bg: plain, bold: (text: string) => text } as unknown as Theme

const keys = {
  ...{ up: '\x1b[A', down: '\x1b[B', home: '\x1b[H', end: '\x1b[F', pageUp: '\x1b[5~' },
  ...{ enter: '\r', escape: '\x1b' },
}

const message = (value: object) => `${JSON.stringify({ type: 'message', message: value })}\n`
const prompt = (text: string) => message({ role: 'user', content: text })
const says = (text: string, ...calls: object[]) =>
  message({ role: 'assistant', content: [{ type: 'text', text }, ...calls] })
const call = (id: string, name: string, args: object) => ({
  ...{ type: 'toolCall', id, name, arguments: args },
})
const answer = (toolCallId: string, toolName: string, text: string, more: object = {}) =>
  message({ role: 'toolResult', toolCallId, toolName, content: [{ type: 'text', text }], ...more })

/** The agents of a simulated lead; what they say is in a real file. */
function agentsOf(lead: Lead, sessionFile: string): ViewedAgents {
  const { owner } = lead
  const inFile = async () => {
    const rows = await lead.rows()
    return rows.map((row) => {
      const { generation } = row.facts
      const identity = { ...generation.identity, sessionFile }
      return { ...row, facts: { ...row.facts, generation: { ...generation, identity } } }
    })
  }
  return {
    agents: async () => ({ rows: await inFile(), role: 'acting', unreadable: [], below: [] }),
    tell: (kind, { agent, message: text }) => lead.world.run(owner.tell(agent, { kind, text })),
    close: (label) => lead.world.run(owner.close(label)),
    ownAgents: { onChange: (listener: () => void) => owner.onChange(listener) },
  }
}

/** A view on a screen of this size, whose renders are counted. */
async function opened(t: TestContext, { rows = 30, clock = systemClock as Clock } = {}) {
  const lead = await world().lead()
  await lead.delegate(hangs())
  const file = join(mkdtempSync(join(directory, 'session-')), 'session.jsonl')
  writeFileSync(file, '{"type":"session"}\n')
  const screen = { width: 80, renders: 0 }
  const tui = { terminal: { rows }, requestRender: () => screen.renders++ } as unknown as TUI
  let view: Component | undefined
  const custom = (make: (...given: unknown[]) => Component): Promise<void> =>
    new Promise((done) => {
      view = make(tui, theme, undefined, done)
    })
  const ctx = { ui: { custom } } as unknown as ExtensionContext
  const ports = { agents: agentsOf(lead, file), clock }
  const left = openAgentView(ctx, ports, 'scout')
  const lines = (width = screen.width) => view?.render(width) ?? []
  const text = () => stripVTControlCharacters(lines().join('\n'))
  const shows = async (what: RegExp) => {
    for (let i = 0; i < 20_000; i++) {
      if (view !== undefined && what.test(text())) return
      await new Promise((resolve) => setImmediate(resolve))
    }
    assert.fail(`${what} is not in\n${text()}`)
  }
  await shows(/q leave/)
  const type = (data: string) => view?.handleInput?.(data)
  t.after(async () => {
    for (const key of ['n', keys.escape, keys.escape]) type(key)
    await left
  })
  return { lead, file, left, lines, text, shows, type, screen }
}

describe('the view of an agent', () => {
  const hostile = '\x1b[2J\x1b]0;t\x07羊🐑👩‍👩‍👧 e\u0301\u202e\twide '.repeat(12)

  it('fills the screen and no more, whatever is said and however wide it is', async (t) => {
    const { file, lines, shows } = await opened(t)
    appendFileSync(
      file,
      [
        prompt(hostile),
        says(
          `# ${hostile}\n\n| a | b |\n|---|---|\n| ${hostile} | 羊 |\n\n\`\`\`ts\n${hostile}\n\`\`\``,
        ),
        says('', call('1', 'bash', { command: hostile }), call('2', hostile, { a: hostile })),
        says('', call('3', 'edit', { path: hostile, edits: [{ oldText: 'a', newText: 'b' }] })),
        says(
          '',
          call('4', 'read', { path: 7 }),
          call('5', 'write', { path: 'a', content: hostile }),
        ),
        answer('1', 'bash', hostile, {
          isError: true,
          details: { truncation: 7, fullOutputPath: {} },
        }),
        answer('2', hostile, hostile),
        answer('3', 'edit', hostile, { details: { diff: hostile } }),
        answer('4', 'read', hostile, { details: { truncation: { truncated: true } } }),
        answer('gone', 'grep', hostile, { details: { matchLimitReached: {} } }),
        message({ role: 'bashExecution', command: 'ls', output: hostile, exitCode: 1 }),
        message({ role: 'assistant', content: [], stopReason: 'error', errorMessage: hostile }),
        says('the last words'),
      ].join(''),
    )
    await shows(/the last words/)
    for (const width of [1, 2, 20, 80, 200, 300]) {
      const shown = lines(width)
      assert.equal(shown.length, 30)
      assert.deepEqual(
        shown.filter((line) => visibleWidth(line) !== width),
        [],
        `at ${width} columns`,
      )
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
      assert.doesNotMatch(shown.join('\n'), /\x1b\[2J|\x1b\]0;|\x07|\u202e|\t/)
    }
  })

  it('shows tools with their arguments and answers collapsed, and whole when they are expanded', async (t) => {
    const { file, text, shows, type } = await opened(t)
    const long = Array.from({ length: 20 }, (_, i) => `row ${i}`).join('\n')
    appendFileSync(file, says('I look.', call('1', 'agent', { task: 'x '.repeat(200) })))
    appendFileSync(file, answer('1', 'agent', long))
    await shows(/row 0/)
    assert.match(text(), /agent \{"task":"x x .*…/s)
    assert.match(text(), /… 15 more lines/)
    assert.doesNotMatch(text(), /row 7/)
    type('o')
    assert.match(text(), /row 7/)
    assert.doesNotMatch(text(), /more lines/)
  })

  it('stays where the person scrolled to while it grows, and follows the end again', async (t) => {
    const { file, lines, text, shows, type } = await opened(t, { rows: 12 })
    appendFileSync(file, Array.from({ length: 30 }, (_, i) => prompt(`said ${i}.`)).join(''))
    await shows(/said 29\./)
    type(keys.home)
    assert.match(text(), /said 0\./)
    const stays = lines().slice(1, -1)
    appendFileSync(file, prompt('new.'))
    type(keys.down)
    type(keys.up)
    assert.deepEqual(lines().slice(1, -1), stays)
    type(keys.end)
    await shows(/new\./)
    type(keys.pageUp)
    assert.doesNotMatch(text(), /new\./)
    for (let i = 0; i < 20; i++) type(keys.down)
    assert.match(text(), /new\./)
    assert.doesNotMatch(text(), /End follow/)
  })

  it('steers, and says what became of it', async (t) => {
    const { lead, shows, type } = await opened(t)
    type('s')
    for (const letter of 'go north') type(letter)
    await shows(/steer: scout/)
    type(keys.enter)
    await shows(/agent=scout request=\w+ steer accepted/)
    assert.match(lead.world.agent('scout').host.texts.at(-1) ?? '', /go north/)
  })

  it('refuses what may not be done with the words of the tool', async (t) => {
    const { lead, shows, type } = await opened(t)
    const told = await refusal(lead.world, lead.owner.tell('scout', { kind: 'reply', text: 'a' }))
    type('r')
    await shows(new RegExp(`agent_busy: ${told.message}`))
  })

  it('closes after a yes, and not after a no', async (t) => {
    const { lead, shows, type, left } = await opened(t)
    type('x')
    await shows(/Close scout\?/)
    type('n')
    assert.equal((await lead.rows()).length, 1)
    type('x')
    type('y')
    await shows(/agent=scout closed/)
    assert.equal((await lead.rows()).length, 0)
    type('q')
    assert.equal(await left, 'left')
  })

  it('is left without stopping the agent', async (t) => {
    const { lead, type, left } = await opened(t)
    type(keys.escape)
    assert.equal(await left, 'left')
    assert.equal((await lead.rows())[0]?.state, 'working')
  })

  it('shows nothing where there is no terminal, and refuses a label that nobody has', async () => {
    const lead = await world().lead()
    await lead.delegate(hangs())
    const ports = { agents: agentsOf(lead, join(directory, 'none')), clock: systemClock }
    const ctx = { ui: { custom: async () => undefined } } as unknown as ExtensionContext
    assert.equal(await openAgentView(ctx, ports, 'scout'), 'no_screen')
    await assert.rejects(openAgentView(ctx, ports, 'nobody'), /no agent called nobody/)
  })
})
