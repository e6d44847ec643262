import { availableParallelism } from 'node:os'
import type { ExtensionAPI } from '@mariozechner/pi-coding-agent'
import { ManagedAgent, Observation, type OwnAgents, Owner } from '../actors/index.ts'
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
import { agentDirectory, type HostGate } from './host.ts'
import { build, type Launch } from './launch.ts'
import { PiOwnerHost } from './lead/owner-host.ts'
import { PiAgentHost } from './managed/agent-host.ts'
import { HeadlessRunner } from './runners/headless.ts'

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
}

/** @throws MailboxError - this platform or this agent directory cannot be used; the message says what to do */
export function openWorld(): World {
  const processes = systemProcesses()
  const directory = trustedAgentDirectory(agentDirectory())
  const root = rootPaths(directory)
  return {
    fs: diskFs,
    clock: systemClock,
    ids: systemIds,
    processes,
    root,
    reserve: reserveAt(diskFs, root.ballast),
    agentDirectory: directory,
    observation: new Observation(),
    ...startRuntime(processes, systemIds),
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

/** The owner of a session's agents. */
export async function openOwner(
  world: World,
  gate: HostGate,
  place: OwnerPlace,
): Promise<Owner<Launch>> {
  const headless = new HeadlessRunner(world.fs, world.processes, world.clock)
  const owner = await Owner.open<Launch>({
    ...world,
    ...place,
    host: new PiOwnerHost(gate),
    runner: headless,
    runnerOf: (name) => (name === headless.name ? headless : undefined),
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
  if (agent === 'leave') host.leave()
  return { agent, left: host.left }
}
