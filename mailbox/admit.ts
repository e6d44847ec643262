import { encode } from './codec.ts'
import { MailboxError } from './errors.ts'
import { recordBytesDefault } from './limits.ts'
import type { MailboxFs } from './ports.ts'
import type { MailboxRecord, RecordKind } from './record.ts'
import type { Reserve } from './reserve.ts'

/**
 * What became of a record.
 *
 * `admitted` and `duplicate`: it is durable, now or since before. `refused`: it is not there and leaves no trace.
 * `unknown`: it may be there or not; admit it again with the same id to find out.
 */
export type Admission =
  | { readonly outcome: 'admitted' | 'duplicate' }
  | { readonly outcome: 'refused' | 'unknown'; readonly error: MailboxError }

export interface OutboxOptions {
  readonly fs: MailboxFs
  /** Where the records of this one writer appear. No other process writes here. */
  readonly directory: string
  /** A directory beside it for half-written files, so that a watcher of records never sees them. */
  readonly drafts: string
  /** Admission limit, bytes of the serialized record. */
  readonly bytesMax?: number
  /** Space that only records which finish something may use up. */
  readonly reserve?: Reserve
}

/** Requests for new work are refused on a full disk; everything else may use the reserve to come to an end. */
const startsWork: ReadonlySet<RecordKind> = new Set(['task', 'steer', 'reply', 'placed'])

const recordName = /^(\d{8})-([a-z]+)-([0-9a-z]{26})\.json$/

/** A record's place in its writer's order, its kind and its id, as its file name states them. */
export function parseRecordName(
  name: string,
): { readonly number: number; readonly kind: string; readonly id: string } | undefined {
  const [, digits, kind, id] = recordName.exec(name) ?? []
  if (digits === undefined || kind === undefined || id === undefined) return undefined
  return { number: Number(digits), kind, id }
}

/** The one writer of one directory of records. */
export class Outbox<R extends MailboxRecord> {
  readonly #fs: MailboxFs
  readonly #directory: string
  readonly #drafts: string
  readonly #bytesMax: number
  readonly #reserve: Reserve | undefined
  readonly #sync: SharedSync
  /** Ids of the records known to be durable. */
  readonly #durable = new Set<string>()
  /** Ids of the records in the directory: all of them, unless `#inDoubt`. */
  readonly #linked = new Set<string>()
  /** Ids of records that may be there or not. */
  readonly #unknown = new Set<string>()
  readonly #running = new Map<string, Promise<Admission>>()
  #next = 1
  #attempts = 0
  #inDoubt = false
  #lastLink: Promise<void> = Promise.resolve()

  private constructor(options: OutboxOptions) {
    this.#fs = options.fs
    this.#directory = options.directory
    this.#drafts = options.drafts
    this.#bytesMax = options.bytesMax ?? recordBytesDefault
    this.#reserve = options.reserve
    this.#sync = new SharedSync(() => options.fs.syncDirectory(options.directory))
  }

  /**
   * Opens a directory for its writer: sweeps the drafts of an earlier life and makes its records durable.
   *
   * Costs: one directory sync.
   *
   * @throws MailboxError DROVER_MAILBOX_GONE - the mailbox is settled; remedy `stop`
   */
  static async open<R extends MailboxRecord>(options: OutboxOptions): Promise<Outbox<R>> {
    const outbox = new Outbox<R>(options)
    for (const name of options.fs.list(options.drafts) ?? [])
      options.fs.remove(`${options.drafts}/${name}`)
    await options.fs.syncDirectory(options.directory)
    outbox.#look()
    for (const id of outbox.#linked) outbox.#durable.add(id)
    return outbox
  }

  /**
   * Admits one record.
   *
   * Durable: `admitted` and `duplicate` survive kill -9 and power loss.
   * Unknown: from `link` on, a failure leaves the outcome open. The record may already have been read.
   * Ordered: records appear in the order of the calls; their syncs run beside each other.
   * Costs: two syncs, the one of the directory shared by all that wait for it.
   *
   * @param bytesMax largest record that is admitted, bytes; the outbox's own limit if left out
   */
  admit(record: R, bytesMax: number = this.#bytesMax): Promise<Admission> {
    const { id } = record
    if (this.#durable.has(id)) return Promise.resolve({ outcome: 'duplicate' })
    const running = this.#running.get(id)
    if (running !== undefined) return running.then(asDuplicate)
    const bytes = encode(record)
    if (bytes.length > bytesMax) return Promise.resolve(tooLarge(record, bytes, bytesMax))
    const admitting = this.#unknown.has(id)
      ? this.#retry(record, bytes)
      : this.#admit(record, bytes)
    const admission = admitting.finally(() => this.#running.delete(id))
    this.#running.set(id, admission)
    return admission
  }

  /** Looks first: what an earlier attempt left there must not be refused now, for want of room or anything else. */
  async #retry(record: R, bytes: Uint8Array): Promise<Admission> {
    const { kind, id } = record
    try {
      this.#look()
      if (this.#linked.has(id)) {
        await this.#makeDurable(kind, id)
        return { outcome: 'duplicate' }
      }
    } catch (error) {
      return this.#outcomeUnknown(id, error as MailboxError)
    }
    this.#unknown.delete(id)
    return this.#admit(record, bytes)
  }

  async #admit({ kind, id }: R, bytes: Uint8Array): Promise<Admission> {
    const earlier = this.#lastLink
    let passOn: () => void = () => {}
    this.#lastLink = new Promise((resolve) => {
      passOn = resolve
    })
    const draft = `${this.#drafts}/${id}-${this.#attempts++}`
    try {
      await this.#withReserve(kind, () => this.#fs.createSynced(draft, bytes))
    } catch (error) {
      void earlier.then(passOn)
      return { outcome: 'refused', error: error as MailboxError }
    }
    await earlier
    let isNew = false
    try {
      isNew = await this.#withReserve(kind, () => this.#link(draft, kind, id))
    } catch (error) {
      this.#sweep(draft)
      const { code } = error as MailboxError
      // Without its directory nothing can have been linked; any other failure leaves that open.
      if (code === 'DROVER_MAILBOX_GONE')
        return { outcome: 'refused', error: error as MailboxError }
      return this.#outcomeUnknown(id, error as MailboxError)
    } finally {
      passOn()
    }
    try {
      await this.#makeDurable(kind, id)
    } catch (error) {
      return this.#outcomeUnknown(id, error as MailboxError)
    } finally {
      this.#sweep(draft)
    }
    return { outcome: isNew ? 'admitted' : 'duplicate' }
  }

  /** Whether it was not there before. */
  #link(draft: string, kind: RecordKind, id: string): boolean {
    if (this.#inDoubt) this.#look()
    if (this.#linked.has(id)) return false
    const number = String(this.#next).padStart(8, '0')
    this.#inDoubt = true // until it is known what this call did
    const answer = this.#fs.link(draft, `${this.#directory}/${number}-${kind}-${id}.json`)
    this.#inDoubt = false
    this.#linked.add(id)
    this.#next++
    return answer === 'linked'
  }

  async #makeDurable(kind: RecordKind, id: string): Promise<void> {
    await this.#withReserve(kind, () => this.#sync.afterNow())
    this.#durable.add(id)
    this.#unknown.delete(id)
  }

  /** Repeats an action that found the disk full, if this record may use the reserve and the reserve is there. */
  async #withReserve<T>(kind: RecordKind, action: () => T | Promise<T>): Promise<T> {
    try {
      return await action()
    } catch (error) {
      const isFull = (error as MailboxError).code === 'DROVER_MAILBOX_FULL'
      if (!isFull || startsWork.has(kind) || this.#reserve?.release() !== 'released') throw error
      return await action()
    }
  }

  /** Learns from the directory itself what is in it. */
  #look(): void {
    const names = this.#fs.list(this.#directory) ?? []
    this.#linked.clear()
    this.#next = 1
    for (const name of names) {
      const parsed = parseRecordName(name)
      if (parsed === undefined) continue
      this.#linked.add(parsed.id)
      this.#next = Math.max(this.#next, parsed.number + 1)
    }
    this.#inDoubt = false
  }

  #outcomeUnknown(id: string, cause: MailboxError): Admission {
    this.#unknown.add(id)
    const error = new MailboxError(
      'DROVER_OUTCOME_UNKNOWN',
      'retry',
      `Record ${id} may or may not be durable in ${this.#directory}. Admit it again with the same id.`,
      cause,
    )
    return { outcome: 'unknown', error }
  }

  /** A draft that stays behind costs nothing but its space, and is swept when the outbox is opened again. */
  #sweep(draft: string): void {
    try {
      this.#fs.remove(draft)
    } catch {}
  }
}

function asDuplicate(admission: Admission): Admission {
  return admission.outcome === 'admitted' ? { outcome: 'duplicate' } : admission
}

function tooLarge({ kind, id }: MailboxRecord, bytes: Uint8Array, bytesMax: number): Admission {
  const message = `The ${kind} record ${id} has ${bytes.length} bytes; at most ${bytesMax} are admitted. Shorten it, or pass files by path.`
  return {
    outcome: 'refused',
    error: new MailboxError('DROVER_RECORD_TOO_LARGE', 'report', message),
  }
}

/** One sync for all that wait for one. Whoever waits is covered only by a sync that starts after it asked. */
class SharedSync {
  readonly #sync: () => Promise<void>
  #running: Promise<void> | undefined
  #next: Promise<void> | undefined

  constructor(sync: () => Promise<void>) {
    this.#sync = sync
  }

  afterNow(): Promise<void> {
    if (this.#running === undefined) return this.#start()
    this.#next ??= this.#running.then(
      () => this.#start(),
      () => this.#start(),
    )
    return this.#next
  }

  #start(): Promise<void> {
    this.#next = undefined
    const running = this.#sync().finally(() => {
      if (this.#running === running) this.#running = undefined
    })
    this.#running = running
    return running
  }
}
