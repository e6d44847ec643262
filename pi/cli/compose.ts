import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { AgentRunner, Launch } from '../../actors/index.ts'
import { HerdrClient, HerdrError, HerdrRunner, herdrEnvironment } from '../../herdr/index.ts'
import {
  type Clock,
  diskFs,
  type Ids,
  type MailboxFs,
  type Processes,
  type RootPaths,
  rootPaths,
  systemClock,
  systemIds,
  systemProcesses,
  trustedAgentDirectory,
} from '../../mailbox/index.ts'
import { pathFrom } from '../paths.ts'
import { HeadlessRunner } from '../runners/headless.ts'

/** The real world as this command takes it: the one place where its concrete parts are chosen. */
export interface CliWorld {
  readonly fs: MailboxFs
  readonly clock: Clock
  readonly ids: Ids
  readonly processes: Processes
  readonly agentDirectory: string
  readonly root: RootPaths
}

/**
 * The world, of which nothing is made that is not there.
 *
 * @throws MailboxError - this platform or this agent directory cannot be used; the message says what to do
 */
export function openCliWorld(): CliWorld {
  const directory = agentDirectory()
  return worldAt(existsSync(directory) ? trustedAgentDirectory(directory) : directory)
}

/** The same over a directory that nobody has vouched for: for whoever looks for what is wrong with it. */
export function worldAt(directory: string): CliWorld {
  return {
    fs: diskFs,
    clock: systemClock,
    ids: systemIds,
    processes: systemProcesses(),
    agentDirectory: directory,
    root: rootPaths(directory),
  }
}

/** As the host finds it; this command does not load the host. */
export function agentDirectory(): string {
  const given = process.env['PI_CODING_AGENT_DIR']
  return given ? pathFrom(process.cwd(), given) : join(homedir(), '.pi', 'agent')
}

/** What can end agents, wherever they live. */
export function openRunners(world: CliWorld): {
  readonly runners: ReadonlyMap<string, AgentRunner<Launch>>
  readonly close: () => void
} {
  const { fs, processes, clock, ids } = world
  const place = herdrEnvironment(process.env)
  const headless = new HeadlessRunner(fs, processes, clock)
  const herdr = new HerdrRunner({
    ...{ fs, processes, clock, ids, keepsPanes: () => false },
    ...(place.inside === true && {
      herdr: { client: new HerdrClient(place.socketPath, clock), pane: place.paneId },
    }),
  })
  const runners = [headless, herdr].map((each): [string, AgentRunner<Launch>] => [each.name, each])
  return { runners: new Map(runners), close: () => herdr.close() }
}

/** Which herdr answers here. */
export type HerdrHere =
  | { readonly state: 'outside' }
  | { readonly state: 'broken'; readonly why: string }
  | { readonly state: 'unreachable'; readonly socketPath: string; readonly why: string }
  | {
      readonly state: 'reached'
      readonly socketPath: string
      readonly version: string
      readonly protocol: number
    }

export async function herdrHere(clock: Clock): Promise<HerdrHere> {
  const place = herdrEnvironment(process.env)
  if (place.inside === false) return { state: 'outside' }
  if (place.inside === 'broken') return { state: 'broken', why: place.why }
  const { socketPath } = place
  try {
    const { version, protocol } = await new HerdrClient(socketPath, clock).server()
    return { state: 'reached', socketPath, version, protocol }
  } catch (error) {
    if (!(error instanceof HerdrError)) throw error
    return { state: 'unreachable', socketPath, why: error.message }
  }
}
