import assert from 'node:assert/strict'
import { type ChildProcess, type SpawnSyncReturns, spawn, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import {
  createGeneration,
  diskFs,
  generationPaths,
  type OwnerPaths,
  ownerPaths,
  type ProcessIdentity,
  prepareOwner,
  prepareRoot,
  protocol,
  type RootPaths,
  type Runtime,
  rootPaths,
  systemIds,
  systemProcesses,
  takeLease,
} from '../mailbox/index.ts'

const cli = join(import.meta.dirname, 'cli.ts')
const tsx = import.meta.resolve('tsx')
const processes = systemProcesses()

/** An agent directory and a project of a test's own. */
class Place {
  readonly directory: string = mkdtempSync(join(tmpdir(), 'drover-cli-'))
  readonly agentDirectory: string = join(this.directory, 'agent dir')
  readonly cwd: string = join(this.directory, 'project')
  readonly root: RootPaths = rootPaths(this.agentDirectory)

  constructor(t: TestContext) {
    mkdirSync(this.cwd)
    t.after(() => rmSync(this.directory, { recursive: true, force: true }))
  }

  get env(): NodeJS.ProcessEnv {
    const { HERDR_ENV: _, DROVER_AGENT: __, ...env } = process.env
    return { ...env, PI_CODING_AGENT_DIR: this.agentDirectory }
  }

  drover(...args: string[]): SpawnSyncReturns<string> {
    return this.droverWith({}, ...args)
  }

  droverWith(env: NodeJS.ProcessEnv, ...args: string[]): SpawnSyncReturns<string> {
    return spawnSync(process.execPath, ['--import', tsx, cli, ...args], {
      encoding: 'utf8',
      cwd: this.cwd,
      env: { ...this.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  }

  owner(session: string): OwnerPaths {
    diskFs.makeDirectory(this.agentDirectory)
    const owner = ownerPaths(this.root, session)
    prepareRoot(diskFs, this.root)
    prepareOwner(diskFs, owner)
    return owner
  }

  /** An agent on disk, whose process is never recorded unless it is given. */
  async agent(session: string, label: string, more: AgentOptions = {}): Promise<string> {
    const owner = this.owner(session)
    const generation = systemIds.next()
    const identity = {
      generation,
      owner: session,
      session: `session-of-${label}`,
      sessionFile: join(this.directory, `${label}.jsonl`),
      label,
      cwd: more.cwd ?? '/project',
    }
    const record = { protocol, identity, at: Date.now() } as const
    await createGeneration(
      diskFs,
      owner,
      {
        ...record,
        kind: 'generation',
        root: more.root ?? session,
        depth: more.root === undefined ? 1 : 2,
        definition: 'scout',
        runner: 'headless',
        build: 'test',
        starter: { process: processes.self(), nonce: 'n'.repeat(26) },
      },
      { ...record, kind: 'task', id: 't'.repeat(26), lease: 1, text: 'look\naround' },
    )
    const paths = generationPaths(owner.directory, generation)
    if (more.process !== undefined)
      writePrivate(
        join(paths.owner, `00000002-placed-${'p'.repeat(26)}.json`),
        JSON.stringify({
          ...record,
          kind: 'placed',
          id: 'p'.repeat(26),
          lease: 1,
          placement: { runner: 'headless', process: more.process },
        }),
      )
    return generation
  }

  /** Has a process act for a session. */
  async held(session: string, holder: ProcessIdentity): Promise<void> {
    const owner = this.owner(session)
    const runtime: Runtime = { process: holder, nonce: 'n'.repeat(26) }
    const place = { fs: diskFs, ids: systemIds, processes, subject: session }
    const answer = await takeLease(
      { ...place, directory: owner.lease, drafts: owner.drafts },
      runtime,
    )
    assert.equal(answer.outcome, 'held')
  }
}

interface AgentOptions {
  /** The lead, where another session owns it. */
  readonly root?: string
  readonly cwd?: string
  readonly process?: ProcessIdentity
}

const writePrivate = (path: string, text: string) => writeFileSync(path, text, { mode: 0o600 })

/** A process of this machine, ended with the test. */
function sleeper(t: TestContext, env: NodeJS.ProcessEnv = {}): ProcessIdentity {
  const child: ChildProcess = spawn('sleep', ['600'], { env: { ...process.env, ...env } })
  t.after(() => child.kill('SIGKILL'))
  const identity = processes.identify(child.pid ?? 0)
  assert.ok(identity)
  return identity
}

/** A process that has been and is no more. */
const dead = (): ProcessIdentity => ({ ...processes.self(), started: '1' })

interface Diagnosis {
  readonly findings: readonly {
    readonly check: string
    readonly severity: string
    readonly what: string
    readonly remedy: string
    readonly run?: string
  }[]
  readonly could_not_look: readonly unknown[]
}

/** What the doctor finds, every finding with what to do about it. */
function diagnosed(
  place: Place,
  env: NodeJS.ProcessEnv = {},
): Diagnosis & { readonly status: number | null } {
  const { stdout, status, stderr } = place.droverWith(env, 'doctor', '--json')
  assert.notEqual(stdout, '', stderr)
  const diagnosis = JSON.parse(stdout) as Diagnosis
  for (const { remedy, severity } of diagnosis.findings) {
    assert.match(remedy, /\S/)
    assert.ok(['error', 'warning'].includes(severity))
  }
  return { ...diagnosis, status }
}

/** The one finding of a check. */
function found(diagnosis: ReturnType<typeof diagnosed>, check: string) {
  const findings = diagnosis.findings.filter((each) => each.check === check)
  assert.equal(findings.length, 1, JSON.stringify(diagnosis.findings, undefined, 2))
  assert.equal(diagnosis.status, 1)
  return findings[0] as Diagnosis['findings'][number]
}

describe('drover', () => {
  it('says how it is used, and that a command is unknown', (t) => {
    const place = new Place(t)
    assert.match(place.drover('--help').stdout, /^Usage: drover[\s\S]*Exit codes:/)
    assert.match(place.drover('--version').stdout, /^pi-drover@\d/)
    const wrong = place.drover('dance')
    assert.equal(wrong.status, 2)
    assert.match(wrong.stderr, /Unknown command: dance[\s\S]*Usage:/)
    assert.equal(place.drover('ls', '--fast').status, 2)
    assert.match(place.drover().stderr, /A command is missing/)
  })

  it('could not look where others can write the agent directory', (t) => {
    const place = new Place(t)
    mkdirSync(place.agentDirectory)
    chmodSync(place.directory, 0o777)
    for (const args of [['ls'], ['show', 'x'], ['tail', 'x'], ['close', 'x', '--yes']]) {
      const { status, stderr } = place.drover(...args)
      assert.equal(status, 3, args.join(' '))
      assert.match(stderr, /can be written by everyone\. Run: chmod o-w/)
    }
  })

  it('makes nothing where there is nothing, and finds nothing there', (t) => {
    const place = new Place(t)
    assert.equal(place.drover('ls').stdout, 'No agents.\n')
    assert.deepEqual(JSON.parse(place.drover('ls', '--json').stdout), [])
    assert.equal(place.drover('show', 'scout').status, 1)
    const { status, stdout } = place.drover('doctor')
    assert.equal(status, 0, stdout)
    assert.match(stdout, /nothing was delegated[\s\S]*Nothing was found\.\n$/)
    assert.equal(diskFs.entry(place.agentDirectory), undefined)
  })
})

describe('drover ls', () => {
  it('lists agents as trees, as text and as JSON, and changes nothing', async (t) => {
    const place = new Place(t)
    await place.agent('the-lead', 'scout', { cwd: '/pro\x1b[2Jject' })
    await place.agent('session-of-scout', 'digger', { root: 'the-lead' })
    await place.held('the-lead', processes.self())
    const { stdout, status } = place.drover('ls')
    assert.equal(status, 0)
    const lines = stdout.split('\n')
    assert.equal(lines[0], `session the-lead  open in process ${process.pid}`)
    assert.match(lines[1] ?? '', /^ {2}scout {7}starting {2}\d+s {2}scout {2}\/project$/)
    assert.match(lines[2] ?? '', /^ {4}└ digger {2}starting {2}\d+s {2}scout {2}\/project$/)
    const [parent, child] = JSON.parse(place.drover('ls', '--json').stdout)
    assert.equal(parent.agent, 'scout')
    assert.equal(parent.cwd, '/pro\x1b[2Jject', 'a terminal is spared what a program is told')
    assert.equal(parent.active_request_id, 't'.repeat(26))
    assert.deepEqual([child.agent, child.parent_label, child.depth], ['digger', 'scout', 2])
  })

  it('says which mailboxes cannot be trusted', async (t) => {
    const place = new Place(t)
    await place.agent('the-lead', 'scout')
    const mailbox = join(place.owner('the-lead').directory, 'h'.repeat(26))
    mkdirSync(mailbox, { mode: 0o700 })
    writePrivate(join(mailbox, 'generation.json'), 'nonsense')
    const { stdout, stderr } = place.drover('ls')
    assert.match(stdout, /scout/)
    assert.match(stderr, /h{26} cannot be trusted/)
    const finding = found(diagnosed(place), 'mailboxes')
    assert.match(finding.what, /h{26} cannot be trusted/)
  })
})

describe('drover show', () => {
  it('shows all that is known of one agent, and changes nothing', async (t) => {
    const place = new Place(t)
    const agent = sleeper(t)
    const generation = await place.agent('the-lead', 'scout', { process: agent })
    await place.held('the-lead', dead())
    const paths = generationPaths(place.owner('the-lead').directory, generation)
    writePrivate(
      paths.activityFile,
      JSON.stringify({ at: 1, waiting: 'owner', tokens: 7, lines: ['says a\x1b[2Jb'] }),
    )
    writePrivate(join(paths.agent, 'junk'), 'not a record')
    const { stdout, status } = place.drover('show', 'scout')
    assert.equal(status, 0)
    for (const part of [
      /^scout {2}starting/,
      /owner +lead, session the-lead, its process \d+ is gone/,
      new RegExp(`generation +${generation}`),
      new RegExp(`process +${agent.pid} runs, headless`),
      /activity +.*waits for its owner, 7 tokens/,
      /^ {2}says ab$/m,
      /diagnostic +1 untrusted file\(s\), last: junk/,
      /^task {2}\d+s ago, pending\n {2}look\n {2}around$/m,
    ])
      assert.match(stdout, part)
    const data = JSON.parse(place.drover('show', generation, '--json').stdout)
    assert.equal(data.requests[0].text, 'look\naround')
    assert.equal(data.requests[0].outcome, 'pending')
    assert.equal(data.owner.acting, 'gone')
    assert.equal(data.processes[0].pid, agent.pid)
    assert.deepEqual(diskFs.list(paths.quarantine), [], 'nothing was moved')
    assert.match(found(diagnosedBut(place, 'leases'), 'mailboxes').what, /scout: 1 untrusted file/)
  })

  it('says what to type where several agents have a label', async (t) => {
    const place = new Place(t)
    for (const lead of ['lead-one', 'lead-two']) await place.agent(lead, 'scout')
    const { status, stderr } = place.drover('show', 'scout')
    assert.equal(status, 1)
    const names = [...stderr.matchAll(/drover show (\S+)/g)].map(([, name = '']) => name)
    assert.equal(names.length, 2)
    for (const name of names) assert.equal(place.drover('show', name).status, 0, name)
  })
})

describe('drover close', () => {
  it('does nothing without a yes where nobody can be asked', async (t) => {
    const place = new Place(t)
    await place.agent('the-lead', 'scout', { process: dead() })
    const { status, stderr } = place.drover('close', 'scout')
    assert.equal(status, 2)
    assert.match(stderr, /Nothing was closed.*--yes/)
    assert.match(place.drover('ls').stdout, /scout/)
  })

  it('names the process whose agent it is while that acts for its owner', async (t) => {
    const place = new Place(t)
    const owner = sleeper(t)
    await place.agent('the-lead', 'scout', { process: dead() })
    await place.held('the-lead', owner)
    const { status, stderr, stdout } = place.drover('close', 'scout', '--yes', '--json')
    assert.equal(status, 1)
    assert.match(stderr, new RegExp(`session the-lead is open in process ${owner.pid} `))
    assert.equal(JSON.parse(stdout).outcome, 'owner_acts')
    assert.match(place.drover('ls').stdout, /scout/)
  })

  it('ends an agent whose owner is proven dead, and what it had started', async (t) => {
    const place = new Place(t)
    const agent = sleeper(t)
    const generation = await place.agent('the-lead', 'scout', { process: agent })
    await place.held('the-lead', dead())
    const child = sleeper(t, { DROVER_AGENT: generation })
    // An agent that does not answer has ten seconds; one that is gone has none.
    processes.signal(agent, 'SIGKILL')
    const { status, stdout, stderr } = place.drover('close', 'scout', '--yes')
    assert.equal(status, 0, stderr)
    assert.equal(stdout, 'Closed: scout.\n')
    assert.equal(processes.presence(child), 'gone')
    assert.equal(place.drover('ls').stdout, 'No agents.\n')
    assert.match(place.drover('close', 'scout', '--yes').stderr, /No agent is called scout/)
  })

  it('leaves an agent alone of whose process nothing is proven', async (t) => {
    const place = new Place(t)
    await place.agent('the-lead', 'scout', { process: { ...dead(), host: 'another' } })
    const { status, stderr } = place.drover('close', 'scout', '--yes')
    assert.equal(status, 1)
    assert.match(stderr, /cannot be proved whether the process of scout runs/)
  })
})

/** A diagnosis without what some checks found. */
function diagnosedBut(place: Place, ...checks: string[]): ReturnType<typeof diagnosed> {
  const diagnosis = diagnosed(place)
  const findings = diagnosis.findings.filter(({ check }) => !checks.includes(check))
  return { ...diagnosis, findings }
}

describe('drover doctor', () => {
  it('finds a directory and a file that are open to others', async (t) => {
    const place = new Place(t)
    await place.agent('the-lead', 'scout')
    assert.equal(diagnosed(place).status, 0)
    chmodSync(place.root.results, 0o750)
    const finding = found(diagnosed(place), 'directories')
    assert.equal(finding.what, `${place.root.results} is open to others (mode 750)`)
    assert.equal(spawnSync('sh', ['-c', finding.run ?? '']).status, 0)
    assert.equal(diagnosed(place).status, 0, 'the remedy mends it')
    chmodSync(place.agentDirectory, 0o777)
    assert.match(found(diagnosed(place), 'directories').what, /can be written by everyone/)
  })

  it('finds a limit of watches that is reached', (t) => {
    const place = new Place(t)
    const limit = 'echo 0 > /proc/sys/user/max_inotify_instances'
    if (spawnSync('unshare', ['-Ur', 'sh', '-c', limit]).status !== 0)
      return t.skip('no user namespace with limits of its own can be had here')
    mkdirSync(place.agentDirectory)
    const script = `${limit}; exec "$0" --import "$1" "$2" doctor --json`
    const { stdout } = spawnSync(
      'unshare',
      ['-Ur', 'sh', '-c', script, process.execPath, tsx, cli],
      {
        encoding: 'utf8',
        cwd: place.cwd,
        env: place.env,
      },
    )
    const { findings } = JSON.parse(stdout) as Diagnosis
    const [finding] = findings.filter(({ check }) => check === 'watches')
    assert.match(finding?.what ?? '', /no directory can be watched \(EMFILE\)/)
    assert.match(finding?.remedy ?? '', /sysctl fs\.inotify\.max_user_instances/)
  })

  it('finds a stale lease, and no lease of a process that lives', async (t) => {
    const place = new Place(t)
    await place.agent('the-lead', 'scout')
    await place.agent('another', 'scout')
    await place.held('another', processes.self())
    await place.held('without agents', dead())
    assert.equal(diagnosed(place).status, 0)
    await place.held('the-lead', dead())
    const finding = found(diagnosed(place), 'leases')
    assert.match(
      finding.what,
      /stale lease: process \d+, .* session the-lead, is gone; .*\(scout\)/,
    )
    assert.equal(finding.run, 'pi --session the-lead')
  })

  it('finds a lease that cannot be read', async (t) => {
    const place = new Place(t)
    await place.agent('the-lead', 'scout')
    writePrivate(join(place.owner('the-lead').lease, '1'), 'nonsense')
    assert.match(found(diagnosed(place), 'leases').what, /cannot be read/)
  })

  it('finds processes whose agent is settled, or gone, or has lost its owner', async (t) => {
    const place = new Place(t)
    const mark = (generation: string) => sleeper(t, { ...place.env, DROVER_AGENT: generation })
    const elsewhere = { ...place.env, PI_CODING_AGENT_DIR: '/somewhere/else' }
    sleeper(t, { ...elsewhere, DROVER_AGENT: 'e'.repeat(26) })
    sleeper(t, { ...place.env, HERDR_ENV: '1', DROVER_AGENT: 'k'.repeat(26) })
    mark(await place.agent('the-lead', 'at-work', { process: processes.self() }))
    await place.held('the-lead', processes.self())
    assert.equal(diagnosed(place).status, 0, 'those at work, in other directories and kept panes')

    const settled = mark('s'.repeat(26))
    const first = found(diagnosed(place), 'processes')
    assert.match(
      first.what,
      new RegExp(`orphan process ${settled.pid} \\(sleep 600\\) of agent s{26}, which is settled`),
    )
    assert.equal(first.run, `kill ${settled.pid}`)
    processes.signal(settled, 'SIGKILL')

    const left = mark(await place.agent('closed', 'lost', { process: dead() }))
    const second = found(diagnosed(place), 'processes')
    assert.match(
      second.what,
      new RegExp(`orphan process ${left.pid} .* of agent lost, which is gone`),
    )
    assert.equal(second.run, 'drover close lost')
    processes.signal(left, 'SIGKILL')

    const agent = { root: 'the-lead', process: processes.self() }
    mark(await place.agent('session-of-gone', 'below', agent))
    await place.held('session-of-gone', dead())
    const third = found(diagnosedBut(place, 'leases'), 'processes')
    assert.match(third.what, /of agent below: its owner, an agent itself, is gone/)
    assert.equal(third.run, 'drover close below')
  })

  it('finds what lies in quarantine, with its reason', async (t) => {
    const place = new Place(t)
    const generation = await place.agent('the-lead', 'scout')
    const { quarantine } = generationPaths(place.owner('the-lead').directory, generation)
    writePrivate(join(quarantine, 'q'), 'junk')
    writePrivate(join(quarantine, 'q.reason'), '{"name":"junk","reason":"wrong-name"}')
    assert.match(
      found(diagnosed(place), 'mailboxes').what,
      /scout: a file is in quarantine: junk, wrong-name/,
    )
  })

  it('finds definitions and settings that do not say what was meant', (t) => {
    const place = new Place(t)
    mkdirSync(join(place.agentDirectory, 'agents'), { recursive: true })
    writeFileSync(join(place.agentDirectory, 'agents/bad.md'), '---\ntools: {}\n---\nx')
    const finding = found(diagnosed(place), 'definitions')
    assert.match(finding.what, /agents\/bad\.md:\d+: /)
    rmSync(join(place.agentDirectory, 'agents/bad.md'))
    writeFileSync(join(place.agentDirectory, 'drover.json'), '{"placement":"floor"}')
    assert.match(found(diagnosed(place), 'settings').what, /placement is ignored/)
  })

  it('finds a herdr that cannot be reached, and an environment of one that is not whole', (t) => {
    const place = new Place(t)
    const socket = join(place.directory, 'none.sock')
    const inside = { HERDR_ENV: '1', HERDR_SOCKET_PATH: socket, HERDR_PANE_ID: 'p1' }
    assert.match(
      found(diagnosed(place, inside), 'herdr').what,
      /herdr cannot be reached at .*none\.sock/,
    )
    assert.match(found(diagnosed(place, { HERDR_ENV: '1' }), 'herdr').what, /is not whole/)
  })

  it('finds a second extension with a tool of our name', (t) => {
    const place = new Place(t)
    mkdirSync(join(place.agentDirectory, 'extensions'), { recursive: true })
    writeFileSync(
      join(place.agentDirectory, 'extensions/other.ts'),
      "export default (pi) => pi.registerTool({ name: 'agent', async execute() {} })",
    )
    assert.match(found(diagnosed(place), 'tool names').what, /a tool called agent: .*other\.ts/)
  })

  it('says so where it could not look, and looks at all else', async (t) => {
    const place = new Place(t)
    mkdirSync(place.root.drover, { recursive: true, mode: 0o700 })
    chmodSync(place.agentDirectory, 0o700)
    writePrivate(place.root.mailboxes, 'a file in its place')
    const { status, could_not_look: problems } = diagnosed(place)
    assert.equal(status, 3)
    assert.equal(problems.length, 3, JSON.stringify(problems))
    assert.match(place.drover('doctor').stdout, /\? leases +could not look: /)
  })
})
