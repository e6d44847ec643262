import { availableParallelism } from 'node:os'
import type { ExtensionAPI } from '@mariozechner/pi-coding-agent'
import {
  type AgentRunner,
  type Launch,
  ManagedAgent,
  Observation,
  OperationError,
  type OwnAgents,
  Owner,
} from '../actors/index.ts'
import {
  HerdrClient,
  HerdrError,
  HerdrRunner,
  herdrEnvironment,
  PaneStatus,
} from '../herdr/index.ts'
import {
  type AgentStatus,
  type Clock,
  diskFs,
  type GenerationFile,
  type GenerationPaths,
  type Ids,
  limits,
  type MailboxFs,
  type Processes,
  pruneResults,
  type Reserve,
  type RootPaths,
  type Runtime,
  reserveAt,
  rootPaths,
  setReserveAside,
  startRuntime,
  systemClock,
  systemIds,
  systemProcesses,
  trustedAgentDirectory,
} from '../mailbox/index.ts'
import { Dialogs } from './dialogs.ts'
import { FileEditor } from './file-editor.ts'
import { agentDirectory, type HostGate } from './host.ts'
import { build } from './launch.ts'
import { PiOwnerHost } from './lead/owner-host.ts'
import { PiAgentHost } from './managed/agent-host.ts'
import { HeadlessRunner } from './runners/headless.ts'
import type { RunnerSetting } from './settings.ts'

/** The real world, as the rooms below take it. The one place where concrete parts are chosen. */
export interface World {
  readonly fs: MailboxFs
  readonly clock: Clock
  readonly ids: Ids
  readonly processes: Processes
  readonly root: RootPaths
  readonly reserve: Reserve
  readonly agentDirectory: string
  /** This life of this extension in this process. */
  readonly runtime: Runtime
  /** Ends it: what it held is free then. */
  readonly end: () => void
  readonly observation: Observation
  /** Changes files of the person. */
  readonly editor: FileEditor
  /** What asks the person, one question at a time. */
  readonly dialogs: Dialogs
}

/** @throws MailboxError - this platform or this agent directory cannot be used; the message says what to do */
export function openWorld(): World {
  const processes = systemProcesses()
  const directory = trustedAgentDirectory(agentDirectory())
  const root = rootPaths(directory)
  const life = startRuntime(processes, systemIds)
  const ports = { fs: diskFs, clock: systemClock, ids: systemIds, processes, root, ...life }
  return {
    ...ports,
    reserve: reserveAt(diskFs, root.ballast),
    agentDirectory: directory,
    observation: new Observation(),
    editor: new FileEditor(ports),
    dialogs: new Dialogs(),
  }
}

export interface OwnerPlace {
  readonly session: string
  readonly sessionFile: string
  readonly rootSession: string
  readonly depth: number
  readonly recordBytesMax: number
  readonly liveAgentsMax: number
}

/** Where the agents of a session can live. */
export interface AgentRunners {
  readonly all: ReadonlyMap<string, AgentRunner<Launch>>
  /**
   * The runner for a new agent.
   *
   * @throws OperationError `not_running_inside_herdr` - herdr is wanted, and this Pi is not proven to run in it
   */
  choose(wanted: RunnerSetting): Promise<AgentRunner<Launch>>
  /** Lets go of what they hold; agents stay. */
  close(): void
}

export function openRunners(world: World, keepsPanes: () => boolean): AgentRunners {
  const { fs, processes, clock } = world
  const place = herdrEnvironment(process.env)
  const headless = new HeadlessRunner(fs, processes, clock)
  const herdr = new HerdrRunner({
    ...{ fs, processes, clock, keepsPanes },
    ...(place.inside === true && {
      herdr: { client: new HerdrClient(place.socketPath, clock), pane: place.paneId },
    }),
  })
  return {
    all: new Map<string, AgentRunner<Launch>>([headless, herdr].map((each) => [each.name, each])),
    close: () => herdr.close(),
    async choose(wanted) {
      if (wanted === 'headless' || (wanted === 'auto' && place.inside === false)) return headless
      if (place.inside === 'broken') throw notInsideHerdr(`${place.why}.`)
      if (place.inside === false) throw notInsideHerdr('HERDR_ENV is not set.')
      try {
        await herdr.ownPane()
        return herdr
      } catch (error) {
        if (error instanceof HerdrError) throw notInsideHerdr(error.message, error)
        throw error
      }
    },
  }
}

const notInsideHerdr = (why: string, cause?: Error): OperationError =>
  new OperationError({
    category: 'not_running_inside_herdr',
    operation: 'delegate',
    stage: 'herdr',
    message: `This Pi is not proven to run inside herdr: ${why}`,
    nextAction:
      'Start Pi in a pane of herdr; or set "runner" to "headless" in drover.json. Nothing was started.',
    rollbackOccurred: false,
    ...(cause && { cause }),
  })

/** The owner of a session's agents. */
export async function openOwner(
  world: World,
  gate: HostGate,
  runners: AgentRunners,
  place: OwnerPlace,
): Promise<Owner<Launch>> {
  const owner = await Owner.open<Launch>({
    ...world,
    ...place,
    host: new PiOwnerHost(gate),
    runners: runners.all,
    build,
    startsAtOnce: availableParallelism(),
    treeDepthMax: limits.treeDepthMax,
  })
  pruneResults(world.clock, world.root.results)
  void setReserveAside(world.fs, world.ids, world.root.ballast) // nobody waits for it
  return owner
}

/** An agent at work in this process, and the promise that it has nothing left to do. */
export interface Serving {
  readonly agent: ManagedAgent | 'leave'
  readonly left: Promise<void>
}

/** What an agent is to do, and what goes with it in its process. */
export interface Assigned {
  readonly generation: GenerationFile
  readonly paths: GenerationPaths
  readonly ownAgents: OwnAgents | undefined
  readonly onStatus: (status: AgentStatus) => void
}

export async function openManaged(
  world: World,
  pi: ExtensionAPI,
  gate: HostGate,
  { ownAgents, ...assigned }: Assigned,
): Promise<Serving> {
  const host = new PiAgentHost(pi, gate, world.clock)
  const agent = await ManagedAgent.open({
    ...world,
    ...assigned,
    build,
    host,
    ...(ownAgents && { ownAgents }),
  })
  if (agent === 'leave') host.leave('closed')
  return { agent, left: host.left }
}

/** What the pane of this process shows of it; undefined where it has none. */
export function openPaneStatus({ clock }: World): PaneStatus | undefined {
  const place = herdrEnvironment(process.env)
  if (place.inside !== true) return undefined
  return new PaneStatus(new HerdrClient(place.socketPath, clock), clock, place.paneId)
}
