import { decodeLease, encode } from './codec.ts'
import { hashedName, type OwnerPaths } from './layout.ts'
import { recordReadBytesMax } from './limits.ts'
import type { Ids, MailboxFs, Processes } from './ports.ts'
import type { LeaseFile, Runtime } from './record.ts'
import { protocol } from './record.ts'
import { runtimePresence } from './runtime.ts'

/**
 * The right to act for somebody: a directory of numbered files, the highest of which rules.
 *
 * A number is taken by `link`, so only one of many wins it. It is taken only on proof that the holder is dead,
 * never on elapsed time, and given back by a number without a holder, so that numbers only ever rise.
 */
export interface LeasePlace {
  readonly fs: MailboxFs
  readonly ids: Ids
  readonly processes: Processes
  readonly directory: string
  /** A directory on the same file system for half-written files. */
  readonly drafts: string
  readonly subject: string
}

export type LeaseAnswer =
  | { readonly outcome: 'held'; readonly number: number }
  /** Somebody else holds it, or was faster: nothing was taken. */
  | { readonly outcome: 'elsewhere'; readonly holder?: Runtime }
  /** Who has it cannot be read, which proves nothing: nothing was taken. */
  | { readonly outcome: 'unreadable' }

export interface ReadLease {
  readonly number: number
  /** For whom one acts; absent where nobody ever did. */
  readonly subject?: string
  readonly holder?: Runtime
}

/**
 * Takes the lease for `runtime`, or says who has it.
 *
 * Durable: the number survives kill -9 and power loss before anything is done under it.
 *
 * @throws MailboxError as the file system does
 */
export async function takeLease(place: LeasePlace, runtime: Runtime): Promise<LeaseAnswer> {
  const now = readLease(place)
  if (now === 'unreadable') return { outcome: 'unreadable' }
  const { number, holder } = now
  if (holder !== undefined) {
    if (holder.nonce === runtime.nonce) {
      await place.fs.syncDirectory(place.directory) // an earlier attempt may have failed to
      return { outcome: 'held', number }
    }
    if (runtimePresence(place.processes, holder) !== 'gone') return { outcome: 'elsewhere', holder }
  }
  if (!(await publish(place, number + 1, runtime))) return { outcome: 'elsewhere' }
  // While we were writing, others may have taken this very number, given it back and pruned it.
  if (!holdsLease(place, runtime, number + 1)) return { outcome: 'elsewhere' }
  prune(place, number + 1)
  return { outcome: 'held', number: number + 1 }
}

/** Gives the lease back, if `runtime` has it. */
export async function releaseLease(place: LeasePlace, runtime: Runtime): Promise<void> {
  const now = readLease(place)
  if (now === 'unreadable' || now.holder?.nonce !== runtime.nonce) return
  if (await publish(place, now.number + 1, undefined)) prune(place, now.number + 1)
}

/** Whether `runtime` still has the lease under this number. */
export function holdsLease(place: LeasePlace, runtime: Runtime, number: number): boolean {
  const now = readLease(place)
  return now !== 'unreadable' && now.number === number && now.holder?.nonce === runtime.nonce
}

/** Who has the lease; number 0 where nobody ever had. Unreadable evidence is no evidence. */
export function readLease(
  place: Pick<LeasePlace, 'fs' | 'directory' | 'subject'>,
): ReadLease | 'unreadable' {
  const { fs, directory, subject } = place
  const found = readLeaseWhere(fs, directory, (each) => each === subject)
  if (found === 'unreadable') return found
  const { number, holder } = found
  return holder === undefined ? { number } : { number, holder }
}

/** The same of an owner whose directory alone is known: its name is proof of the session the file names. */
export function leaseIn(
  fs: MailboxFs,
  { directory, lease }: Pick<OwnerPaths, 'directory' | 'lease'>,
): ReadLease | 'unreadable' {
  return readLeaseWhere(fs, lease, (each) => directory.endsWith(`/${hashedName(each)}`))
}

function readLeaseWhere(
  fs: MailboxFs,
  directory: string,
  isSubject: (subject: string) => boolean,
): ReadLease | 'unreadable' {
  // The file with the highest number may be pruned between the two calls: a higher one is there then.
  for (let attempt = 0; attempt < 3; attempt++) {
    const number = Math.max(0, ...numbers(fs, directory))
    if (number === 0) return { number }
    const read = fs.read(`${directory}/${number}`, recordReadBytesMax)
    if ('refusal' in read) {
      if (read.refusal === 'absent') continue
      return 'unreadable'
    }
    const decoded = decodeLease(read.bytes)
    if ('refusal' in decoded || !isSubject(decoded.value.subject)) return 'unreadable'
    const { holder, subject } = decoded.value
    return holder === undefined ? { number, subject } : { number, subject, holder }
  }
  return 'unreadable'
}

async function publish(
  place: LeasePlace,
  number: number,
  holder: Runtime | undefined,
): Promise<boolean> {
  const { fs, directory, drafts, ids, subject } = place
  const file: LeaseFile = { protocol, kind: 'lease', subject, ...(holder && { holder }) }
  const draft = `${drafts}/${ids.next()}`
  await fs.createSynced(draft, encode(file))
  try {
    const linked = fs.link(draft, `${directory}/${number}`)
    await fs.syncDirectory(directory)
    return linked === 'linked'
  } finally {
    fs.remove(draft)
  }
}

function prune({ fs, directory }: LeasePlace, below: number): void {
  for (const number of numbers(fs, directory))
    if (number < below) fs.remove(`${directory}/${number}`)
}

function numbers(fs: MailboxFs, directory: string): number[] {
  return (fs.list(directory) ?? []).flatMap((name) => (/^[1-9]\d*$/.test(name) ? Number(name) : []))
}
