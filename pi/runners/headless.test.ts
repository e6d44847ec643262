import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import {
  type AgentPlace,
  generationVariable,
  type Launch,
  type StartOrder,
} from '../../actors/index.ts'
import { type Conduct, type RunnerHarness, runnerConformance } from '../../actors/testing/index.ts'
import {
  diskFs,
  type GenerationFile,
  generationPaths,
  type Placement,
  type ProcessIdentity,
  prepareGeneration,
  protocol,
  systemClock,
  systemIds,
  systemProcesses,
} from '../../mailbox/index.ts'
import { childEnvironment } from '../launch.ts'
import { HeadlessRunner } from './headless.ts'

const processes = systemProcesses()

/** What the process of an agent does, as a program. It makes the file `up` once it does it. */
const programs: Readonly<Record<Conduct, string>> = {
  waits: '',
  chatty: 'for (let i = 0; i < 2000; i++) console.error(i + " 🐑".repeat(60))',
  'ignores-term': 'process.on("SIGTERM", () => {})',
  'with-commands':
    'require("child_process").spawn("sleep", ["999"], { detached: true, stdio: "ignore" })',
  'cannot-start': '',
}
const andWait = 'require("fs").writeFileSync("up", ""); setInterval(() => {}, 1000)'

async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await new Promise((resolve) => setTimeout(resolve, 20))
}

/** The runner under test, but its agents do what they are meant to do once they are started. */
class SettledRunner extends HeadlessRunner {
  override async start(order: StartOrder<Launch>): Promise<Placement> {
    const placement = await super.start(order)
    await until(() => existsSync(join(order.paths.activity, 'up')))
    return placement
  }
}

async function harness(): Promise<RunnerHarness<Launch> & { readonly directory: string }> {
  // A name that a shell would take apart.
  const directory = mkdtempSync(join(tmpdir(), 'drover headless & $(x) "%-'))
  const runner = new SettledRunner(diskFs, processes, systemClock)
  const generations: string[] = []
  return {
    directory,
    runner,
    command: process.platform === 'linux' ? 'sleep 999' : undefined,
    order(conduct: Conduct): StartOrder<Launch> {
      const name = systemIds.next()
      generations.push(name)
      const paths = generationPaths(directory, name)
      prepareGeneration(diskFs, paths)
      return {
        generation: generation(name, directory),
        paths,
        launch: () => ({
          command:
            conduct === 'cannot-start' ? join(directory, 'no-such-program') : process.execPath,
          args: ['-e', `${programs[conduct]}\n${andWait}`],
          cwd: paths.activity,
          env: childEnvironment(process.env, name),
          files: [{ path: join(paths.activity, 'system-prompt.md'), text: 'prompt' }],
          placement: 'tab',
        }),
      }
    },
    kill({ placement }: AgentPlace) {
      if (placement.process) processes.signal(placement.process, 'SIGKILL')
    },
    run: (promise) => promise,
    until,
    async close() {
      for (const name of generations)
        for (const left of processes.marked({ variable: generationVariable, value: name }))
          processes.signal(left, 'SIGKILL')
      rmSync(directory, { recursive: true })
    },
  }
}

function generation(name: string, directory: string): GenerationFile {
  return {
    protocol,
    kind: 'generation',
    identity: {
      generation: name,
      owner: 'lead',
      session: name,
      sessionFile: join(directory, `${name}.jsonl`),
      label: 'scout',
      cwd: directory,
    },
    root: 'lead',
    depth: 1,
    definition: 'scout',
    runner: 'headless',
    build: 'test',
    at: 0,
    starter: { process: processes.self(), nonce: systemIds.next() },
  }
}

runnerConformance('headless', harness)

describe('the headless runner', () => {
  it('shows what an agent noted however much it said, and calls it cut only where bytes were cut', async () => {
    const { order, close } = await harness()
    const runner = new HeadlessRunner(diskFs, processes, systemClock)
    try {
      const { paths } = order('waits')
      const noted = Array.from({ length: 60 }, (_, n) => `tool ${n}`)
      const note = (lines: readonly string[]) =>
        writeFileSync(paths.activityFile, JSON.stringify({ at: 0, lines }), { mode: 0o600 })
      const say = (line: string) =>
        writeFileSync(paths.errorLog, `${line}\n`.repeat(1_000), { mode: 0o600 })
      note(noted)
      say('warning')
      const both = await runner.capture({ paths })
      assert.deepEqual(both.lines, [...noted.slice(-40), ...Array(40).fill('warning')])
      assert.equal(both.truncated, false)
      note([])
      assert.deepEqual((await runner.capture({ paths })).lines.length, 80)
      say('w'.repeat(1_000))
      assert.equal((await runner.capture({ paths })).truncated, true)
    } finally {
      await close()
    }
  })

  it('has the last words of a process that ended as soon as it began', async () => {
    const { runner, order, close } = await harness()
    const plain = new HeadlessRunner(diskFs, processes, systemClock)
    try {
      const { launch, ...ordered } = order('waits')
      const program =
        'console.error("no licence: " + process.argv.slice(1).join()); process.exit(1)'
      const odd = 'a & b | "c" %d% $(e)\n*'
      const args = ['-e', program, odd]
      const placement = await plain
        .start({ ...ordered, launch: (...of) => ({ ...launch(...of), args }) })
        .catch(({ message }: Error) => {
          assert.match(message, /its process ended at once/) // before it could be identified
        })
      if (placement)
        await until(async () => (await runner.observe({ ...ordered, placement })) === 'lost')
      assert.equal((await runner.capture(ordered)).lines.join('\n'), `no licence: ${odd}`)
    } finally {
      await close()
    }
  })

  it('finds and ends the children of an agent that was killed, and no others', async () => {
    const { runner, order, close } = await harness()
    try {
      const places: AgentPlace[] = []
      for (const conduct of ['with-commands', 'with-commands'] as const) {
        const { launch, ...ordered } = order(conduct)
        places.push({ ...ordered, placement: await runner.start({ ...ordered, launch }) })
      }
      const [killed, other] = places as [AgentPlace, AgentPlace]
      for (const place of places)
        await until(async () => (await runner.processes(place)).length === 2)
      assert.ok(killed.placement.process)
      processes.signal(killed.placement.process, 'SIGKILL')
      await until(async () => (await runner.observe(killed)) === 'lost')
      const [orphan] = await runner.processes(killed)
      assert.ok(orphan, 'its child lives on without a parent')
      const stopped = await runner.stop(killed, 'closed')
      assert.deepEqual(stopped.outcome === 'gone' && pidsOf(stopped.ended), [orphan.pid])
      assert.deepEqual(await runner.processes(killed), [])
      assert.equal((await runner.processes(other)).length, 2)
    } finally {
      await close()
    }
  })

  it('ends an agent and its commands, but neither an agent that this one has started nor what that runs', async () => {
    const { runner, order, close } = await harness()
    const below = systemIds.next()
    const mark = { variable: generationVariable, value: below }
    const parentProgram = `
      const { spawn } = require('child_process')
      const apart = { detached: true, stdio: 'ignore' }
      const command = spawn('sleep', ['999'], apart)
      const env = { ...process.env, ${generationVariable}: '${below}' }
      const agent = spawn(process.execPath, ['-e', process.env.CHILD_PROGRAM], { ...apart, env })
      require('fs').writeFileSync('started', [command.pid, agent.pid].join(' '))
    `
    // What it runs has an environment of its own making: only its parent tells whose it is.
    const childProgram = `
      const command = require('child_process').spawn('sleep', ['999'], { stdio: 'ignore', env: { PATH: process.env.PATH } })
      require('fs').writeFileSync('below', String(command.pid))
      setInterval(() => {}, 1000)
    `
    const { launch, ...ordered } = order('waits')
    const { activity } = ordered.paths
    const pids = (file: string) => readFileSync(join(activity, file), 'utf8').split(' ').map(Number)
    const identified = (pid: number | undefined) => {
      const identity = processes.identify(pid ?? 0)
      assert.ok(identity, `${pid} is gone`)
      return identity
    }
    const started: ProcessIdentity[] = []
    try {
      const placement = await runner.start({
        ...ordered,
        launch: (...of) => {
          const usual = launch(...of)
          const env = { ...usual.env, CHILD_PROGRAM: childProgram }
          return { ...usual, env, args: ['-e', `${parentProgram}\n${andWait}`] }
        },
      })
      await until(() => existsSync(join(activity, 'below')) && pids('below')[0] !== 0)
      const [command, agent] = pids('started').map(identified)
      const [itsCommand] = pids('below').map(identified)
      assert.ok(placement.process && command && agent && itsCommand)
      started.push(agent, itsCommand)
      const place: AgentPlace = { ...ordered, placement }
      const own = [placement.process, command]
      assert.deepEqual(pidsOf(await runner.processes(place)), pidsOf(own))
      const stopped = await runner.stop(place, 'closed')
      assert.equal(stopped.outcome, 'gone')
      assert.deepEqual(stopped.outcome === 'gone' && pidsOf(stopped.ended), pidsOf(own))
      assert.deepEqual(
        started.map((each) => processes.presence(each)),
        ['live', 'live'],
      )
      // Nor does a second attempt, when nobody can say any more whose child it was.
      assert.deepEqual(await runner.stop(place, 'closed'), { outcome: 'gone', ended: [] })
      assert.deepEqual(
        started.map((each) => processes.presence(each)),
        ['live', 'live'],
      )
    } finally {
      for (const left of [...processes.marked(mark), ...started]) processes.signal(left, 'SIGKILL')
      await close()
    }
  })
})

const pidsOf = (all: readonly ProcessIdentity[]) => all.map(({ pid }) => pid).sort()
