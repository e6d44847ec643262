import {
  generationPaths,
  type MailboxFs,
  ownerPaths,
  ownNames,
  type RootPaths,
  readGeneration,
} from '../mailbox/index.ts'
import type { OwnershipEdge } from './owner-tree.ts'

/**
 * Every ownership edge below a session, across processes: a descendant is found by hashing its owner's session id.
 * Edges that contradict each other are all returned; `contradiction` finds them.
 *
 * Costs: one directory and as many small files as there are agents below.
 */
export function edgesBelow(fs: MailboxFs, root: RootPaths, session: string): OwnershipEdge[] {
  const edges: OwnershipEdge[] = []
  const sessions = [session]
  for (const owner of sessions) {
    const { directory } = ownerPaths(root, owner)
    for (const name of ownNames(fs, directory)) {
      const file = readGeneration(fs, generationPaths(directory, name))
      if (typeof file !== 'object' || file.identity.owner !== owner) continue
      const { session: below } = file.identity
      edges.push({ owner, session: below })
      if (!sessions.includes(below)) sessions.push(below)
    }
  }
  return edges
}
