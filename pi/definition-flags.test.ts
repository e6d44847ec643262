import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import {
  type DefinitionFlags,
  definitionFlags,
  type HostKnowledge,
  isGlobalContext,
} from './definition-flags.ts'
import { type Definition, readRoster } from './definitions/index.ts'

const directory = mkdtempSync(join(tmpdir(), 'drover-flags-'))
after(() => rmSync(directory, { recursive: true }))
const agents = join(directory, 'agents')
mkdirSync(agents)
writeFileSync(join(agents, 'skill.md'), 'a skill')
writeFileSync(join(agents, 'extension.ts'), '')

const host: HostKnowledge = {
  activeTools: ['read', 'bash', 'edit', 'write', 'web'],
  findSkill: (name) => (name === 'known' ? join(agents, 'skill.md') : undefined),
  contextFiles: () => [
    { path: '/agent/AGENTS.md', content: 'for all projects', isGlobal: true },
    { path: '/project/AGENTS.md', content: 'for this project', isGlobal: false },
  ],
}

/** The definition that a file with these lines of front matter makes. */
function define(...lines: string[]): Definition {
  writeFileSync(join(agents, 'role.md'), `---\n${lines.join('\n')}\n---\nYou are a role.\n`)
  const roster = readRoster({ agentDirectory: directory, cwd: directory, projectTrusted: false })
  const found = roster.definitions.find(({ name }) => name === 'role')
  assert.ok(found, JSON.stringify(roster.excluded))
  return found
}

function flagsOf(
  lines: string[],
  ownTools: string[] = [],
  parent?: Pick<Definition, 'name' | 'permission'>,
  activeTools: readonly string[] = host.activeTools,
): DefinitionFlags {
  const own = define(...lines)
  const flags = definitionFlags(
    own,
    { ...host, activeTools },
    ownTools,
    parent && { ...own, ...parent },
  )
  assert.ok(!('problem' in flags), JSON.stringify(flags))
  return flags
}

describe('a definition', () => {
  it('without limits leaves everything to the host', () => {
    assert.deepEqual(flagsOf([]), {
      systemPrompt: 'You are a role.',
      systemPromptMode: 'append',
      flags: [],
      inheritsExtensions: true,
    })
  })

  const tools: readonly (readonly [string[], string[]])[] = [
    [['tools: [read, ls]'], ['--tools', 'read,ls']],
    [['tools: []'], ['--no-tools']],
    [['excludeTools: bash, web'], ['--tools', 'read,edit,write']],
    [
      ['tools: [read, bash]', 'excludeTools: [bash]'],
      ['--tools', 'read'],
    ],
    [['noTools: true'], ['--no-tools']],
    [['noBuiltinTools: true'], ['--tools', 'web']],
    [
      ['tools: [read, web]', 'noBuiltinTools: true'],
      ['--tools', 'web'],
    ],
  ]
  for (const [lines, flags] of tools)
    it(`with ${lines.join(' and ')} makes ${flags.join(' ')}`, () => {
      assert.deepEqual(flagsOf(lines).flags, flags)
    })

  const permissions: readonly (readonly [string[], string[]])[] = [
    [['permission: allow'], []],
    [['permission: {bash: allow}'], []],
    [['permission: ask'], ['--tools', 'read']],
    [['permission: deny'], ['--tools', 'read']],
    [['permission: {"*": deny, web: allow}'], ['--tools', 'read,web']],
    [['permission: {bash: ask}'], ['--tools', 'read,edit,write,web']],
    [['permission: {read: deny}'], ['--tools', 'bash,edit,write,web']],
    [['permission: {bash: {"git *": allow, "*": ask}}'], ['--tools', 'read,edit,write,web']],
    [
      ['permission: ask', 'tools: [read, grep, find, ls, bash]'],
      ['--tools', 'read,grep,find,ls'],
    ],
  ]
  for (const [lines, flags] of permissions)
    it(`with ${lines.join(' and ')} makes ${flags.join(' ') || 'no limit'}`, () => {
      assert.deepEqual(flagsOf(lines).flags, flags)
    })

  it('gets of each tool the stricter of its own permission and that of its parent', () => {
    const boss = { name: 'boss', permission: { bash: 'deny', web: 'ask', edit: 'allow' } } as const
    const flags = flagsOf(['permission: {bash: allow, edit: ask, web: ask}'], ['ask_owner'], boss)
    assert.deepEqual(flags.flags, ['--tools', 'read,write,ask_owner'])
    assert.match(flags.systemPrompt, /bash \(permission deny of the definition boss\)/)
    assert.match(flags.systemPrompt, /edit, web \(permission ask of the definition role\)/)
    const plain = flagsOf([], [], { name: 'boss', permission: 'deny' })
    assert.deepEqual(plain.flags, ['--tools', 'read'])
    assert.match(
      flagsOf([], [], { name: 'boss', permission: 'deny' }, ['read']).systemPrompt,
      /bash, edit, write \(permission deny of the definition boss\)/,
    )
    const explicit = flagsOf(['permission: allow', 'tools: [bash, ls]'], [], {
      name: 'boss',
      permission: 'ask',
    })
    assert.deepEqual(explicit.flags, ['--tools', 'ls'])
  })

  it('delegates unless that is taken away by its name, and can always ask', () => {
    const own = ['ask_owner', 'agent']
    const toolsOf = (line: string) => {
      const { flags } = flagsOf(['tools: read', line], own)
      return flags[flags.indexOf('--tools') + 1]?.split(',')
    }
    assert.deepEqual(toolsOf('permission: deny'), ['read', 'ask_owner', 'agent'])
    assert.deepEqual(toolsOf('permission: {agent: deny, ask_owner: deny}'), ['read', 'ask_owner'])
    assert.deepEqual(toolsOf('excludeTools: agent, ask_owner'), ['read', 'ask_owner'])
    const { systemPrompt } = flagsOf(['permission: {agent: ask}'], own)
    assert.match(systemPrompt, /withheld from you: agent \(permission ask of the definition role\)/)
  })

  it('says in the prompt which tools its permission withholds, and whom to ask', () => {
    assert.equal(
      flagsOf(['permission: ask']).systemPrompt,
      'You are a role.\n\nTools withheld from you: bash, edit, write, web (permission ask of the definition role). Nobody sits before this session who could allow them. If you cannot do your task without them, put what you need to your owner with ask_owner.',
    )
    assert.equal(flagsOf(['permission: ask', 'tools: [read]']).systemPrompt, 'You are a role.')
  })

  it('keeps the tools of ours whatever it limits without naming them', () => {
    const denied = flagsOf(['permission: {"*": deny}'], ['agent'])
    assert.deepEqual(denied.flags, ['--tools', 'read,agent'])
    assert.doesNotMatch(denied.systemPrompt, /agent \(/)
    assert.deepEqual(flagsOf(['tools: [read]'], ['agent']).flags, ['--tools', 'read,agent'])
    assert.deepEqual(flagsOf(['noTools: true'], ['agent']).flags, ['--tools', 'agent'])
    assert.deepEqual(flagsOf([], ['agent']).flags, [])
  })

  const skill = join(agents, 'skill.md')
  const skills: readonly (readonly [string[], string[]])[] = [
    [['noSkills: true'], ['--no-skills']],
    [['skills: []'], ['--no-skills']],
    [['skills: known'], ['--no-skills', '--skill', skill]],
    [['skills: ./skill.md'], ['--no-skills', '--skill', skill]],
    [
      ['skills: known', 'inheritSkills: true'],
      ['--skill', skill],
    ],
    [['inheritSkills: false'], ['--no-skills']],
  ]
  for (const [lines, flags] of skills)
    it(`with ${lines.join(' and ')} makes ${flags.length === 0 ? 'nothing' : flags.slice(0, 2).join(' ')}`, () => {
      assert.deepEqual(flagsOf(lines).flags, flags)
    })

  it('that names a skill nobody has is refused, not run without it', () => {
    const flags = definitionFlags(define('skills: unknown'), host, [])
    assert.deepEqual(flags, {
      problem: 'definition role names the skill unknown, which is not there.',
    })
  })

  it('that limits extensions cuts off those of the lead', () => {
    const none = flagsOf(['noExtensions: true'])
    assert.deepEqual(none.flags, ['--no-extensions'])
    assert.equal(none.inheritsExtensions, false)
    const some = flagsOf(['extensions: [./extension.ts, "npm:some-package"]'])
    assert.deepEqual(some.flags, [
      '--no-extensions',
      ...['-e', join(agents, 'extension.ts')],
      ...['-e', 'npm:some-package'],
    ])
    assert.equal(some.inheritsExtensions, false)
  })

  it('can replace the prompt of the host', () => {
    assert.equal(flagsOf(['systemPromptMode: replace']).systemPromptMode, 'replace')
  })

  it('takes all instruction files, none, or one half of them', () => {
    const neither = flagsOf(['inheritProjectContext: false', 'inheritGlobalContext: false'])
    assert.deepEqual(neither.flags, ['--no-context-files'])
    assert.equal(neither.systemPrompt, 'You are a role.')
    const global = flagsOf(['inheritProjectContext: false'])
    assert.deepEqual(global.flags, ['--no-context-files'])
    assert.match(global.systemPrompt, /for all projects/)
    assert.doesNotMatch(global.systemPrompt, /for this project/)
    const project = flagsOf(['inheritGlobalContext: false'])
    assert.match(project.systemPrompt, /for this project/)
    assert.doesNotMatch(project.systemPrompt, /for all projects/)
    assert.equal(isGlobalContext('/agent', '/agent/CLAUDE.md'), true)
    assert.equal(isGlobalContext('/agent', '/agent/sub/CLAUDE.md'), false)
  })
})
