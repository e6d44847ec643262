import { readdirSync, readFileSync, readlinkSync, watch } from 'node:fs'
import { join } from 'node:path'
import type { CheckReport, Finding } from './finding.ts'

/** How many watches and instances of inotify this user has, and may have. */
export interface WatchUse {
  readonly watches: { readonly used: number; readonly most: number }
  readonly instances: { readonly used: number; readonly most: number }
}

/** Share of a limit from which on it is said. */
const nearly = 0.9

/** Whether changes of directories can be watched. Without watches all goes on, a few seconds later each time. */
export function watches(directory: string, use: WatchUse | undefined = inotifyUse()): CheckReport {
  const failure = tryWatch(directory)
  const full: Finding[] = [
    ...(failure === undefined ? [] : [refused(failure)]),
    ...(use === undefined || failure !== undefined ? [] : limitFindings(use)),
  ]
  return {
    facts: [
      use === undefined
        ? 'the limits of this system cannot be told'
        : `${use.watches.used} of ${use.watches.most} watches, ${use.instances.used} of ${use.instances.most} instances used by what we may see`,
    ],
    findings: full,
  }
}

const raise = (name: string): string =>
  `End programs that watch many files, or raise the limit: sudo sysctl fs.inotify.max_user_${name}=<number>. Until then agents are looked at every few seconds.`

function refused(code: string): Finding {
  const name = code === 'ENOSPC' ? 'watches' : 'instances'
  return {
    severity: 'error',
    what: `no directory can be watched (${code}): the limit of inotify ${name} is reached`,
    remedy: raise(name),
  }
}

function limitFindings(use: WatchUse): Finding[] {
  return (['watches', 'instances'] as const).flatMap((name): Finding[] => {
    const { used, most } = use[name]
    if (used < most * nearly) return []
    const isFull = used >= most
    return [
      {
        severity: isFull ? 'error' : 'warning',
        what: `${used} of ${most} inotify ${name} are used${isFull ? ': no more can be had' : ''}`,
        remedy: raise(name),
      },
    ]
  })
}

/** Why a directory cannot be watched; undefined where it can. */
function tryWatch(directory: string): string | undefined {
  try {
    watch(directory, { persistent: false }).close()
    return undefined
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException
    return code === 'ENOENT' ? undefined : code
  }
}

/** @param proc where the kernel tells of its processes; undefined is answered where it does not tell of inotify */
export function inotifyUse(proc: string = '/proc'): WatchUse | undefined {
  const most = (name: string): number | undefined => {
    const limits = [`sys/fs/inotify/max_user_${name}`, `sys/user/max_inotify_${name}`]
      .map((file) => numberIn(join(proc, file)))
      .filter((limit) => limit !== undefined)
    return limits.length === 0 ? undefined : Math.min(...limits)
  }
  const [watchesMost, instancesMost] = [most('watches'), most('instances')]
  if (watchesMost === undefined || instancesMost === undefined) return undefined
  let watchesUsed = 0
  let instancesUsed = 0
  for (const pid of names(proc).filter((name) => /^\d+$/.test(name)))
    for (const fd of names(join(proc, pid, 'fd'))) {
      if (!isInotify(join(proc, pid, 'fd', fd))) continue
      instancesUsed++
      watchesUsed += text(join(proc, pid, 'fdinfo', fd)).match(/^inotify /gm)?.length ?? 0
    }
  return {
    watches: { used: watchesUsed, most: watchesMost },
    instances: { used: instancesUsed, most: instancesMost },
  }
}

function isInotify(path: string): boolean {
  try {
    return readlinkSync(path).includes('inotify')
  } catch {
    return false
  }
}

function numberIn(file: string): number | undefined {
  const found = text(file).trim()
  return /^\d+$/.test(found) ? Number(found) : undefined
}

function text(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

function names(directory: string): readonly string[] {
  try {
    return readdirSync(directory)
  } catch {
    return [] // another user's, or it has ended
  }
}
