/** A house: one owner's directories on either file system, with one generation in them or none. For tests alone. */
import assert from 'node:assert/strict'
import { type ClaimPlace, claim } from '../claim.ts'
import { decodeOwnerRecord } from '../codec.ts'
import { MailboxError, type MailboxErrorCode } from '../errors.ts'
import { createGeneration, labelClaimPath, readGeneration } from '../generation.ts'
import { Journal } from '../journal.ts'
import {
  type GenerationPaths,
  generationPaths,
  type OwnerPaths,
  ownerPaths,
  ownNames,
  prepareOwner,
  prepareRoot,
  type RootPaths,
  rootPaths,
  sessionClaimPath,
} from '../layout.ts'
import type { MailboxFs } from '../ports.ts'
import type { GenerationFile, OwnerRecord } from '../record.ts'
import { claimFile, countingIds, generationFile, identity, Machine, task } from './builders.ts'

/** The generation of every house. */
export const file: GenerationFile = generationFile()
export const generation: string = file.identity.generation

/** Where everything of a house is, and the file system it stands on. */
export interface House {
  readonly fs: MailboxFs
  readonly root: RootPaths
  readonly owner: OwnerPaths
  readonly paths: GenerationPaths
}

/** Prepares a house without its generation. */
export function houseAt(fs: MailboxFs, agentDirectory: string): House {
  const root = rootPaths(agentDirectory)
  const owner = ownerPaths(root, file.identity.owner)
  prepareRoot(fs, root)
  prepareOwner(fs, owner)
  return { fs, root, owner, paths: generationPaths(owner.directory, generation) }
}

/** Starts the generation of a house, with its task. */
export const start = ({ fs, owner }: House): Promise<void> =>
  createGeneration(fs, owner, file, task('task'))

/** A generation is whole, or there is none. */
export function judge(house: House): 'whole' | 'none' {
  const { fs, owner, paths } = house
  if (fs.entry(paths.directory) === undefined) {
    assert.deepEqual(ownNames(fs, owner.directory), [])
    return 'none'
  }
  assert.deepEqual(readGeneration(fs, paths), file)
  assert.deepEqual(recordsOf(house, paths), [task('task')])
  for (const directory of [
    paths.agent,
    paths.ownerDrafts,
    paths.agentDrafts,
    paths.activity,
    paths.quarantine,
  ])
    assert.equal(fs.entry(directory), 'directory', directory)
  return 'whole'
}

/** Whether an error is one of the mailbox, with one of these codes. */
export const coded =
  (...codes: MailboxErrorCode[]) =>
  (error: unknown): boolean =>
    error instanceof MailboxError && codes.includes(error.code)

/** Where a living process claims names, in a house where every generation they name exists. */
export const claimPlace = ({ fs, root, owner }: House, idPrefix: string): ClaimPlace => ({
  fs,
  ids: countingIds(idPrefix),
  processes: new Machine().seenBy(1),
  drafts: owner.drafts,
  takeover: root.takeover,
  exists: () => true,
})

/** Claims label and session for the generation, as its start does. */
export async function claimBoth(house: House): Promise<void> {
  const { root } = house
  const place = claimPlace(house, 'c')
  const { session } = file.identity
  for (const path of [labelClaimPath(root, file), sessionClaimPath(root, session)])
    assert.equal((await claim(place, path, claimFile('generation'))).outcome, 'claimed')
}

function recordsOf({ fs }: House, paths: GenerationPaths): readonly OwnerRecord[] {
  const { records, quarantined } = new Journal<OwnerRecord>({
    fs,
    ids: countingIds(),
    directory: paths.owner,
    quarantine: paths.quarantine,
    untrusted: 'leave',
    identity: identity(),
    decode: decodeOwnerRecord,
  }).scan()
  assert.deepEqual(quarantined, [])
  return records
}
