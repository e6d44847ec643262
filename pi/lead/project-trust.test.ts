import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import type { ExtensionContext } from '@mariozechner/pi-coding-agent'
import { systemClock } from '../../mailbox/index.ts'
import { readRoster } from '../definitions/index.ts'
import { Dialogs } from '../dialogs.ts'
import { readSettings, settingsPath } from '../settings.ts'
import { editorFor } from '../testing/editor-for.ts'
import { ProjectTrust } from './project-trust.ts'

/** A project with definitions, a directory below it, and somebody who is asked about them. */
function place(t: TestContext, answer: boolean = true) {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'drover-trust-')))
  t.after(() => rmSync(root, { recursive: true, force: true }))
  const [agentDirectory, project, below] = [join(root, 'own'), join(root, 'p'), join(root, 'p/sub')]
  for (const path of [agentDirectory, below]) mkdirSync(path, { recursive: true, mode: 0o700 })
  const define = (directory: string) => {
    mkdirSync(join(directory, '.pi/agents'), { recursive: true })
    writeFileSync(join(directory, '.pi/agents/evil.md'), '---\nname: evil\ndescription: x\n---\nx')
  }
  const decide = (trustedProjects: Record<string, boolean>) =>
    writeFileSync(settingsPath(agentDirectory), JSON.stringify({ trustedProjects }))
  const asked: string[] = []
  const confirm = async (_title: string, text: string) => {
    asked.push(text)
    return answer
  }
  const said: string[] = []
  const ui = { confirm, notify: (text: string) => said.push(text) }
  const at = (cwd: string) => ({ cwd, hasUI: true, ui }) as unknown as ExtensionContext
  const trust = new ProjectTrust({
    clock: systemClock,
    editor: editorFor(t, agentDirectory),
    dialogs: new Dialogs(),
    agentDirectory,
  })
  const read = () => readSettings({ agentDirectory, cwd: below, projectTrusted: false })
  return { agentDirectory, project, below, define, decide, at, asked, said, trust, read }
}

describe('trust in a project', () => {
  it('is not needed where nothing is defined', (t) => {
    const { trust, at, below } = place(t)
    assert.equal(trust.known(at(below)), false)
  })

  it('is asked for once, for the project whose definitions are read, and kept', async (t) => {
    const { trust, at, below, project, define, asked, read } = place(t)
    define(project)
    mkdirSync(join(below, '.pi')) // nearer, and nothing in it
    assert.equal(trust.known(at(below)), undefined)
    assert.equal(await trust.isTrusted(at(below)), true)
    assert.deepEqual(read().trustedProjects, { [project]: true })
    assert.ok(asked[0]?.startsWith(join(project, '.pi')))
    assert.equal(await trust.isTrusted(at(project)), true)
    assert.equal(asked.length, 1)
  })

  it('is kept when it is refused too', async (t) => {
    const { trust, at, project, define, asked } = place(t, false)
    define(project)
    assert.equal(await trust.isTrusted(at(project)), false)
    assert.equal(await trust.isTrusted(at(project)), false)
    assert.equal(asked.length, 1)
  })

  it('counts for the session where it cannot be kept, and spoils no file', async (t) => {
    const { trust, at, project, define, asked, said, agentDirectory } = place(t)
    define(project)
    const broken = '{ "liveAgentsMax": 4, }'
    writeFileSync(settingsPath(agentDirectory), broken)
    assert.equal(await trust.isTrusted(at(project)), true)
    assert.equal(await trust.isTrusted(at(project)), true)
    assert.equal(asked.length, 1)
    assert.match(
      said.join('\n'),
      /this session alone: .*drover\.json is not JSON.* Mend or remove it first/,
    )
    assert.equal(readFileSync(settingsPath(agentDirectory), 'utf8'), broken)
  })

  it('takes no other answer away', async (t) => {
    const { trust, at, project, define, agentDirectory } = place(t)
    define(project)
    const others = { '/a': false, '/b': 'yes' }
    writeFileSync(settingsPath(agentDirectory), JSON.stringify({ trustedProjects: others }))
    assert.equal(await trust.isTrusted(at(project)), true)
    const { trustedProjects } = JSON.parse(readFileSync(settingsPath(agentDirectory), 'utf8'))
    assert.deepEqual(trustedProjects, { ...others, [project]: true })
  })

  it('in one directory admits no definitions of another', (t) => {
    const { trust, at, below, project, define, decide, agentDirectory } = place(t)
    define(project)
    mkdirSync(join(below, '.pi'))
    writeFileSync(join(below, '.pi/drover.json'), '{}')
    decide({ [below]: true, [project]: false })
    assert.equal(trust.known(at(below)), false)
    const roster = readRoster({ agentDirectory, cwd: below, projectTrusted: false })
    assert.ok(!roster.definitions.some(({ name }) => name === 'evil'))
  })
})
