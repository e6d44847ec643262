import { unclaim } from './claim.ts'
import { decodeGeneration, decodeReady, encode } from './codec.ts'
import { MailboxError } from './errors.ts'
import {
  type GenerationPaths,
  generationPaths,
  type OwnerPaths,
  ownerPaths,
  ownNames,
  parentOf,
  prepareGeneration,
  type RootPaths,
  sessionClaimPath,
} from './layout.ts'
import type { Ids, MailboxFs } from './ports.ts'
import { readDecoded } from './read-decoded.ts'
import type { GenerationFile, ReadyFile, TaskRecord } from './record.ts'

/**
 * Admits the start of a generation together with its task: built aside, synced whole, then moved in by one rename.
 *
 * Durable: once this resolves, generation and task survive power loss.
 * Unknown: after DROVER_OUTCOME_UNKNOWN the generation may exist; the caller must withdraw it.
 *
 * @throws MailboxError - any other code: it does not exist, and what was built aside is removed or will be swept
 */
export async function createGeneration(
  fs: MailboxFs,
  owner: OwnerPaths,
  file: GenerationFile,
  task: TaskRecord,
): Promise<void> {
  const { generation } = file.identity
  const aside = generationPaths(owner.starting, generation)
  let isMoving = false
  try {
    prepareGeneration(fs, aside)
    await Promise.all([
      fs.createSynced(aside.file, encode(file)),
      fs.createSynced(`${aside.owner}/00000001-task-${task.id}.json`, encode(task)),
    ])
    // The names on the way to it may be as new as it is: a first start makes this owner's directory, too.
    const built = [aside.owner, aside.agent, `${aside.directory}/drafts`, aside.directory]
    await Promise.all(
      [...built, ...above(owner.directory)].map((directory) => fs.syncDirectory(directory)),
    )
    await fs.syncDirectory(owner.starting)
    isMoving = true
    fs.rename(aside.directory, generationPaths(owner.directory, generation).directory)
  } catch (error) {
    if (isMoving && !isStillThere(fs, aside.directory)) throw outcomeUnknown(generation, error)
    try {
      fs.removeTree(aside.directory)
    } catch {} // it is swept when this owner's lease is taken again
    throw error
  }
  try {
    await Promise.all([fs.syncDirectory(owner.directory), fs.syncDirectory(owner.starting)])
  } catch (error) {
    throw outcomeUnknown(generation, error)
  }
}

/** The root of all mailboxes, what it lies in, and the agent directory: nearest first. */
function above(ownerDirectory: string): readonly string[] {
  const mailboxes = parentOf(ownerDirectory)
  const drover = parentOf(mailboxes)
  return [mailboxes, drover, parentOf(drover)]
}

function isStillThere(fs: MailboxFs, path: string): boolean {
  try {
    return fs.entry(path) !== undefined
  } catch {
    return false
  }
}

function outcomeUnknown(generation: string, cause: unknown): MailboxError {
  const message = `The start of ${generation} may or may not be durable.`
  return new MailboxError('DROVER_OUTCOME_UNKNOWN', 'report', message, cause)
}

/** Removes what a dead runtime left half built. Only the holder of this owner's lease may call it. */
export function sweepStarting(fs: MailboxFs, owner: OwnerPaths): void {
  for (const name of ownNames(fs, owner.starting)) fs.removeTree(`${owner.starting}/${name}`)
  for (const name of fs.list(owner.drafts) ?? []) fs.remove(`${owner.drafts}/${name}`)
}

/**
 * Settles a generation: one rename, after which it is no more, and its agent can write nothing into it. The rename
 * has happened when this returns, and is durable when it resolves. `finishSettled` gives up the rest.
 *
 * @throws MailboxError - the rename did not happen, or may not be durable; repeating it is harmless
 */
export async function settleGeneration(
  fs: MailboxFs,
  owner: OwnerPaths,
  generation: string,
): Promise<void> {
  const { directory } = generationPaths(owner.directory, generation)
  if (fs.entry(directory) !== undefined) fs.rename(directory, `${owner.settled}/${generation}`)
  await Promise.all([fs.syncDirectory(owner.directory), fs.syncDirectory(owner.settled)])
}

/** Gives up the claims of settled generations and removes their files. In another life it does the same. */
export function finishSettled(fs: MailboxFs, root: RootPaths, owner: OwnerPaths): void {
  for (const name of ownNames(fs, owner.settled)) {
    const paths = generationPaths(owner.settled, name)
    const file = readGeneration(fs, paths)
    if (typeof file === 'object') {
      unclaim(fs, labelClaimPath(root, file), name)
      unclaim(fs, sessionClaimPath(root, file.identity.session), name)
    }
    fs.removeTree(paths.directory)
  }
}

/** A label is taken in the whole tree of one lead, so its claim lies with that lead. */
export function labelClaimPath(
  root: RootPaths,
  file: Pick<GenerationFile, 'root' | 'identity'>,
): string {
  return `${ownerPaths(root, file.root).labels}/${file.identity.label}`
}

/** Whether a generation of this owner is on disk, in whatever stage. */
export function generationExists(fs: MailboxFs, owner: OwnerPaths, generation: string): boolean {
  return [owner.directory, owner.starting, owner.settled].some(
    (parent) => fs.entry(generationPaths(parent, generation).directory) !== undefined,
  )
}

export function readGeneration(
  fs: MailboxFs,
  paths: GenerationPaths,
): GenerationFile | 'absent' | 'unreadable' {
  return readDecoded(fs, paths.file, decodeGeneration)
}

export function readReady(
  fs: MailboxFs,
  paths: GenerationPaths,
): ReadyFile | 'absent' | 'unreadable' {
  return readDecoded(fs, paths.ready, decodeReady)
}

/** Publishes an agent's first word. One of many wins: a generation is one process life. */
export async function publishReady(
  fs: MailboxFs,
  ids: Ids,
  paths: GenerationPaths,
  ready: ReadyFile,
): Promise<'published' | 'exists'> {
  const draft = `${paths.agentDrafts}/${ids.next()}`
  await fs.createSynced(draft, encode(ready))
  const linked = fs.link(draft, paths.ready)
  await fs.syncDirectory(paths.agent)
  fs.remove(draft)
  return linked === 'linked' ? 'published' : 'exists'
}
