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

function flagsOf(lines: string[], ownTools: string[] = []): DefinitionFlags {
  const flags = definitionFlags(define(...lines), host, ownTools)
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

  it('keeps the tools of ours whatever it limits', () => {
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
