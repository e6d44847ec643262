import { decodeClaim, encode } from './codec.ts'
import { parentOf } from './layout.ts'
import { holdsLease, type LeasePlace, releaseLease, takeLease } from './lease.ts'
import type { Ids, MailboxFs, Processes } from './ports.ts'
import { readDecoded } from './read-decoded.ts'
import type { ClaimFile, Runtime } from './record.ts'
import { runtimePresence } from './runtime.ts'

/** What claiming a name needs. */
export interface ClaimPlace {
  readonly fs: MailboxFs
  readonly ids: Ids
  readonly processes: Processes
  readonly drafts: string
  /** The lease under which stale claims are taken away: one process at a time, whoever dies when. */
  readonly takeover: string
  /** Whether the generation a claim names is on disk: on its way in, living, or on its way out. */
  readonly exists: (claim: ClaimFile) => boolean
}

export type ClaimAnswer =
  | { readonly outcome: 'claimed' }
  | { readonly outcome: 'taken'; readonly by?: ClaimFile }

/**
 * Claims the name at `path` for one generation. One of many wins.
 *
 * A claim whose claimer is proven dead and whose generation does not exist is free: its start never came to be.
 *
 * Durable: the claim survives power loss before anything is built on it.
 */
export async function claim(
  place: ClaimPlace,
  path: string,
  file: ClaimFile,
): Promise<ClaimAnswer> {
  const { fs, ids, drafts } = place
  const draft = `${drafts}/${ids.next()}`
  await fs.createSynced(draft, encode(file))
  try {
    if (fs.link(draft, path) === 'exists') {
      const answer = await takeAwayIfStale(place, path, file.claimer)
      if (answer.outcome === 'taken') return answer
      if (fs.link(draft, path) === 'exists') return taken(readClaim(fs, path))
    }
    await fs.syncDirectory(parentOf(path))
    return { outcome: 'claimed' }
  } finally {
    fs.remove(draft)
  }
}

/** Gives a name back, if this generation has it. */
export function unclaim(fs: MailboxFs, path: string, generation: string): void {
  const file = readClaim(fs, path)
  if (typeof file === 'object' && file.generation === generation) fs.remove(path)
}

export function readClaim(fs: MailboxFs, path: string): ClaimFile | 'absent' | 'unreadable' {
  return readDecoded(fs, path, decodeClaim)
}

/**
 * Only the holder of the takeover lease removes what is not its own. Without it two takers could each read the
 * same stale claim, and the slower one remove the fresh claim of the faster.
 */
async function takeAwayIfStale(
  place: ClaimPlace,
  path: string,
  runtime: Runtime,
): Promise<ClaimAnswer | { readonly outcome: 'free' }> {
  const found = readClaim(place.fs, path)
  if (found === 'absent') return { outcome: 'free' }
  if (found === 'unreadable' || !isStale(place, found)) return taken(found)
  const lease: LeasePlace = { ...place, directory: place.takeover, subject: 'takeover' }
  const answer = await takeLease(lease, runtime)
  if (answer.outcome !== 'held') return taken(found)
  try {
    // From here to the removal nothing is awaited, so two takers of one process cannot meet in between.
    if (!holdsLease(lease, runtime, answer.number)) return taken(found)
    const again = readClaim(place.fs, path)
    if (again === 'absent') return { outcome: 'free' }
    if (again === 'unreadable' || !isStale(place, again)) return taken(again)
    place.fs.remove(path)
    return { outcome: 'free' }
  } finally {
    await releaseLease(lease, runtime)
  }
}

function isStale(place: ClaimPlace, file: ClaimFile): boolean {
  return runtimePresence(place.processes, file.claimer) === 'gone' && !place.exists(file)
}

function taken(by: ClaimFile | 'absent' | 'unreadable'): ClaimAnswer {
  return typeof by === 'object' ? { outcome: 'taken', by } : { outcome: 'taken' }
}
