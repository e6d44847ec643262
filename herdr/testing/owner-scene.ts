import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type AgentRunner,
  type AgentSession,
  type Delegated,
  generationVariable,
  type Launch,
  ManagedAgent,
  Observation,
  Owner,
} from '../../actors/index.ts'
import {
  type Clock,
  diskFs,
  type GenerationFile,
  type GenerationPaths,
  type Processes,
  reserveAt,
  rootPaths,
  startRuntime,
  systemIds,
  systemProcesses,
} from '../../mailbox/index.ts'
import { HerdrClient, HerdrRunner } from '../index.ts'
import type { PaneInfo } from './fake-records.ts'
import { FakeHerdr, type FakeOptions } from './fake-server.ts'
import { AnsweringHost, IdleOwnerHost } from './scene-hosts.ts'

const processes: Processes = systemProcesses()

export interface SceneOptions extends Partial<FakeOptions> {
  readonly clock: Clock
  /** How long an agent works, real ms. */
  readonly workMs?: number
  readonly liveAgentsMax?: number
}

/**
 * A whole owner with the herdr runner against a server: mailboxes on disk, panes, shells and processes are real. What an
 * agent decides is played in this process, so that starting one costs next to nothing.
 */
export class OwnerScene {
  readonly directory: string
  readonly herdr: FakeHerdr
  readonly own: PaneInfo
  readonly host: IdleOwnerHost = new IdleOwnerHost()
  readonly runner: HerdrRunner
  readonly #options: SceneOptions
  readonly #managed = new Map<string, ManagedAgent>()
  readonly #generations: string[] = []
  #owner: Owner<Launch> | undefined
  #timer: NodeJS.Timeout | undefined
  #endRuntime: () => void = () => {}

  private constructor(directory: string, herdr: FakeHerdr, options: SceneOptions) {
    this.directory = directory
    this.herdr = herdr
    this.#options = options
    this.own = herdr.adopt(process.pid)
    const { clock } = options
    this.runner = new HerdrRunner({
      ...{ fs: diskFs, processes, clock },
      herdr: { client: new HerdrClient(herdr.socketPath, clock), pane: this.own.pane_id },
      keepsPanes: () => false,
    })
  }

  static async open(options: SceneOptions): Promise<OwnerScene> {
    const directory = mkdtempSync(join(tmpdir(), 'drover-scene-'))
    mkdirSync(join(directory, 'agent'), { mode: 0o700 })
    const { PATH, TMPDIR } = process.env
    const env = { PATH, TMPDIR, HOME: directory, PS1: '$ ' }
    const herdr = await FakeHerdr.start({ tickMs: 5, env, ...options, directory })
    const scene = new OwnerScene(directory, herdr, options)
    await scene.#begin()
    return scene
  }

  get owner(): Owner<Launch> {
    if (this.#owner === undefined) throw new Error('not open')
    return this.#owner
  }

  async #begin(): Promise<void> {
    const { clock, liveAgentsMax = 16 } = this.#options
    const { runtime, end } = startRuntime(processes, systemIds)
    this.#endRuntime = end
    const root = rootPaths(join(this.directory, 'agent'))
    const session = 'lead'
    this.#owner = await Owner.open<Launch>({
      ...{ fs: diskFs, clock, ids: systemIds, processes, root, runtime, session },
      reserve: reserveAt(diskFs, root.ballast),
      runners: new Map<string, AgentRunner<Launch>>([[this.runner.name, this.runner]]),
      host: this.host,
      rootSession: session,
      depth: 0,
      build: 'test',
      recordBytesMax: 131_072,
      liveAgentsMax,
      startsAtOnce: 2,
      observation: new Observation(),
      treeDepthMax: 2,
    })
    const look = async () => {
      await this.#play()
      this.#timer = setTimeout(look, 10)
    }
    this.#timer = setTimeout(look, 10)
  }

  delegate(task: string, placement: 'tab' | 'split' = 'tab'): Promise<Delegated> {
    const id = systemIds.next()
    const file = join(this.directory, `${id}.jsonl`)
    const session: AgentSession = {
      ...{ id, file },
      write: async () => writeFileSync(file, '{}\n'),
      remove: () => rmSync(file, { force: true }),
    }
    const launch: Launch = ({ identity }, paths) => {
      this.#generations.push(identity.generation)
      this.#starts.set(identity.generation, paths)
      return {
        command: '/bin/sh',
        args: ['-c', 'echo $$ > up; exec sleep 100000'],
        cwd: paths.activity,
        env: { PATH: process.env['PATH'], [generationVariable]: identity.generation },
        files: [],
        placement,
      }
    }
    return this.owner.delegate(
      {
        ...{ definition: 'scout', task, cwd: this.directory, session, launch },
        timeoutMs: 60_000,
        runner: this.runner,
      },
      new AbortController().signal,
    )
  }

  readonly #starts = new Map<string, GenerationPaths>()

  /** Whatever came up becomes an agent. */
  async #play(): Promise<void> {
    for (const [name, paths] of this.#starts) {
      const up = join(paths.activity, 'up')
      const pid = existsSync(up) ? Number(readFileSync(up, 'utf8')) : 0
      const identity = pid === 0 ? undefined : processes.identify(pid)
      if (identity === undefined) continue
      this.#starts.delete(name)
      const file = readGenerationFile(paths)
      if (file === undefined) continue
      const end = () => {
        processes.signal(identity, 'SIGTERM')
      }
      const agent = await ManagedAgent.open({
        ...{ fs: diskFs, clock: this.#options.clock, ids: systemIds, paths, generation: file },
        root: rootPaths(join(this.directory, 'agent')),
        reserve: reserveAt(diskFs, rootPaths(join(this.directory, 'agent')).ballast),
        runtime: { process: identity, nonce: name },
        build: 'test',
        host: new AnsweringHost(this.#options.workMs ?? 20, end),
        onStatus: () => {},
      }).catch(() => 'leave' as const)
      if (agent === 'leave') end()
      else this.#managed.set(name, agent)
    }
  }

  /** Processes of agents that run now. */
  get running(): readonly string[] {
    return this.#generations.filter(
      (value) => processes.marked({ variable: generationVariable, value }).length > 0,
    )
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer)
    await this.#owner?.stop()
    this.runner.close()
    this.#endRuntime()
    for (const agent of this.#managed.values()) await agent.stop()
    await this.herdr.stop()
    for (const value of this.#generations)
      for (const left of processes.marked({ variable: generationVariable, value }))
        process.kill(left.pid, 'SIGKILL')
    rmSync(this.directory, { recursive: true, force: true })
  }
}

function readGenerationFile({ file }: GenerationPaths): GenerationFile | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return undefined // settled meanwhile
  }
}
