import {
  type GenerationFile,
  generationPaths,
  type MailboxFs,
  ownerPaths,
  ownNames,
  type RootPaths,
  readGeneration,
} from '../mailbox/index.ts'
import type { OwnershipEdge } from './owner-tree.ts'

/** An edge with the generation that states it. */
export interface RecordedEdge extends OwnershipEdge {
  readonly file: GenerationFile
}

/**
 * Every ownership edge below a session, across processes: a descendant is found by hashing its owner's session id.
 * Edges that contradict each other are all returned; `ownerTree` refuses them.
 *
 * Costs: one directory and as many small files as there are agents below.
 */
export function edgesBelow(fs: MailboxFs, root: RootPaths, session: string): RecordedEdge[] {
  const edges: RecordedEdge[] = []
  const sessions = [session]
  for (const owner of sessions) {
    const { directory } = ownerPaths(root, owner)
    for (const name of ownNames(fs, directory)) {
      const file = readGeneration(fs, generationPaths(directory, name))
      if (typeof file !== 'object' || file.identity.owner !== owner) continue
      edges.push({ generation: name, owner, session: file.identity.session, file })
      if (!sessions.includes(file.identity.session)) sessions.push(file.identity.session)
    }
  }
  return edges
}
