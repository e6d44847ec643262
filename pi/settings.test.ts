import assert from 'node:assert/strict'
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { diskFs, systemIds } from '../mailbox/index.ts'
import { readSettings, settingsPath, writeSettings } from './settings.ts'

function places(t: TestContext, global: unknown, project?: unknown) {
  const agentDirectory = mkdtempSync(join(tmpdir(), 'drover-settings-'))
  t.after(() => rmSync(agentDirectory, { recursive: true }))
  const text = typeof global === 'string' ? global : JSON.stringify(global)
  if (global !== undefined) writeFileSync(settingsPath(agentDirectory), text)
  const cwd = join(agentDirectory, 'project/deep')
  mkdirSync(join(agentDirectory, 'project/.pi'), { recursive: true })
  mkdirSync(cwd)
  if (project !== undefined)
    writeFileSync(join(agentDirectory, 'project/.pi/drover.json'), JSON.stringify(project))
  return { agentDirectory, cwd, projectTrusted: false }
}

const defaults = {
  inlineAttachmentLimitBytes: 131_072,
  mailboxPayloadLimitBytes: 131_072,
  placement: 'tab',
  runner: 'auto',
  keepPanes: false,
  liveAgentsMax: 16,
}

describe('settings', () => {
  it('are the defaults where there are none', (t) => {
    const reading = readSettings(places(t, undefined))
    assert.deepEqual(reading.settings, defaults)
    assert.equal(reading.placementScope, 'default')
    assert.deepEqual(reading.diagnostics, [])
  })

  it('take each valid value, ignore each other one and say so, and clamp nothing', (t) => {
    const reading = readSettings(
      places(t, {
        inlineAttachmentLimitBytes: 1_024,
        mailboxPayloadLimitBytes: 1_048_577,
        placement: 'window',
        liveAgentsMax: 2.5,
        runner: 'tmux',
        keepPanes: 'yes',
        unknown: true,
      }),
    )
    assert.deepEqual(reading.settings, { ...defaults, inlineAttachmentLimitBytes: 1_024 })
    assert.equal(reading.diagnostics.length, 5)
    assert.match(reading.diagnostics.join('\n'), /mailboxPayloadLimitBytes is ignored/)
  })

  for (const [what, text] of [
    ['no JSON', '{'],
    ['no object', '[1]'],
  ] as const)
    it(`that are ${what} count as none, and are said`, (t) => {
      const reading = readSettings(places(t, text))
      assert.deepEqual(reading.settings, defaults)
      assert.equal(reading.diagnostics.length, 1)
    })

  it('of a project count for placement alone, and only when it is trusted', (t) => {
    const found = places(t, { placement: 'tab' }, { placement: 'split', liveAgentsMax: 1 })
    assert.equal(readSettings(found).settings.placement, 'tab')
    const trusted = readSettings({ ...found, projectTrusted: true })
    assert.equal(trusted.settings.placement, 'split')
    assert.equal(trusted.placementScope, 'project')
    assert.equal(trusted.settings.liveAgentsMax, 16)
  })

  it('are changed without touching what is not known', async (t) => {
    const { agentDirectory } = places(t, { unknown: { a: 1 }, placement: 'tab' })
    await writeSettings(diskFs, systemIds, agentDirectory, (now) => ({
      ...now,
      placement: 'split',
    }))
    const written = JSON.parse(readFileSync(settingsPath(agentDirectory), 'utf8'))
    assert.deepEqual(written, { unknown: { a: 1 }, placement: 'split' })
  })

  it('behind a link are changed where they are', async (t) => {
    const { agentDirectory } = places(t, undefined)
    const elsewhere = join(agentDirectory, 'dotfiles.json')
    writeFileSync(elsewhere, '{"unknown":1}')
    symlinkSync(elsewhere, settingsPath(agentDirectory))
    await writeSettings(diskFs, systemIds, agentDirectory, (now) => ({ ...now, liveAgentsMax: 3 }))
    assert.ok(lstatSync(settingsPath(agentDirectory)).isSymbolicLink())
    assert.deepEqual(JSON.parse(readFileSync(elsewhere, 'utf8')), { unknown: 1, liveAgentsMax: 3 })
  })

  it('that cannot be put in place leave nothing beside them', async (t) => {
    const { agentDirectory } = places(t, {})
    rmSync(settingsPath(agentDirectory))
    mkdirSync(settingsPath(agentDirectory))
    await assert.rejects(
      writeSettings(diskFs, systemIds, agentDirectory, () => ({})),
      /Mend or remove/,
    )
    assert.deepEqual(readdirSync(agentDirectory).sort(), ['drover.json', 'project'])
  })
})
