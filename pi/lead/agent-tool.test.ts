import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import type { ExtensionAPI, ExtensionContext, ToolDefinition } from '@mariozechner/pi-coding-agent'
import { diskFs, rootPaths, systemClock, systemIds, systemProcesses } from '../../mailbox/index.ts'
import type { World } from '../compose.ts'
import type { HostGate } from '../host.ts'
import { registerAgentTool } from './agent-tool.ts'
import { Delegation } from './delegation.ts'

interface Shown {
  readonly name: string
  readonly [field: string]: unknown
}

/** A session with definitions of its own, as its model is told of them when it starts and by `list`. */
class Session {
  readonly agents: string
  readonly #tool: ToolDefinition
  readonly #ctx: ExtensionContext

  constructor(t: TestContext, definitions: Readonly<Record<string, string>>, as?: string) {
    const directory = mkdtempSync(join(tmpdir(), 'drover-agent-tool-'))
    t.after(() => rmSync(directory, { recursive: true }))
    this.agents = join(directory, 'agents')
    mkdirSync(this.agents)
    for (const [name, text] of Object.entries(definitions)) this.define(name, text)
    const world = {
      ...{ fs: diskFs, clock: systemClock, ids: systemIds, processes: systemProcesses() },
      ...{ root: rootPaths(directory), agentDirectory: directory },
    } as unknown as World
    const tools: ToolDefinition[] = []
    const pi = { registerTool: (tool: ToolDefinition) => tools.push(tool), on: () => {} }
    const sessionManager = { getSessionId: () => '01a2' }
    this.#ctx = { cwd: directory, hasUI: false, sessionManager } as unknown as ExtensionContext
    const api = pi as unknown as ExtensionAPI
    const standing = { rootSession: '01a2', depth: as === undefined ? 0 : 1 }
    const delegation = new Delegation(api, world, {} as HostGate, {
      ...standing,
      ...(as !== undefined && { definition: as }),
    })
    registerAgentTool(api, delegation, this.#ctx)
    const [tool] = tools
    assert.ok(tool)
    this.#tool = tool
  }

  define(name: string, text: string): void {
    writeFileSync(join(this.agents, `${name}.md`), text)
  }

  get description(): string {
    return this.#tool.description
  }

  get snapshot(): readonly Shown[] {
    const lines = this.description.split('\n').filter((line) => line.startsWith('{'))
    return lines.map((line) => JSON.parse(line) as Shown)
  }

  async call(args: object): Promise<{ readonly text: string; readonly details: object }> {
    const { content, details } = await this.#tool.execute(
      ...(['1', args, undefined, undefined, this.#ctx] as unknown as Parameters<
        ToolDefinition['execute']
      >),
    )
    const [first] = content
    assert.ok(first?.type === 'text')
    return { text: first.text, details: details as object }
  }

  async list(): Promise<readonly Shown[]> {
    const { text } = await this.call({ action: 'list' })
    return (JSON.parse(text) as { agent_definitions: readonly Shown[] }).agent_definitions
  }
}

const mole =
  '---\ndescription: digs\ntools: read, bash\nmodel: faux/one\nthinking: low\n---\nDig.\n'
const limited = (text: string) => `---\ndescription: ${text}\n---\nx\n`

describe('what a session is told of definitions when it starts', () => {
  it('is what list answers, each whole on a line of its own', async (t) => {
    const session = new Session(t, { mole, idle: '---\nenabled: false\n---\nx\n' })
    assert.deepEqual(session.snapshot, await session.list())
    const told = session.snapshot.find(({ name }) => name === 'mole')
    assert.deepEqual(told, {
      ...{ name: 'mole', description: 'digs', source: 'global' },
      path: join(session.agents, 'mole.md'),
      ...{ model: 'faux/one', thinking: 'low', tools: ['read', 'bash'], enabled: true },
    })
    assert.equal(session.snapshot.find(({ name }) => name === 'idle')?.['enabled'], false)
  })

  it('names where the skills of a definition are read from, as far as they are there', async (t) => {
    const session = new Session(t, {
      mole: '---\ndescription: digs\nskills: dig, ./own.md, ./gone.md\n---\nx\n',
    })
    const dig = join(session.agents, '../skills/dig/SKILL.md')
    mkdirSync(dirname(dig), { recursive: true })
    writeFileSync(dig, '---\nname: dig\ndescription: how to dig\n---\nDig.\n')
    writeFileSync(join(session.agents, 'own.md'), 'x')
    const told = (await session.list()).find(({ name }) => name === 'mole')
    assert.deepEqual(told?.['skills'], ['dig', './own.md', './gone.md'])
    assert.deepEqual(told?.['skill_paths'], [dig, join(session.agents, 'own.md')])
  })

  it('stays as it was, and says who knows what there is now', async (t) => {
    const session = new Session(t, { mole })
    session.define('later', mole)
    assert.ok(!session.snapshot.some(({ name }) => name === 'later'))
    assert.ok((await session.list()).some(({ name }) => name === 'later'))
    assert.match(session.description, /as this session starts; list has the present ones:\n\{/)
  })

  it('is for an agent what it may use: enabled ones that run here and delegate no further', async (t) => {
    const definitions = {
      lord: '---\nagents: mole, idle, squire, other, lord\n---\nx\n',
      squire: '---\nagents: mole\n---\nx\n',
      other: '---\ncli: another-program\n---\nx\n',
      idle: '---\nenabled: false\n---\nx\n',
      mole,
    }
    const session = new Session(t, definitions, 'lord')
    assert.deepEqual(
      session.snapshot.map(({ name }) => name),
      ['mole'],
    )
    assert.deepEqual(session.snapshot, await session.list())
  })

  it('holds the beginning of a long description and of long lists', async (t) => {
    const tools = Array.from({ length: 100 }, (_, i) => `tool_${i}_${'x'.repeat(40)}`)
    const text = `---\ndescription: ${'long '.repeat(200)}\ntools: ${tools.join(', ')}\n---\nx\n`
    const session = new Session(t, { mole: text })
    const told = session.snapshot.find(({ name }) => name === 'mole')
    assert.ok(told)
    assert.equal(String(told['description']).length, 512)
    const shown = told['tools'] as readonly string[]
    assert.deepEqual(shown.slice(0, -1), tools.slice(0, shown.length - 1))
    assert.equal(shown.at(-1), `… ${100 - (shown.length - 1)} more`)
    assert.ok(JSON.stringify(told).length < 2_500)
    assert.deepEqual(session.snapshot, await session.list())
  })

  it('names all of very many, and is of bounded size', async (t) => {
    const names = Array.from({ length: 200 }, (_, i) => `d${1_000 + i}`)
    const definitions = Object.fromEntries(names.map((name) => [name, limited('w'.repeat(1_000))]))
    const session = new Session(t, definitions)
    const told = session.snapshot.map(({ name }) => name)
    assert.ok(names.every((name) => told.includes(name)))
    assert.deepEqual(session.snapshot.at(-1), {
      ...{ name: 'scout', enabled: true, shortened: true },
    })
    assert.ok(Buffer.byteLength(session.description) < 50_000)
    assert.deepEqual(session.snapshot, await session.list())
  })

  it('moves no cursor and turns no text round', (t) => {
    const session = new Session(t, { mole: limited('"a\\e[2Jb\\u202ec\\u009b1md"') })
    const told = session.snapshot.find(({ name }) => name === 'mole')
    assert.equal(told?.['description'], 'abcd')
  })
})

describe('what the tool answers', () => {
  it('shows trouble with a file of any name, which programs are told as it is', async (t) => {
    const session = new Session(t, { 'bad\x1b[2J\u202e\u009b1m': '---\ntools: [\n---\nx\n' })
    const { text, details } = await session.call({ action: 'list' })
    const { diagnostics } = JSON.parse(text) as { diagnostics: readonly string[] }
    assert.match(diagnostics.join(), /\/bad\.md:/)
    assert.match(JSON.stringify(details), /\/bad\\u001b\[2J\u202e\u009b1m\.md:/)
  })

  it('holds nothing of a wrong call that could move a cursor, and no more than is read', async (t) => {
    const session = new Session(t, { mole })
    const agent = `\x1b[2Jevil\u202e${'x'.repeat(100_000)}`
    const { text, details } = await session.call({ action: 'close', agent })
    assert.match(text, /^target_not_found: There is no agent called evilxxx/)
    assert.match(text, /characters in all\]\nNext: This session has no agents now\. /)
    assert.ok(text.length < 25_000)
    assert.ok('error' in details)
  })
})
