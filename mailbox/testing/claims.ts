/** Claims of one name in a mailbox. For tests alone. */
import type { ClaimPlace } from '../claim.ts'
import { countingIds, type Machine, type Mailbox } from './builders.ts'

/** A mailbox as the process `pid` claims names in it; the generations that exist are the test's to say. */
export const claimPlaceOf = (
  { fs, drafts, quarantine }: Mailbox,
  machine: Machine,
  pid: number,
  existing: ReadonlySet<string> = new Set(),
): ClaimPlace => ({
  fs,
  ids: countingIds(`p${pid}x`),
  processes: machine.seenBy(pid),
  drafts,
  takeover: quarantine,
  exists: ({ generation }) => existing.has(generation),
})

/** Where the one name is. */
export const claimPathIn = ({ records }: Mailbox): string => `${records}/scout`
