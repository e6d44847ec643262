import { parseRecordName } from './admit.ts'
import type { Decoded } from './codec.ts'
import type { MailboxError } from './errors.ts'
import { recordReadBytesMax, scanWindow } from './limits.ts'
import type { Ids, MailboxFs } from './ports.ts'
import type { Identity, MailboxRecord } from './record.ts'

export interface JournalOptions<R> {
  readonly fs: MailboxFs
  readonly ids: Ids
  /** Where the records of one writer appear. */
  readonly directory: string
  /** Where those go that cannot be trusted. */
  readonly quarantine: string
  /** A mere reader leaves untrusted files where they are. */
  readonly untrusted: 'quarantine' | 'leave'
  readonly identity: Identity
  readonly decode: (bytes: Uint8Array) => Decoded<R>
  /** Files that belong in the directory and are no records. */
  readonly ignore?: ReadonlySet<string>
}

export interface Quarantined {
  readonly name: string
  readonly reason: string
}

/** What one look brought. */
export interface Scan<R> {
  /** New records, in the order of their writer. */
  readonly records: readonly R[]
  readonly quarantined: readonly Quarantined[]
  /** More is waiting: let the event loop go on, then look again. */
  readonly more: boolean
  /** The directory is not there: the generation is settled. */
  readonly gone: boolean
  /** Looking failed; nothing is lost, look again. */
  readonly problem?: MailboxError
}

/** The reader of one directory of records. Hands each record over once, and never throws. */
export class Journal<R extends MailboxRecord> {
  readonly #options: JournalOptions<R>
  readonly #seen = new Set<string>()
  #waiting: string[] = []
  /** Names seen and put off until the next look. */
  #isHolding = false
  #next = 1

  constructor(options: JournalOptions<R>) {
    this.#options = options
  }

  /**
   * Looks for records not handed over yet.
   *
   * Ordered: by the writer's numbers, although a directory may be read while it grows.
   * Costs: one directory read, and 22 microseconds a record; at most `scanWindow` records.
   */
  scan(): Scan<R> {
    const records: R[] = []
    const quarantined: Quarantined[] = []
    try {
      if (this.#waiting.length === 0 && !this.#list())
        return { records, quarantined, more: false, gone: true }
      const window = this.#waiting.splice(0, scanWindow)
      for (let i = 0; i < window.length; i++) {
        const name = window[i] as string
        try {
          const read = this.#read(name)
          if ('record' in read) records.push(read.record)
          else if (read.reason !== 'absent') quarantined.push(this.#quarantine(name, read.reason))
        } catch (error) {
          this.#waiting.unshift(...window.slice(i))
          throw error
        }
        this.#seen.add(name)
        this.#next = Math.max(this.#next, (parseRecordName(name)?.number ?? 0) + 1)
      }
    } catch (error) {
      return { records, quarantined, more: false, gone: false, problem: error as MailboxError }
    }
    const more = this.#waiting.length > 0 || this.#isHolding
    return { records, quarantined, more, gone: false }
  }

  #list(): boolean {
    const { fs, directory } = this.#options
    const first = this.#unseen()
    if (first === undefined) return false
    fs.verifyDirectory(directory) // a link in its place would have us move the files of someone else
    this.#waiting = first
    this.#isHolding = false
    if (!this.#hasGap(first)) return true
    // A directory read beside its writer may show record 5 and miss record 4, linked before it. A second read
    // shows all that was there when the first one ended; what is still missing then was quarantined. What is newer
    // may have gaps of its own, and waits for the next look.
    const second = this.#unseen() ?? []
    const last = first.reduce((highest, name) => Math.max(highest, numberOf(name)), 0)
    this.#waiting = second.filter((name) => numberOf(name) <= last)
    this.#isHolding = this.#waiting.length < second.length
    return true
  }

  #hasGap(names: readonly string[]): boolean {
    let next = this.#next
    for (const number of names.map(numberOf)) {
      if (number > next) return true
      next = Math.max(next, number + 1)
    }
    return false
  }

  #unseen(): string[] | undefined {
    const { fs, directory, ignore } = this.#options
    return fs
      .list(directory)
      ?.filter((name) => !this.#seen.has(name) && ignore?.has(name) !== true)
      .sort()
  }

  #read(name: string): { readonly record: R } | { readonly reason: string } {
    const { fs, directory, identity, decode } = this.#options
    const parsed = parseRecordName(name)
    if (parsed === undefined) return { reason: 'wrong-name' }
    const read = fs.read(`${directory}/${name}`, recordReadBytesMax)
    if ('refusal' in read) return { reason: read.refusal }
    const decoded = decode(read.bytes)
    if ('refusal' in decoded) return { reason: `${decoded.refusal}: ${decoded.why}` }
    const { value } = decoded
    if (value.id !== parsed.id || value.kind !== parsed.kind) return { reason: 'wrong-name' }
    if (!sameIdentity(value.identity, identity)) return { reason: 'wrong-identity' }
    return { record: value }
  }

  #quarantine(name: string, reason: string): Quarantined {
    const { fs, ids, directory, quarantine, untrusted } = this.#options
    if (untrusted === 'leave') return { name, reason }
    const place = `${quarantine}/${ids.next()}`
    try {
      fs.rename(`${directory}/${name}`, place)
    } catch {
      return { name, reason } // it stays where it is, and is passed over there
    }
    // The note is for a person and never read by us: losing it in a power cut is harmless, waiting for it is not.
    void fs
      .createSynced(`${place}.reason`, Buffer.from(JSON.stringify({ name, reason })))
      .catch(() => {})
    return { name, reason }
  }
}

const numberOf = (name: string): number => parseRecordName(name)?.number ?? 0

/** Whether two records are about the same life of the same agent. A missing field is not a wildcard. */
export function sameIdentity(a: Identity, b: Identity): boolean {
  return (
    a.generation === b.generation &&
    a.owner === b.owner &&
    a.session === b.session &&
    a.sessionFile === b.sessionFile &&
    a.label === b.label &&
    a.cwd === b.cwd
  )
}
