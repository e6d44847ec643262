import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generationVariable, ManagedAgent } from '../actors/index.ts'
import { FakeHerdr } from '../herdr/testing/index.ts'
import { AnsweringHost } from '../herdr/testing/scene-hosts.ts'
import {
  diskFs,
  type GenerationPaths,
  readGeneration,
  reserveAt,
  rootPaths,
  systemClock,
  systemIds,
  systemProcesses,
} from '../mailbox/index.ts'

export type ToChild =
  /** A shell with this mark comes up in some pane, and is to be an agent. */
  | { readonly type: 'play'; readonly agents: string; readonly paths: GenerationPaths }
  | { readonly type: 'count' }
  /** A person closes the pane. */
  | { readonly type: 'close'; readonly pane: string }

export type FromChild =
  | { readonly type: 'open'; readonly socketPath: string; readonly pane: string }
  | ({ readonly type: 'counted' } & Counted)

/** What the server has seen so far, and what it holds now. */
export interface Counted {
  readonly requests: Readonly<Record<string, number>>
  readonly connections: number
  readonly panes: number
  /** Processes of agents. */
  readonly processes: number
}

/** No agent comes to an end by itself. */
const workMs = 3_600_000
const lookMs = 25

const processes = systemProcesses()
const starting = new Map<string, Extract<ToChild, { type: 'play' }>>()
const marks: string[] = []
const playing: ManagedAgent[] = []

// In memory where that is: a socket's path is short, and nothing else lies here.
const directory = mkdtempSync(join(tmpdir(), 'drover-bench-'))
const { PATH } = process.env
const env = { PATH, HOME: directory, PS1: '$ ' }
const herdr = await FakeHerdr.start({ directory, env })
const own = herdr.adopt(process.ppid)
process.on('message', (message: ToChild) => void handle(message))
process.once('disconnect', () => void end())
// A key that interrupts the benchmark reaches this process too; its parent hangs up then.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {})
const looks = setInterval(() => void playAll(), lookMs)
send({ type: 'open', socketPath: herdr.socketPath, pane: own.pane_id })

async function handle(message: ToChild): Promise<void> {
  if (message.type === 'play') starting.set(message.paths.directory, message)
  else if (message.type === 'close') await herdr.person.close(message.pane)
  else send({ type: 'counted', ...counted() })
}

function counted(): Counted {
  const requests: Record<string, number> = {}
  for (const { method } of herdr.requests) requests[method] = (requests[method] ?? 0) + 1
  const processes = marks.reduce((sum, mark) => sum + marked(mark).length, 0)
  const { connections } = herdr
  return { requests, connections, panes: herdr.panes().length, processes }
}

const marked = (value: string) => processes.marked({ variable: generationVariable, value })

async function playAll(): Promise<void> {
  for (const [name, { agents, paths }] of starting) {
    const pid = Number(said(`${paths.activity}/up`))
    const identity = pid > 0 ? processes.identify(pid) : undefined
    const generation = readGeneration(diskFs, paths)
    if (identity === undefined || typeof generation !== 'object') continue
    starting.delete(name)
    marks.push(generation.identity.generation)
    const root = rootPaths(agents)
    const agent = await ManagedAgent.open({
      ...{ fs: diskFs, clock: systemClock, ids: systemIds, paths, generation, root },
      reserve: reserveAt(diskFs, root.ballast),
      runtime: { process: identity, nonce: generation.identity.generation },
      build: 'bench',
      host: new AnsweringHost(workMs, () => processes.signal(identity, 'SIGTERM')),
      onStatus: () => {},
    })
    if (agent === 'leave') processes.signal(identity, 'SIGTERM')
    else playing.push(agent)
  }
}

function said(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return '' // not yet
  }
}

async function end(): Promise<void> {
  clearInterval(looks)
  await Promise.all(playing.map((agent) => agent.stop()))
  await herdr.stop()
  for (const process of marks.flatMap(marked)) processes.signal(process, 'SIGKILL')
  rmSync(directory, { recursive: true, force: true })
  process.exit()
}

function send(message: FromChild): void {
  process.send?.(message)
}
