import {
  type GenerationFile,
  type GenerationPaths,
  generationPaths,
  isSameProcess,
  type MailboxFs,
  ownerPaths,
  type Processes,
  type RootPaths,
  readClaim,
  readGeneration,
  readReady,
  sessionClaimPath,
} from '../mailbox/index.ts'

/**
 * What this process is for the session it has open, from the claim on that session and nothing else: not from the
 * environment, not from entries that a fork copies.
 */
export type Role =
  | { readonly role: 'lead' }
  | {
      readonly role: 'managed'
      readonly generation: GenerationFile
      readonly paths: GenerationPaths
    }
  /** The session is an agent's, and this process is not that agent. */
  | { readonly role: 'bystander'; readonly why: string }

const unsound = 'is damaged, or not a private file of ours. Set its mode to 600'

export function roleOf(
  fs: MailboxFs,
  processes: Processes,
  root: RootPaths,
  session: string,
): Role {
  const path = sessionClaimPath(root, session)
  const claim = readClaim(fs, path)
  if (claim === 'absent') return { role: 'lead' }
  if (claim === 'unreadable')
    return {
      role: 'bystander',
      why: `It cannot be read whether this session belongs to an agent: ${path} ${unsound}, or remove it when no agent works in this session.`,
    }
  const paths = generationPaths(ownerPaths(root, claim.owner).directory, claim.generation)
  const generation = readGeneration(fs, paths)
  if (generation === 'absent') return { role: 'lead' } // settled, or its start never came to be
  if (generation === 'unreadable')
    return {
      role: 'bystander',
      why: `The agent this session belongs to cannot be read: ${paths.file} ${unsound}, then open the session again.`,
    }
  const ready = readReady(fs, paths)
  const isIts =
    ready === 'absent' ||
    (ready !== 'unreadable' && isSameProcess(ready.runtime.process, processes.self()))
  if (isIts && generation.identity.session === session)
    return { role: 'managed', generation, paths }
  const { label } = generation.identity
  return {
    role: 'bystander',
    why: `This session belongs to the agent ${label}. What you type here does not reach it or its owner; close the agent, or wait until its result is delivered, to use the session as your own.`,
  }
}
