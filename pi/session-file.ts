import { closeSync, existsSync, fstatSync, openSync, readSync, writeSync } from 'node:fs'

/**
 * Ends the last line of a session file where a killed process left it torn: the host would glue what it writes next to
 * it, and neither would ever be read.
 */
export function mendLastLine(file: string): void {
  if (!existsSync(file)) return
  const descriptor = openSync(file, 'a+')
  try {
    const { size } = fstatSync(descriptor)
    const last = Buffer.alloc(1)
    const isTorn = size > 0 && readSync(descriptor, last, 0, 1, size - 1) === 1 && last[0] !== 0x0a
    if (isTorn) writeSync(descriptor, '\n')
  } finally {
    closeSync(descriptor)
  }
}

/** The beginning of a session file: its header is there, whatever the rest holds. */
const headerBytesMax = 65_536

/** What the first line of a session file says; undefined where it is no session. */
export function readHeader(file: string): SessionHeader | undefined {
  let descriptor: number
  try {
    descriptor = openSync(file, 'r')
  } catch {
    return undefined
  }
  try {
    if (!fstatSync(descriptor).isFile()) return undefined
    const bytes = Buffer.alloc(headerBytesMax)
    const length = readSync(descriptor, bytes, 0, bytes.length, 0)
    const [line = ''] = bytes.subarray(0, length).toString().split('\n', 1)
    return headerOf(JSON.parse(line))
  } catch {
    return undefined
  } finally {
    closeSync(descriptor)
  }
}

export interface SessionHeader {
  readonly id: string
  readonly cwd: string
  /** What it was made as, where Drover made it. */
  readonly definition?: string
  readonly owner?: string
}

function headerOf(value: unknown): SessionHeader | undefined {
  const { type, id, cwd, drover } = (value ?? {}) as Record<string, unknown>
  if (type !== 'session' || typeof id !== 'string' || typeof cwd !== 'string') return undefined
  const { definition, owner } = (drover ?? {}) as Record<string, unknown>
  return {
    id,
    cwd,
    ...(typeof definition === 'string' && { definition }),
    ...(typeof owner === 'string' && { owner }),
  }
}
