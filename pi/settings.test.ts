import assert from 'node:assert/strict'
import {
  existsSync,
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
import { changeSetting, readSettings, settingsPath, writeSettings } from './settings.ts'
import { editorFor } from './testing/editor-for.ts'

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
    await writeSettings(editorFor(t, agentDirectory), agentDirectory, (now) => ({
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
    await writeSettings(editorFor(t, agentDirectory), agentDirectory, (now) => ({
      ...now,
      liveAgentsMax: 3,
    }))
    assert.ok(lstatSync(settingsPath(agentDirectory)).isSymbolicLink())
    assert.deepEqual(JSON.parse(readFileSync(elsewhere, 'utf8')), { unknown: 1, liveAgentsMax: 3 })
  })

  it('that cannot be put in place leave nothing beside them', async (t) => {
    const { agentDirectory } = places(t, {})
    rmSync(settingsPath(agentDirectory))
    mkdirSync(settingsPath(agentDirectory))
    await assert.rejects(
      writeSettings(editorFor(t, agentDirectory), agentDirectory, () => ({})),
      /Mend or remove/,
    )
    assert.deepEqual(readdirSync(agentDirectory).sort(), ['drover', 'drover.json', 'project'])
  })

  it('of many changes by several windows at once lose none', async (t) => {
    const { agentDirectory } = places(t, { unknown: 1 })
    const windows = [1, 2, 3].map(() => editorFor(t, agentDirectory))
    const keys = windows.flatMap((editor, window) =>
      [0, 1, 2, 3].map((each) => ({ editor, key: `key-${window}-${each}` })),
    )
    await Promise.all(
      keys.map(({ editor, key }) =>
        writeSettings(editor, agentDirectory, (now) => ({ ...now, [key]: true })),
      ),
    )
    const written = JSON.parse(readFileSync(settingsPath(agentDirectory), 'utf8'))
    assert.deepEqual(Object.keys(written).sort(), [...keys.map(({ key }) => key), 'unknown'].sort())
  })

  it('keep how their file is indented', async (t) => {
    const { agentDirectory } = places(t, '{\n\t"unknown": 1\n}\n')
    await writeSettings(editorFor(t, agentDirectory), agentDirectory, (now) => ({ ...now, b: 2 }))
    const text = readFileSync(settingsPath(agentDirectory), 'utf8')
    assert.equal(text, '{\n\t"unknown": 1,\n\t"b": 2\n}\n')
  })
})

describe('a setting that is changed', () => {
  const files = (agentDirectory: string) =>
    [settingsPath(agentDirectory), join(agentDirectory, 'project/.pi/drover.json')].map((path) =>
      existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : undefined,
    )

  for (const [what, global, project, projectTrusted, scope, after] of [
    ['nowhere set', undefined, undefined, true, 'global', [{ placement: 'split' }, undefined]],
    [
      'set for all',
      { placement: 'tab', a: 1 },
      {},
      true,
      'global',
      [{ a: 1, placement: 'split' }, {}],
    ],
    [
      'set by a trusted project',
      { placement: 'tab' },
      { placement: 'tab', b: 1 },
      true,
      'project',
      [{ placement: 'tab' }, { b: 1, placement: 'split' }],
    ],
    [
      'set by a project nobody trusts',
      {},
      { placement: 'tab' },
      false,
      'global',
      [{ placement: 'split' }, { placement: 'tab' }],
    ],
    [
      'set wrongly by a trusted project',
      {},
      { placement: 'up' },
      true,
      'global',
      [{ placement: 'split' }, { placement: 'up' }],
    ],
  ] as const)
    it(`is written where it counts: placement ${what}`, async (t) => {
      const found = { ...places(t, global, project), projectTrusted }
      const editor = editorFor(t, found.agentDirectory)
      const changed = await changeSetting(editor, found, 'placement', 'split')
      assert.equal(changed.scope, scope)
      assert.deepEqual(files(found.agentDirectory), after)
      assert.equal(readSettings(found).settings.placement, 'split')
    })

  it('is a limit for all, whatever a trusted project says', async (t) => {
    const found = { ...places(t, {}, { mailboxPayloadLimitBytes: 2_048 }), projectTrusted: true }
    const editor = editorFor(t, found.agentDirectory)
    const changed = await changeSetting(editor, found, 'mailboxPayloadLimitBytes', 4_096)
    assert.equal(changed.scope, 'global')
    assert.equal(readSettings(found).settings.mailboxPayloadLimitBytes, 4_096)
    await changeSetting(editor, found, 'mailboxPayloadLimitBytes', undefined)
    assert.deepEqual(files(found.agentDirectory), [{}, { mailboxPayloadLimitBytes: 2_048 }])
  })

  for (const value of [1_023, 1_048_577, 2_048.5, Number.NaN])
    it(`is refused where it is not valid: ${value} bytes`, async (t) => {
      const found = places(t, {})
      const editor = editorFor(t, found.agentDirectory)
      const change = changeSetting(editor, found, 'inlineAttachmentLimitBytes', value)
      await assert.rejects(change, /no value for/)
      assert.deepEqual(files(found.agentDirectory)[0], {})
    })
})
