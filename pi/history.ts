import { closeSync, fstatSync, fsync, openSync, readSync } from 'node:fs'
import { type DeliveryIdentity, deliveryKey } from '../actors/index.ts'
import { mailMessageType } from './messages.ts'
import { mendLastLine } from './session-file.ts'

/** Bytes read at once; a session file may have hundreds of megabytes. */
const chunkBytes = 1 << 20

/**
 * What the owner has really been told, from its session file and nothing else: the host's own list of entries is
 * not on disk yet at times, and in a second window it does not hold what the first one wrote.
 */
export class History {
  readonly #file: () => string | undefined
  readonly #found = new Set<string>()
  #inode = 0
  #offset = 0

  /** @param file names the session file, which may not exist yet and may be replaced */
  constructor(file: () => string | undefined) {
    this.#file = file
  }

  /**
   * Which of these are in the file, as whole lines with their full identity.
   *
   * Durable: what is returned survives a power cut; the file was synced after it was found.
   * Costs: reads what was appended since the last call; all of it when the file shrank or was replaced.
   */
  async seen(identities: readonly DeliveryIdentity[]): Promise<readonly DeliveryIdentity[]> {
    const file = this.#file()
    if (file === undefined) return []
    let descriptor: number
    try {
      descriptor = openSync(file, 'r')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [] // not written before its first answer
      throw error
    }
    try {
      this.#read(descriptor)
      const found = identities.filter((identity) => this.#found.has(deliveryKey(identity)))
      if (found.length > 0) await sync(descriptor)
      return found
    } finally {
      closeSync(descriptor)
    }
  }

  /** Ends a line that a killed process left torn, before anything is written behind it. */
  mend(): void {
    const file = this.#file()
    if (file !== undefined) mendLastLine(file)
  }

  #read(descriptor: number): void {
    const { ino, size } = fstatSync(descriptor)
    if (ino !== this.#inode || size < this.#offset) {
      this.#found.clear()
      this.#offset = 0
      this.#inode = ino
    }
    const buffer = Buffer.alloc(Math.min(chunkBytes, Math.max(1, size - this.#offset)))
    let rest = Buffer.alloc(0)
    let position = this.#offset
    for (;;) {
      const length = readSync(descriptor, buffer, 0, buffer.length, position)
      if (length === 0) break
      position += length
      const bytes =
        rest.length === 0
          ? buffer.subarray(0, length)
          : Buffer.concat([rest, buffer.subarray(0, length)])
      const end = bytes.lastIndexOf(0x0a) + 1 // a line without its end is not there yet
      this.#scan(bytes.subarray(0, end))
      this.#offset += end
      rest = Buffer.from(bytes.subarray(end))
    }
  }

  #scan(lines: Buffer): void {
    if (!lines.includes(mailMessageType)) return
    for (const line of lines.toString().split('\n'))
      if (line.includes(mailMessageType)) for (const key of deliveriesIn(line)) this.#found.add(key)
  }
}

/** The deliveries one line of a session file proves. Anything else that looks like one proves nothing. */
function deliveriesIn(line: string): string[] {
  let entry: unknown
  try {
    entry = JSON.parse(line)
  } catch {
    return []
  }
  const { type, customType, details } = (entry ?? {}) as {
    type?: unknown
    customType?: unknown
    details?: { results?: unknown; questions?: unknown; notices?: unknown }
  }
  if (type !== 'custom_message' || customType !== mailMessageType) return []
  return [details?.results, details?.questions, details?.notices].flatMap(keysIn)
}

function keysIn(list: unknown): string[] {
  if (!Array.isArray(list)) return []
  return list.flatMap((item: { identity?: unknown } | null) =>
    isIdentity(item?.identity) ? [deliveryKey(item.identity)] : [],
  )
}

const fields = ['generation', 'owner', 'session', 'sessionFile', 'label', 'cwd', 'request']

function isIdentity(value: unknown): value is DeliveryIdentity {
  if (typeof value !== 'object' || value === null) return false
  const held = value as Record<string, unknown>
  const isFree = (field: string) => held[field] === undefined || typeof held[field] === 'string'
  return (
    isFree('ask') && isFree('notice') && fields.every((field) => typeof held[field] === 'string')
  )
}

function sync(descriptor: number): Promise<void> {
  return new Promise((resolve, reject) => {
    fsync(descriptor, (error) => (error === null ? resolve() : reject(error)))
  })
}
