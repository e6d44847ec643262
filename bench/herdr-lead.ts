import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  type AgentRunner,
  type AgentSession,
  type Delegated,
  generationVariable,
  type Launch,
  Observation,
  Owner,
} from '../actors/index.ts'
import { HerdrClient, HerdrRunner } from '../herdr/index.ts'
import { IdleOwnerHost } from '../herdr/testing/scene-hosts.ts'
import {
  diskFs,
  limits,
  reserveAt,
  rootPaths,
  startRuntime,
  systemClock,
  systemIds,
  systemProcesses,
} from '../mailbox/index.ts'
import type { Counted, FromChild, ToChild } from './herdr-child.ts'
import type { Workspace } from './workspace.ts'

const session = 'bench'

/** This process as a lead in a pane of herdr. The server and whatever runs in its panes are other processes. */
export class HerdrLead {
  readonly owner: Owner<Launch>
  readonly host: IdleOwnerHost
  readonly #directory: string
  readonly #server: ChildProcess
  readonly #runner: HerdrRunner
  readonly #endRuntime: () => void

  private constructor(
    owner: Owner<Launch>,
    host: IdleOwnerHost,
    held: {
      readonly directory: string
      readonly server: ChildProcess
      readonly runner: HerdrRunner
      readonly endRuntime: () => void
    },
  ) {
    this.owner = owner
    this.host = host
    this.#directory = held.directory
    this.#server = held.server
    this.#runner = held.runner
    this.#endRuntime = held.endRuntime
  }

  static async open(workspace: Workspace): Promise<HerdrLead> {
    const server = fork(fileURLToPath(new URL('./herdr-child.ts', import.meta.url)))
    const [{ socketPath, pane }] = (await once(server, 'message')) as [Opened]
    const directory = workspace.fresh()
    const ports = { fs: diskFs, processes: systemProcesses(), clock: systemClock, ids: systemIds }
    const runner = new HerdrRunner({
      ...ports,
      herdr: { client: new HerdrClient(socketPath, systemClock), pane },
      keepsPanes: () => false,
    })
    const { runtime, end: endRuntime } = startRuntime(ports.processes, systemIds)
    const host = new IdleOwnerHost()
    const root = rootPaths(directory)
    const owner = await Owner.open<Launch>({
      ...{ ...ports, root, runtime, session, host },
      reserve: reserveAt(diskFs, root.ballast),
      runners: new Map<string, AgentRunner<Launch>>([[runner.name, runner]]),
      rootSession: session,
      depth: 0,
      build: 'bench',
      recordBytesMax: limits.recordBytesDefault,
      liveAgentsMax: 64,
      startsAtOnce: 2,
      observation: new Observation(),
      treeDepthMax: limits.treeDepthMax,
    })
    return new HerdrLead(owner, host, { directory, server, runner, endRuntime })
  }

  /** Resolves once an agent has taken its task, at which it then works for ever. */
  delegate(): Promise<Delegated> {
    const id = systemIds.next()
    const file = join(this.#directory, `${id}.jsonl`)
    const agentSession: AgentSession = {
      ...{ id, file },
      write: async () => writeFileSync(file, '{}\n'),
      remove: () => rmSync(file, { force: true }),
    }
    const launch: Launch = ({ identity }, paths) => {
      this.#send({ type: 'play', agents: this.#directory, paths })
      return {
        command: '/bin/sh',
        args: ['-c', 'echo $$ > up; exec sleep 100000'],
        cwd: paths.activity,
        env: { PATH: process.env['PATH'], [generationVariable]: identity.generation },
        files: [],
        placement: 'tab',
      }
    }
    return this.owner.delegate(
      {
        ...{ definition: 'scout', task: 'work', cwd: this.#directory, launch },
        session: agentSession,
        timeoutMs: limits.startBudgetHighestMs,
        runner: this.#runner,
      },
      new AbortController().signal,
    )
  }

  /** A person closes a pane. */
  closePane(pane: string): void {
    this.#send({ type: 'close', pane })
  }

  async counted(): Promise<Counted> {
    const answered = once(this.#server, 'message')
    this.#send({ type: 'count' })
    const [counted] = (await answered) as [Counted]
    return counted
  }

  /** Ends the server and all that is left in its panes. */
  async close(): Promise<void> {
    await this.owner.stop()
    this.#runner.close()
    this.#endRuntime()
    const exited = once(this.#server, 'exit')
    this.#server.disconnect()
    await exited
  }

  #send(message: ToChild): void {
    this.#server.send(message)
  }
}

type Opened = Extract<FromChild, { type: 'open' }>
