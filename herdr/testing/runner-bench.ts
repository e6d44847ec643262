import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type AgentPlace,
  generationVariable,
  type Launch,
  type LaunchCommand,
  type StartOrder,
} from '../../actors/index.ts'
import {
  diskFs,
  type GenerationFile,
  generationPaths,
  type Processes,
  type ProcessIdentity,
  prepareGeneration,
  protocol,
  systemClock,
  systemIds,
  systemProcesses,
} from '../../mailbox/index.ts'
import { HerdrClient, HerdrRunner } from '../index.ts'
import type { PaneInfo } from './fake-records.ts'
import { FakeHerdr, type FakeOptions } from './fake-server.ts'

const processes = systemProcesses()

/** Waits for a fact. */
export async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await new Promise((resolve) => setTimeout(resolve, 20))
}

export interface BenchOptions extends Partial<FakeOptions> {
  readonly keepsPanes?: boolean
  /** What the runner sees of processes; default all there is. */
  readonly processes?: Processes
}

/** A server of its own with one pane, that of this process, and a runner in it. */
export class RunnerBench {
  readonly directory: string
  readonly herdr: FakeHerdr
  readonly own: PaneInfo
  readonly runner: HerdrRunner
  readonly client: HerdrClient
  keepsPanes: boolean
  readonly #processes: Processes
  readonly #generations: string[] = []

  private constructor(
    directory: string,
    herdr: FakeHerdr,
    { keepsPanes = false, processes: seen = processes }: BenchOptions,
  ) {
    this.#processes = seen
    this.directory = directory
    this.herdr = herdr
    this.keepsPanes = keepsPanes
    this.own = herdr.adopt(process.pid)
    this.client = new HerdrClient(herdr.socketPath, systemClock)
    this.runner = this.runnerIn(this.own.pane_id)
  }

  static async of(options: BenchOptions = {}): Promise<RunnerBench> {
    // A name that a shell would take apart.
    const directory = mkdtempSync(join(tmpdir(), 'drover herdr & $(x) "%-'))
    const env = { ...process.env, PS1: '$ ', HOME: directory }
    const herdr = await FakeHerdr.start({ tickMs: 20, env, ...options, directory })
    return new RunnerBench(directory, herdr, options)
  }

  /** Another runner of this process, whose environment names this pane. */
  runnerIn(pane: string): HerdrRunner {
    return new HerdrRunner({
      fs: diskFs,
      processes: this.#processes,
      clock: systemClock,
      ids: systemIds,
      herdr: { client: this.client, pane },
      keepsPanes: () => this.keepsPanes,
    })
  }

  /** An order for a program of Node, which makes the file `up` with its pid once it does what it is to do. */
  order(program: string = '', twist: Partial<LaunchCommand> = {}): StartOrder<Launch> {
    const name = systemIds.next()
    this.#generations.push(name)
    const paths = generationPaths(this.directory, name)
    prepareGeneration(diskFs, paths)
    return {
      generation: generation(name, this.directory),
      paths,
      launch: () => ({
        command: process.execPath,
        args: ['-e', `${program}\n${andWait}`],
        cwd: paths.activity,
        env: { ...process.env, [generationVariable]: name },
        files: [{ path: join(paths.activity, 'system-prompt.md'), text: 'prompt' }],
        placement: 'tab',
        ...twist,
      }),
    }
  }

  /** Starts a program and waits until it is up; its place as the records of such an agent have it. */
  async start(program?: string, twist?: Partial<LaunchCommand>): Promise<AgentPlace> {
    return this.placed(this.order(program, twist))
  }

  async placed(order: StartOrder<Launch>): Promise<AgentPlace> {
    const { generation, paths } = order
    const placement = await this.runner.start(order)
    const process = await this.upProcess(paths.activity)
    return { generation, paths, placement: { ...placement, process } }
  }

  async upProcess(activity: string): Promise<ProcessIdentity> {
    const up = join(activity, 'up')
    await until(() => existsSync(up) && readFileSync(up, 'utf8') !== '')
    const identity = processes.identify(Number(readFileSync(up, 'utf8')))
    if (identity === undefined) throw new Error('it is gone already')
    return identity
  }

  /** Requests of one method, in order. */
  asked(method: string): readonly Record<string, unknown>[] {
    return this.herdr.requests
      .filter((request) => request.method === method)
      .map(({ params }) => params as Record<string, unknown>)
  }

  /** Ends all of it. */
  async close(): Promise<void> {
    this.runner.close()
    await this.herdr.stop()
    for (const value of this.#generations)
      for (const left of processes.marked({ variable: generationVariable, value }))
        process.kill(left.pid, 'SIGKILL')
    rmSync(this.directory, { recursive: true, force: true })
  }
}

const andWait =
  'require("fs").writeFileSync("up", String(process.pid)); setInterval(() => {}, 1000)'

const generation = (name: string, directory: string): GenerationFile => ({
  protocol,
  kind: 'generation',
  identity: {
    generation: name,
    owner: 'owner',
    session: 'session',
    sessionFile: join(directory, 'session.jsonl'),
    label: 'scout',
    cwd: directory,
  },
  root: 'owner',
  depth: 1,
  definition: 'scout',
  runner: 'herdr',
  build: 'test',
  at: 0,
  starter: { process: processes.self(), nonce: 'n' },
})
