import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  realpathSync,
  writeSync,
} from 'node:fs'
import { availableParallelism, cpus, loadavg, platform, release, totalmem } from 'node:os'
import { basename } from 'node:path'
import { median } from './measure.ts'
import type { Workspace } from './workspace.ts'

/** What the figures of a run depend on. Never says whose machine it is. */
export interface Machine {
  readonly cpu: string
  readonly cores: number
  readonly memoryGb: number
  readonly system: string
  readonly node: string
  readonly libuv: string
  readonly threadPool: number
  readonly fileSystem: FileSystem
  /** A tiny file created and written, not synced; then what syncing it and its directory adds, medians. */
  readonly createUs: number
  readonly syncFileUs: number
  readonly syncDirectoryUs: number
}

interface FileSystem {
  readonly type: string
  readonly options: string
  readonly journal: 'yes' | 'no' | 'unknown'
}

/** Processes that wanted the processor in the last minute: the noise of a run. */
export const load = (): number => loadavg()[0] ?? 0

export function describeMachine(workspace: Workspace): Machine {
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryGb: Math.round(totalmem() / 2 ** 30),
    system: `${platform()} ${release()}`,
    node: process.version,
    libuv: process.versions.uv,
    threadPool: Number(process.env['UV_THREADPOOL_SIZE'] ?? 4),
    fileSystem: fileSystemOf(workspace.directory),
    ...measureSyncs(workspace.fresh()),
  }
}

function fileSystemOf(directory: string): FileSystem {
  const unknown = { type: 'unknown', options: 'unknown', journal: 'unknown' } as const
  if (platform() !== 'linux') return unknown
  const path = realpathSync(directory)
  const mounts = readFileSync('/proc/self/mountinfo', 'utf8').split('\n').flatMap(parseMount)
  const [mount] = mounts
    .filter(({ point }) => point === '/' || path === point || path.startsWith(`${point}/`))
    .sort((a, b) => b.point.length - a.point.length)
  if (mount === undefined) return unknown
  const { type, options, device } = mount
  if (type !== 'ext4') return { type, options, journal: 'unknown' }
  const hasJournal = existsSync(`/proc/fs/jbd2/${basename(device)}-8`)
  return { type, options, journal: hasJournal ? 'yes' : 'no' }
}

interface Mount {
  readonly point: string
  readonly type: string
  readonly device: string
  readonly options: string
}

function parseMount(line: string): readonly Mount[] {
  const [left = '', right = ''] = line.split(' - ')
  const [, , , , point, own] = left.split(' ')
  const [type, device, shared] = right.split(' ')
  if (!point || !own || !type || !device || !shared) return []
  return [{ point, type, device, options: [...new Set(`${own},${shared}`.split(','))].join(',') }]
}

const syncSamples = 50

/** On a memory disk a sync costs nothing, and no figure about durability means anything there. */
function measureSyncs(
  directory: string,
): Pick<Machine, 'createUs' | 'syncFileUs' | 'syncDirectoryUs'> {
  const create: number[] = []
  const file: number[] = []
  const names: number[] = []
  const directoryFd = openSync(directory, 'r')
  for (let i = 0; i < syncSamples; i++) {
    const begun = performance.now()
    const fd = openSync(`${directory}/${i}`, 'wx', 0o600)
    writeSync(fd, 'x')
    const created = performance.now()
    fsyncSync(fd)
    const synced = performance.now()
    fsyncSync(directoryFd)
    const done = performance.now()
    closeSync(fd)
    create.push((created - begun) * 1_000)
    file.push((synced - created) * 1_000)
    names.push((done - synced) * 1_000)
  }
  closeSync(directoryFd)
  return {
    createUs: median(create),
    syncFileUs: median(file),
    syncDirectoryUs: median(names),
  }
}
