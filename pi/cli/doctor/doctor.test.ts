import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, describe, it } from 'node:test'
import { packagePlaces } from './extensions.ts'
import { bounded } from './finding.ts'
import { herdr } from './herdr.ts'
import { registersTool, relativeImports } from './source-text.ts'
import { toolNames } from './tool-names.ts'
import { hostOnPath, versions } from './versions.ts'
import { inotifyUse, watches } from './watches.ts'

const directory = mkdtempSync(join(tmpdir(), 'drover-doctor-'))
after(() => rmSync(directory, { recursive: true }))

function write(path: string, text: string): string {
  const file = join(directory, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
  return file
}

describe('the limits of watches', () => {
  const use = (used: number) => ({
    watches: { used, most: 100 },
    instances: { used: 1, most: 128 },
  })

  it('are a finding where they are reached, and before that', () => {
    const severities = [89, 90, 99, 100, 101].map(
      (used) => watches(directory, use(used)).findings[0]?.severity,
    )
    assert.deepEqual(severities, [undefined, 'warning', 'warning', 'error', 'error'])
    assert.match(watches(directory, use(100)).findings[0]?.remedy ?? '', /max_user_watches/)
  })

  it('are those that hold here, and what is used is counted from the kernel', () => {
    write('proc/sys/fs/inotify/max_user_watches', '500\n')
    write('proc/sys/fs/inotify/max_user_instances', '128\n')
    write('proc/sys/user/max_inotify_watches', '400\n')
    write('proc/7/fdinfo/3', 'pos:\t0\ninotify wd:1 ino:1\ninotify wd:2 ino:2\n')
    write('proc/7/fdinfo/4', 'inotify of something else\n')
    mkdirSync(join(directory, 'proc/7/fd'))
    symlinkSync('anon_inode:inotify', join(directory, 'proc/7/fd/3'))
    symlinkSync('/dev/null', join(directory, 'proc/7/fd/4'))
    assert.deepEqual(inotifyUse(join(directory, 'proc')), {
      watches: { used: 2, most: 400 },
      instances: { used: 1, most: 128 },
    })
    assert.equal(inotifyUse(join(directory, 'nothing')), undefined)
  })
})

describe('the source of an extension', () => {
  const tool = (name: string) => `pi.registerTool({ name: ${name}, async execute() {} })`

  it('tells which tools it registers, as a string or a constant', () => {
    for (const source of [
      [tool("'agent'")],
      [tool('"agent"')],
      ['const agent = { name: `agent`, execute() {} }', 'pi.registerTool(agent)'],
      ["export const toolName: string = 'agent'", tool('toolName')],
      [`pi.registerTool({ "name": "agent", execute: run })`],
    ])
      assert.equal(registersTool(source, 'agent'), true, source.join('\n'))
  })

  it('does not tell of tools it only names', () => {
    for (const source of [
      [tool("'agents'")],
      [tool("'my-agent'")],
      [`// ${tool("'agent'")}`],
      [`/* ${tool("'agent'")} */`],
      ["const definition = { name: 'agent' }; const execute = 1"],
      ["const other = 'agent'", tool('name')],
    ])
      assert.equal(registersTool(source, 'agent'), false, source.join('\n'))
  })

  it('tells which files of its own it is made of', () => {
    const source = `import a from './a.ts'
      import './b'
      const c = await import("../c.js"); require('./d')
      import { e } from 'elsewhere'`
    assert.deepEqual(relativeImports(source), ['./a.ts', './b', '../c.js', './d'])
  })
})

describe('tools of other extensions', () => {
  it('are found wherever Pi would load them from', () => {
    const tool = "export default (pi) => pi.registerTool({ name: 'agent', execute() {} })"
    const agentDirectory = join(directory, 'agent dir')
    const cwd = join(directory, 'project')
    write('agent dir/extensions/file.ts', tool)
    write('agent dir/extensions/folder/index.ts', "export * from './more.js'")
    write('agent dir/extensions/folder/more.ts', tool)
    write('agent dir/npm/node_modules/@some/thing/package.json', '{"pi":{"extensions":["./x.js"]}}')
    write('agent dir/npm/node_modules/@some/thing/x.js', tool)
    write('agent dir/npm/node_modules/@some/thing/unused.js', tool)
    write('agent dir/git/github.com/some/one/extensions/y.ts', tool)
    write('elsewhere/z.ts', tool)
    write('project/.pi/extensions/other.ts', tool.replace('agent', 'ask_owner'))
    write('project/.pi/extensions/good.ts', tool.replace('agent', 'search'))
    write(
      'agent dir/settings.json',
      JSON.stringify({
        packages: [
          'npm:@some/thing@1.2',
          { source: 'git:github.com/some/one@v1' },
          'npm:not-there',
        ],
        extensions: ['../elsewhere/z.ts', '!extensions/legacy.ts'],
      }),
    )
    const { findings, facts, blind = [] } = toolNames({ agentDirectory, cwd })
    assert.deepEqual(findings.map(({ what }) => what.replaceAll(`${directory}/`, '')).sort(), [
      'a second extension has a tool called agent: agent dir/extensions/file.ts (by agent dir/extensions)',
      'a second extension has a tool called agent: agent dir/extensions/folder/index.ts (by agent dir/extensions)',
      'a second extension has a tool called agent: agent dir/git/github.com/some/one/extensions/y.ts (by agent dir/settings.json)',
      'a second extension has a tool called agent: agent dir/npm/node_modules/@some/thing/x.js (by agent dir/settings.json)',
      'a second extension has a tool called agent: elsewhere/z.ts (by agent dir/settings.json)',
      'a second extension has a tool called ask_owner: project/.pi/extensions/other.ts (by project/.pi/extensions)',
    ])
    assert.match(facts[0] ?? '', /^7 extensions/)
    assert.ok(
      blind.some((each) => each.startsWith('npm:not-there')),
      'it says what it did not find',
    )
    assert.ok(blind.some((each) => each.includes('-e')))
  })

  it('are none of a package whose extensions the settings leave out', () => {
    const agentDirectory = join(directory, 'quiet')
    write('quiet/package/index.ts', "pi.registerTool({ name: 'agent', execute() {} })")
    const settings = (value: unknown) => write('quiet/settings.json', JSON.stringify(value))
    const found = () => toolNames({ agentDirectory, cwd: directory }).findings.length
    settings({ packages: [{ source: './package' }] })
    assert.equal(found(), 1)
    settings({ packages: [{ source: './package', extensions: [] }] })
    assert.equal(found(), 0)
  })

  it('are ours twice where Drover is installed twice', () => {
    const agentDirectory = join(directory, 'twice')
    for (const copy of ['one', 'two']) {
      write(`twice/${copy}/package.json`, '{"name":"pi-drover","pi":{"extensions":["./x.ts"]}}')
      write(`twice/${copy}/x.ts`, "pi.registerTool({ name: 'agent', execute() {} })")
    }
    const settings = (packages: string[]) =>
      write('twice/settings.json', JSON.stringify({ packages }))
    const found = () => toolNames({ agentDirectory, cwd: directory }).findings
    settings(['./one'])
    assert.deepEqual(found(), [])
    settings(['./one', './two'])
    assert.match(found()[0]?.what ?? '', /Drover is installed 2 times/)
  })

  it('are looked for where Pi keeps packages of every kind', () => {
    for (const [source, place] of [
      ['npm:thing', '/b/npm/node_modules/thing'],
      ['npm:@a/thing@^1', '/b/npm/node_modules/@a/thing'],
      ['git:github.com/a/b@v1', '/b/git/github.com/a/b'],
      ['git:git@github.com:a/b@v1', '/b/git/github.com/a/b'],
      ['https://github.com/a/b.git', '/b/git/github.com/a/b'],
      ['ssh://git@github.com/a/b', '/b/git/github.com/a/b'],
      ['../x', '/x'],
      ['/abs/x', '/abs/x'],
    ] as const)
      assert.equal(packagePlaces('/b', source)[0], place, source)
  })
})

describe('herdr', () => {
  it('is a finding where it should be there and is not', () => {
    const found = (...args: Parameters<typeof herdr>) =>
      herdr(...args).findings.map(({ severity }) => severity)
    assert.deepEqual(found({ state: 'outside' }, 'auto'), [])
    assert.deepEqual(found({ state: 'outside' }, 'herdr'), ['warning'])
    assert.deepEqual(found({ state: 'broken', why: 'x' }, 'auto'), ['error'])
    assert.deepEqual(found({ state: 'unreachable', socketPath: '/s', why: 'x' }, 'auto'), ['error'])
    const reached = { state: 'reached', socketPath: '/s', version: '1', protocol: 17 } as const
    assert.deepEqual(found(reached, 'herdr'), [])
  })
})

describe('versions', () => {
  it('name the Pi that a shell would start, without starting it', () => {
    const manifest = '{"name":"@mariozechner/pi-coding-agent","version":"9.8.7"}'
    write('host/package.json', manifest)
    const cli = write('host/dist/cli.js', 'throw new Error("it was run")')
    mkdirSync(join(directory, 'bin'))
    symlinkSync(cli, join(directory, 'bin/pi'))
    assert.equal(hostOnPath(`/nowhere:${join(directory, 'bin')}`), undefined, 'not executable')
    rmSync(cli)
    writeFileSync(cli, '', { mode: 0o755 })
    assert.deepEqual(hostOnPath(`/nowhere:${join(directory, 'bin')}`), {
      path: join(directory, 'bin/pi'),
      version: '9.8.7',
    })
  })

  it('are a finding where Node is too old', () => {
    const severity = (node: string) => versions({}, [], node).findings[0]?.severity
    assert.deepEqual(['18.20.0', '20.18.9', '20.19.0', '22.0.0'].map(severity), [
      'error',
      'error',
      undefined,
      undefined,
    ])
  })
})

describe('many findings of one kind', () => {
  it('are counted after the first twenty', () => {
    const many = Array.from({ length: 30 }, (_, i) => ({
      severity: 'error' as const,
      what: `no ${i}`,
      remedy: 'x',
    }))
    assert.equal(bounded(many).length, 21)
    assert.equal(bounded(many).at(-1)?.what, 'and 10 more of this kind, such as: no 20')
    assert.equal(bounded(many.slice(0, 20)).length, 20)
  })
})
