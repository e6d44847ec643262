import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** One living process, as far as terminals care. */
export interface ProcessRow {
  readonly pid: number
  readonly group: number
  readonly session: number
  /** The foreground group of its terminal; negative without one. */
  readonly terminalGroup: number
}

export interface ProcessDetail {
  readonly pid: number
  readonly name: string
  readonly argv0?: string
  readonly argv?: readonly string[]
  readonly cmdline?: string
  readonly cwd?: string
}

const isLinux = process.platform === 'linux'

/** Every living process; empty where there is no `/proc`. */
export function processRows(): readonly ProcessRow[] {
  if (!isLinux) return []
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => processRow(Number(name)))
    .filter((row) => row !== undefined)
}

/** Undefined for what has ended, zombies with it, and where there is no `/proc`. */
export function processRow(pid: number): ProcessRow | undefined {
  const stat = read(`/proc/${pid}/stat`)
  if (stat === undefined) return undefined
  const [state, , group, session, , terminalGroup] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
  if (state === 'Z' || state === 'X') return undefined
  return {
    pid,
    group: Number(group),
    session: Number(session),
    terminalGroup: Number(terminalGroup),
  }
}

export function isAlive(pid: number): boolean {
  if (isLinux) return processRow(pid) !== undefined
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** The processes of one session; where that cannot be seen, its leader alone. */
export function sessionMembers(session: number): readonly number[] {
  if (!isLinux) return isAlive(session) ? [session] : []
  return processRows()
    .filter((row) => row.session === session)
    .map(({ pid }) => pid)
}

/** Signals a process that may be gone. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // gone
  }
}

export function describe(pid: number): ProcessDetail {
  const argv = read(`/proc/${pid}/cmdline`)?.split('\0').slice(0, -1)
  const argv0 = argv?.[0]
  const cwd = workingDirectory(pid)
  return {
    pid,
    name: read(`/proc/${pid}/comm`)?.trim() ?? 'unknown',
    ...(argv0 !== undefined && argv !== undefined && { argv0, argv, cmdline: argv.join(' ') }),
    ...(cwd !== undefined && { cwd }),
  }
}

/** The environment a process was started with; empty where it cannot be read. */
export function environmentOf(pid: number): ReadonlyMap<string, string> {
  const entries = read(`/proc/${pid}/environ`)?.split('\0') ?? []
  return new Map(
    entries
      .filter((entry) => entry.includes('='))
      .map((entry) => [entry.slice(0, entry.indexOf('=')), entry.slice(entry.indexOf('=') + 1)]),
  )
}

export function workingDirectory(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/cwd`)
  } catch {
    return undefined
  }
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
