import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { type GenerationFile, generationPaths } from '../mailbox/index.ts'
import {
  agentLaunch,
  childEnvironment,
  inheritedFlags,
  packageDirectory,
  serveCommand,
} from './launch.ts'

const directory = mkdtempSync(join(tmpdir(), 'drover-launch-'))
after(() => rmSync(directory, { recursive: true }))
writeFileSync(join(directory, 'extension.ts'), '')
symlinkSync(packageDirectory, join(directory, 'drover'))

describe('what an agent inherits of its lead', () => {
  it('is every extension of its command line, made absolute, but our own package', () => {
    const argv = [
      '-e',
      'extension.ts',
      '--extension',
      './drover',
      '-e',
      'npm:some-package',
      '-ne',
      'hello',
    ]
    assert.deepEqual(inheritedFlags(argv, directory), [
      ...['-e', join(directory, 'extension.ts')],
      ...['-e', 'npm:some-package'],
      '-ne',
    ])
  })

  it('is no prompt, no session and no secret of that command line', () => {
    const argv = ['--session', 'x', '--api-key', 'secret', '-p', 'do it', '--fork', 'y', '-e']
    assert.deepEqual(inheritedFlags(argv, directory), [])
  })

  it('is its environment, but neither its pane nor whose child it is', () => {
    const own = {
      PATH: '/bin',
      HERDR_PANE_ID: 'p',
      HERDR_ENV: '1',
      PI_SUBAGENT_ID: 'lead',
      DROVER_AGENT: 'lead',
    }
    assert.deepEqual(childEnvironment(own, 'child'), {
      PATH: '/bin',
      PI_SUBAGENT_ID: 'child',
      DROVER_AGENT: 'child',
    })
  })

  it('is the agent directory, meant from where the lead is and not from where the agent works', () => {
    const placeOf = (given: string) =>
      childEnvironment({ PI_CODING_AGENT_DIR: given }, 'child')['PI_CODING_AGENT_DIR']
    assert.equal(placeOf('my agents'), join(process.cwd(), 'my agents'))
    for (const given of ['/the agents', '~', '~/agents']) assert.equal(placeOf(given), given)
    assert.ok(!('PI_CODING_AGENT_DIR' in childEnvironment({}, 'child')))
  })

  for (const flag of ['--inspect', '--inspect-brk', '--inspect-brk=0', '--inspect-port=9230'])
    it(`is no debugger: NODE_OPTIONS without ${flag}, and all else of it`, () => {
      const options = (given: string) =>
        childEnvironment({ NODE_OPTIONS: given }, 'child')['NODE_OPTIONS']
      assert.equal(options(flag), '')
      assert.equal(options(`${flag} --max-old-space-size=512`), '--max-old-space-size=512')
      assert.match(
        options(`--no-warnings ${flag} --enable-source-maps`) ?? '',
        /^--no-warnings +--enable-source-maps$/,
      )
    })
})

const unlimited = {
  systemPrompt: '',
  systemPromptMode: 'append',
  flags: [],
  inheritsExtensions: true,
  trustFlags: ['--approve'],
  placement: 'tab',
} as const

describe('the command line of a headless agent', () => {
  const generation = {
    identity: { generation: 'g'.repeat(26), sessionFile: '/s/a.jsonl', cwd: directory },
  } as GenerationFile
  const paths = generationPaths('/m', 'g'.repeat(26))

  it('holds its session, its limits and one constant word, and nothing of a task', () => {
    const plan = {
      ...unlimited,
      systemPrompt: 'You are; `rm -rf` $(x)',
      model: 'p/m:low',
      flags: ['--tools', 'read,ls'],
    }
    const { command, args, files, cwd } = agentLaunch(plan)(generation, paths, 'none')
    // The very program the lead runs in and its script: nothing is looked up, and no shell reads it.
    assert.equal(command, process.execPath)
    const from = args.indexOf('-p')
    assert.equal(args[from - 1], process.argv[1])
    assert.deepEqual(args.slice(from, from + 5), [
      '-p',
      '--session',
      '/s/a.jsonl',
      '-e',
      packageDirectory,
    ])
    assert.deepEqual(args.slice(-7), [
      ...['--model', 'p/m:low'],
      ...['--tools', 'read,ls'],
      ...['--append-system-prompt', `${paths.activity}/system-prompt.md`],
      `/${serveCommand}`,
    ])
    assert.deepEqual(files, [
      { path: `${paths.activity}/system-prompt.md`, text: plan.systemPrompt },
    ])
    assert.equal(cwd, directory)
  })

  it('waits in a terminal for its person as well, and asks nobody whether to trust the project', () => {
    const { args } = agentLaunch(unlimited)(generation, paths, 'terminal')
    assert.ok(args.includes('--approve'))
    for (const never of ['-p', `/${serveCommand}`]) assert.ok(!args.includes(never), never)
    assert.ok(!agentLaunch(unlimited)(generation, paths, 'none').args.includes('--approve'))
  })

  it('never starts a debugger in the agent', () => {
    const { execArgv } = process
    process.execArgv = [...execArgv, '--inspect=0', '--inspect-brk']
    try {
      const { args } = agentLaunch(unlimited)(generation, paths, 'none')
      assert.deepEqual(
        args.filter((flag) => flag.includes('inspect')),
        [],
      )
    } finally {
      process.execArgv = execArgv
    }
  })
})
