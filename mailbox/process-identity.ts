import { execFileSync } from 'node:child_process'
import { closeSync, openSync, readdirSync, readFileSync, readlinkSync, readSync } from 'node:fs'
import { hostname } from 'node:os'
import { MailboxError } from './errors.ts'
import type { Processes, ProcessIdentity, ProcessPresence } from './ports.ts'

/** What a platform must tell. The judgement over it is the same everywhere. */
interface ProcessTable {
  readonly host: string
  readonly boot: string
  readonly namespace: string
  /** Start time and parent of a living process; `gone` is proof, undefined is not. */
  look(pid: number): { readonly started: string; readonly parent: number } | 'gone' | undefined
  pids(): readonly number[]
  /** Whether environments can be read. */
  readonly seesMarks: boolean
  /** The environment a process was started with; undefined where it cannot be read. */
  environment(pid: number): string | undefined
  /** The beginning of the arguments it runs with; undefined where they cannot be read. */
  command(pid: number): string | undefined
}

/** Read of one command, bytes: some run to megabytes. */
const commandBytesMax = 4_096

/**
 * The process table of this machine.
 *
 * @throws MailboxError DROVER_PLATFORM_UNSUPPORTED - neither Linux nor macOS; remedy `stop`
 */
export function systemProcesses(): Processes {
  return processesOf(systemTable())
}

function systemTable(): ProcessTable {
  if (process.platform === 'linux') return linuxTable()
  if (process.platform === 'darwin') return macTable()
  throw new MailboxError(
    'DROVER_PLATFORM_UNSUPPORTED',
    'stop',
    `Drover cannot prove which process is which on ${process.platform}. Use it on Linux or macOS.`,
  )
}

function processesOf(table: ProcessTable): Processes {
  const { host, boot, namespace } = table
  const identify = (pid: number): ProcessIdentity | undefined => {
    const found = table.look(pid)
    if (found === undefined || found === 'gone') return undefined
    return { host, boot, namespace, pid, started: found.started }
  }
  const presence = (wanted: ProcessIdentity): ProcessPresence => {
    if (wanted.host !== host) return 'unknown'
    if (wanted.boot !== boot) return 'gone' // no process outlives its boot
    if (wanted.namespace !== namespace) return 'unknown' // its pid means another process here
    const found = table.look(wanted.pid)
    if (found === undefined) return 'unknown'
    return found === 'gone' || found.started !== wanted.started ? 'gone' : 'live'
  }
  const me = identify(process.pid)
  return {
    self() {
      if (me === undefined) throw unreadable()
      return me
    },
    identify,
    presence,
    descendants(top, mark) {
      const isAnothers = (pid: number) => {
        if (mark === undefined) return false
        const { variable, value } = mark
        const set = table.environment(pid)?.split('\0') ?? []
        return set.some(
          (each) => each.startsWith(`${variable}=`) && each !== `${variable}=${value}`,
        )
      }
      if (presence(top) !== 'live') return []
      const parents = new Map<number, number>()
      for (const pid of table.pids()) {
        const found = table.look(pid)
        if (found !== undefined && found !== 'gone') parents.set(pid, found.parent)
      }
      const below = [top.pid]
      for (const pid of below)
        for (const [child, parent] of parents)
          if (parent === pid && !below.includes(child) && !isAnothers(child)) below.push(child)
      return below.slice(1).flatMap((pid) => identify(pid) ?? [])
    },
    command(wanted) {
      if (presence(wanted) !== 'live') return undefined
      const command = table.command(wanted.pid)
      // Its pid may have gone to another process meanwhile, whose command this would be.
      return presence(wanted) === 'live' ? command : undefined
    },
    seesMarks: table.seesMarks,
    marked({ variable, value }) {
      const mark = `${variable}=${value}`
      return table
        .pids()
        .filter((pid) => pid !== process.pid && table.environment(pid)?.split('\0').includes(mark))
        .flatMap((pid) => identify(pid) ?? [])
    },
    bearing(variable) {
      return table.pids().flatMap((pid) => {
        if (pid === process.pid) return []
        const set = table.environment(pid)?.split('\0') ?? []
        if (!set.some((each) => each.startsWith(`${variable}=`))) return []
        const found = identify(pid)
        return found === undefined ? [] : [{ process: found, environment: variablesOf(set) }]
      })
    },
    signal(wanted, signal) {
      const now = presence(wanted)
      if (now !== 'live') return now
      try {
        process.kill(wanted.pid, signal)
        return 'sent'
      } catch (error) {
        return (error as NodeJS.ErrnoException).code === 'ESRCH' ? 'gone' : 'unknown'
      }
    },
  }
}

function variablesOf(set: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    set.flatMap((each) => {
      const at = each.indexOf('=')
      return at > 0 ? [[each.slice(0, at), each.slice(at + 1)]] : []
    }),
  )
}

function unreadable(cause?: unknown): MailboxError {
  return new MailboxError(
    'DROVER_PLATFORM_UNSUPPORTED',
    'stop',
    'Drover cannot read its own entry in the process table. Is /proc mounted?',
    cause,
  )
}

/** Without these two a process would look like one of another boot, which counts as proof that it is gone. */
function linuxBoot(): { readonly boot: string; readonly namespace: string } {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    return { boot, namespace: readlinkSync('/proc/self/ns/pid') }
  } catch (error) {
    throw unreadable(error)
  }
}

function linuxTable(): ProcessTable {
  return {
    host: readLine('/etc/machine-id') ?? hostname(),
    ...linuxBoot(),
    look(pid) {
      let stat: string
      try {
        stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException
        return code === 'ENOENT' || code === 'ESRCH' ? 'gone' : undefined
      }
      // The command's name may hold anything, so count from its closing bracket: state, parent, … start time.
      const [state = '', parent, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      if (state === 'Z' || state === 'X') return 'gone'
      return { started: rest[17] ?? '', parent: Number(parent) }
    },
    pids: () => readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? Number(name) : [])),
    seesMarks: true,
    environment(pid) {
      try {
        return readFileSync(`/proc/${pid}/environ`, 'latin1')
      } catch {
        return undefined
      }
    },
    command(pid) {
      try {
        const args = readBeginning(`/proc/${pid}/cmdline`, commandBytesMax)
        return args.replace(/\0+$/, '').replaceAll('\0', ' ') || undefined // a zombie and the kernel's own have none
      } catch {
        return undefined
      }
    },
  }
}

function readBeginning(path: string, bytesMax: number): string {
  const file = openSync(path, 'r')
  try {
    const bytes = Buffer.alloc(bytesMax)
    return bytes.toString('utf8', 0, readSync(file, bytes))
  } finally {
    closeSync(file)
  }
}

function readLine(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim() || undefined
  } catch {
    return undefined
  }
}

function macTable(): ProcessTable {
  const run = (command: string, args: readonly string[]) =>
    execFileSync(command, args, {
      encoding: 'utf8',
      env: { LC_ALL: 'C', PATH: '/bin:/usr/bin:/usr/sbin' },
    })
  const hardware = run('/usr/sbin/ioreg', ['-rd1', '-c', 'IOPlatformExpertDevice'])
  return {
    host: /"IOPlatformUUID" = "([^"]+)"/.exec(hardware)?.[1] ?? hostname(),
    boot: run('/usr/sbin/sysctl', ['-n', 'kern.bootsessionuuid']).trim(),
    namespace: '',
    look(pid) {
      let row: string
      try {
        row = run('/bin/ps', ['-o', 'stat=,ppid=,lstart=', '-p', String(pid)]).trim()
      } catch (error) {
        // `ps` ends with 1 and says nothing where there is no such process; any other failure proves nothing.
        return (error as { status?: number }).status === 1 ? 'gone' : undefined
      }
      const [state = '', parent, ...started] = row.split(/\s+/)
      if (state.startsWith('Z')) return 'gone'
      return { started: started.join(' '), parent: Number(parent) }
    },
    pids: () => run('/bin/ps', ['-axo', 'pid=']).trim().split(/\s+/).map(Number),
    seesMarks: false,
    environment: () => undefined, // `ps` prints it between the arguments, where it proves nothing
    command: () => undefined, // one `ps` more for each process would be as slow as all the rest of a look
  }
}
