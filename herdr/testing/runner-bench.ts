import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
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
import { HerdrClient, HerdrRunner, herdrEnvironment } from '../index.ts'
import type { PaneInfo } from './fake-records.ts'
import { FakeHerdr, type FakeOptions } from './fake-server.ts'

const processes = systemProcesses()

/** A fact that has not come by then never does; a test that waited on would stop all others, ms. */
const factMs = 60_000

/** Waits for a fact. */
export async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + factMs
  while (!(await isTrue())) {
    if (performance.now() > deadline) throw new Error(`not within ${factMs} ms: ${isTrue}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

export interface BenchOptions extends Partial<FakeOptions> {
  readonly keepsPanes?: boolean
  /** What the runner sees of processes; default all there is. */
  readonly processes?: Processes
}

interface StandIn {
  readonly herdr: FakeHerdr
  readonly own: PaneInfo
}

/** A runner in a pane, that of this process: of a stand-in of its own, or of the server it lives in. */
export class RunnerBench {
  readonly directory: string
  readonly runner: HerdrRunner
  readonly client: HerdrClient
  keepsPanes: boolean
  readonly #processes: Processes
  readonly #standIn: StandIn | undefined
  readonly #generations: string[] = []

  private constructor(
    directory: string,
    place: { readonly socketPath: string; readonly pane: string },
    { keepsPanes = false, processes: seen = processes }: BenchOptions = {},
    standIn?: StandIn,
  ) {
    this.#processes = seen
    this.directory = directory
    this.keepsPanes = keepsPanes
    this.#standIn = standIn
    this.client = new HerdrClient(place.socketPath, systemClock)
    this.runner = this.runnerIn(place.pane)
  }

  static async of(options: BenchOptions = {}): Promise<RunnerBench> {
    const directory = awkwardDirectory()
    const env = { ...process.env, PS1: '$ ', HOME: directory }
    const herdr = await FakeHerdr.start({ tickMs: 20, env, ...options, directory })
    const own = herdr.adopt(process.pid)
    const place = { socketPath: herdr.socketPath, pane: own.pane_id }
    return new RunnerBench(directory, place, options, { herdr, own })
  }

  /** One that ends with a test. */
  static async during(t: TestContext, options?: BenchOptions): Promise<RunnerBench> {
    const bench = await RunnerBench.of(options)
    t.after(() => bench.close())
    return bench
  }

  /** In the pane that the environment of this process names, of a server that others wrote. */
  static inOwnPane(): RunnerBench {
    const place = herdrEnvironment(process.env)
    if (place.inside !== true) throw new Error('This process does not run in a pane of herdr.')
    const { socketPath, paneId: pane } = place
    return new RunnerBench(awkwardDirectory(), { socketPath, pane })
  }

  /** The stand-in; there must be one. */
  get herdr(): FakeHerdr {
    return this.#required.herdr
  }

  /** The pane of this process in the stand-in. */
  get own(): PaneInfo {
    return this.#required.own
  }

  get #required(): StandIn {
    if (this.#standIn === undefined) throw new Error('This bench has no stand-in.')
    return this.#standIn
  }

  /** Another runner of this process, whose environment names this pane. */
  runnerIn(pane: string): HerdrRunner {
    return new HerdrRunner({
      fs: diskFs,
      processes: this.#processes,
      clock: systemClock,
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
    await this.#standIn?.herdr.stop()
    for (const value of this.#generations)
      for (const left of processes.marked({ variable: generationVariable, value }))
        process.kill(left.pid, 'SIGKILL')
    rmSync(this.directory, { recursive: true, force: true })
  }
}

/** Its name is one that a shell would take apart. */
const awkwardDirectory = (): string => mkdtempSync(join(tmpdir(), 'drover herdr & $(x) "%-'))

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
