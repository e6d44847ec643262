import { join } from 'node:path'
import { type Row, survey, untrusted } from '../../actors/index.ts'
import {
  leaseIn,
  ownerDirectory,
  ownerPaths,
  ownNames,
  type Runtime,
  runtimePresence,
} from '../../mailbox/index.ts'
import type { CliWorld } from './compose.ts'

/**
 * Who acts for an owner session. `nobody`: it was let go of, or never held. `gone`: its holder is proven dead.
 * `unknown`: whether its holder lives cannot be proved. `unreadable`: who holds it cannot be read.
 */
export type Acting = 'live' | 'nobody' | 'gone' | 'unknown' | 'unreadable'

/** One owner session as its directory tells it. */
export interface OwnerView {
  readonly directory: string
  /** Absent where neither an agent nor its lease names it. */
  readonly session?: string
  readonly acting: Acting
  readonly holder?: Runtime
  readonly rows: readonly Row[]
  /** Directories of mailboxes that cannot be trusted. */
  readonly untrusted: readonly string[]
}

/**
 * Every owner of this user, with its agents. Changes nothing.
 *
 * @throws MailboxError - a directory cannot be read
 */
export async function everyOwner(world: CliWorld): Promise<readonly OwnerView[]> {
  const owners: OwnerView[] = []
  for (const name of ownNames(world.fs, world.root.mailboxes)) {
    owners.push(await ownerView(world, name))
    await world.clock.yield()
  }
  return owners
}

async function ownerView(world: CliWorld, name: string): Promise<OwnerView> {
  const { fs, processes, root } = world
  const paths = ownerDirectory(root, name)
  const isOwn = ({ facts }: Row) =>
    ownerPaths(root, facts.generation.identity.owner).directory === paths.directory
  const rows = (await survey(world, paths)).filter(isOwn)
  const lease = leaseIn(fs, paths)
  const found = lease === 'unreadable' ? undefined : lease
  const session = rows[0]?.facts.generation.identity.owner ?? found?.subject
  const holder = found?.holder
  const presence = holder && runtimePresence(processes, holder)
  return {
    directory: paths.directory,
    acting: lease === 'unreadable' ? 'unreadable' : (presence ?? 'nobody'),
    rows,
    untrusted: untrusted(world, paths).map((each) => join(paths.directory, each)),
    ...(session !== undefined && { session }),
    ...(holder && { holder }),
  }
}

export const ownerOf = (row: Row, owners: readonly OwnerView[]): OwnerView | undefined =>
  owners.find(({ session }) => session === row.facts.generation.identity.owner)

/** Who acts for a session, in a few words. */
export function actingWords(owner: OwnerView | undefined): string {
  const pid = owner?.holder?.process.pid
  switch (owner?.acting) {
    case 'live':
      return `open in process ${pid}`
    case 'gone':
      return `its process ${pid} is gone`
    case 'unknown':
      return `whether its process ${pid} runs cannot be proved`
    case 'unreadable':
      return 'who acts for it cannot be read'
    default:
      return 'not open'
  }
}
