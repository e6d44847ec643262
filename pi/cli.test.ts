import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import {
  createGeneration,
  diskFs,
  ownerPaths,
  prepareOwner,
  prepareRoot,
  protocol,
  rootPaths,
  systemProcesses,
} from '../mailbox/index.ts'

const directory = mkdtempSync(join(tmpdir(), 'drover-cli-'))
after(() => rmSync(directory, { recursive: true }))

function drover(...args: string[]) {
  const cli = join(import.meta.dirname, 'cli.ts')
  return spawnSync(process.execPath, ['--import', 'tsx', cli, ...args], {
    encoding: 'utf8',
    env: { ...process.env, PI_CODING_AGENT_DIR: join(directory, 'agent dir') },
  })
}

describe('drover', () => {
  it('says how it is used, and that a command is unknown', () => {
    assert.match(drover('--help').stdout, /^Usage: drover/)
    assert.match(drover('--version').stdout, /^pi-drover@\d/)
    const wrong = drover('dance')
    assert.equal(wrong.status, 2)
    assert.match(wrong.stderr, /Unknown command: dance[\s\S]*Usage:/)
    assert.equal(drover('ls', '--fast').status, 2)
    assert.match(drover().stderr, /A command is missing/)
  })

  it('lists agents by owner, as text and as JSON, and changes nothing', async () => {
    assert.equal(drover('ls').stdout, 'No agents.\n')
    assert.deepEqual(JSON.parse(drover('ls', '--json').stdout), [])
    const root = rootPaths(join(directory, 'agent dir'))
    diskFs.makeDirectory(join(directory, 'agent dir'))
    const owner = ownerPaths(root, 'the-lead')
    prepareRoot(diskFs, root)
    prepareOwner(diskFs, owner)
    const identity = {
      generation: 'g'.repeat(26),
      owner: 'the-lead',
      session: 'the-agent',
      sessionFile: '/s/the-agent.jsonl',
      label: 'scout',
      cwd: '/pro\x1b[2Jject',
    }
    const record = { protocol, identity, at: 0 } as const
    await createGeneration(
      diskFs,
      owner,
      {
        ...record,
        kind: 'generation',
        root: 'the-lead',
        depth: 1,
        definition: 'scout',
        runner: 'headless',
        build: 'test',
        starter: { process: systemProcesses().self(), nonce: 'n'.repeat(26) },
      },
      { ...record, kind: 'task', id: 't'.repeat(26), lease: 1, text: 'look' },
    )
    const { stdout, status } = drover('ls')
    assert.equal(status, 0)
    assert.match(stdout, /^session the-lead\n {2}scout +starting +scout {2}\/project\n$/)
    const [row] = JSON.parse(drover('ls', '--json').stdout)
    assert.equal(row.agent, 'scout')
    assert.equal(row.cwd, identity.cwd, 'a terminal is spared what a program is told')
    assert.equal(row.active_request_id, 't'.repeat(26))
  })

  it('refuses an agent directory that others can write', () => {
    spawnSync('chmod', ['777', directory])
    const { status, stderr } = drover('ls')
    spawnSync('chmod', ['700', directory])
    assert.equal(status, 1)
    assert.match(stderr, /can be written by everyone\. Run: chmod o-w/)
  })

  it('says which mailboxes cannot be trusted', () => {
    const { directory: owner } = ownerPaths(rootPaths(join(directory, 'agent dir')), 'the-lead')
    const mailbox = join(owner, 'h'.repeat(26))
    mkdirSync(mailbox, { mode: 0o700 })
    writeFileSync(join(mailbox, 'generation.json'), 'nonsense', { mode: 0o600 })
    const { stdout, stderr } = drover('ls')
    assert.match(stdout, /scout/)
    assert.match(stderr, /h{26} cannot be trusted/)
  })
})
