import {
  type GenerationFile,
  type GenerationPaths,
  generationPaths,
  type Ids,
  type MailboxFs,
  type OwnerPaths,
  ownerPaths,
  ownNames,
  type Placement,
  type Processes,
  type RootPaths,
  readActivity,
  readGeneration,
} from '../mailbox/index.ts'
import { AgentMailbox } from './agent-mailbox.ts'
import { presenceIn } from './presence.ts'
import { type Row, row } from './row.ts'

export interface SurveyPorts {
  readonly fs: MailboxFs
  readonly ids: Ids
  readonly processes: Processes
}

/** The agents of one owner as their files tell it: for whoever may only look. Offers and changes nothing. */
export async function survey(ports: SurveyPorts, owner: OwnerPaths): Promise<readonly Row[]> {
  return ownNames(ports.fs, owner.directory).flatMap((name) => {
    const paths = generationPaths(owner.directory, name)
    const generation = readGeneration(ports.fs, paths)
    return typeof generation === 'object' ? (surveyed(ports, paths, generation) ?? []) : []
  })
}

/** Mailboxes of one owner that cannot be trusted, by generation. */
export function untrusted(
  { fs, root }: { readonly fs: MailboxFs; readonly root: RootPaths },
  owner: OwnerPaths,
): readonly string[] {
  return ownNames(fs, owner.directory).filter((name) => {
    const generation = readGeneration(fs, generationPaths(owner.directory, name))
    if (typeof generation !== 'object') return generation === 'unreadable'
    return ownerPaths(root, generation.identity.owner).directory !== owner.directory
  })
}

/**
 * One of them; undefined once it is settled.
 *
 * @param placedHere where this very process has put it, should no record say so
 */
export function surveyed(
  ports: SurveyPorts,
  paths: GenerationPaths,
  generation: GenerationFile,
  placedHere?: Placement,
): Row | undefined {
  return surveyedWhole(ports, paths, generation, placedHere)?.row
}

/** A row, and the records it was folded from. */
export interface Dossier {
  readonly row: Row
  readonly records: AgentMailbox['records']
  /** Where its process is, as far as the records prove it. */
  readonly placement: AgentMailbox['placement']
}

/** The same with all that was read of it. */
export function surveyedWhole(
  { fs, ids, processes }: SurveyPorts,
  paths: GenerationPaths,
  generation: GenerationFile,
  placedHere?: Placement,
): Dossier | undefined {
  const mailbox = new AgentMailbox(fs, ids, paths, generation, 'leave')
  if (placedHere !== undefined) mailbox.place(placedHere)
  let state = mailbox.look()
  while (state === 'more') state = mailbox.look()
  if (state === 'gone') return undefined
  const { ready, assignment, diagnostic, placement } = mailbox
  const activity = readActivity(fs, paths)
  const seen = row({
    generation,
    assignment,
    presence: presenceIn(processes, placement === 'contradictory' ? undefined : placement?.process),
    delivered: false,
    ...(ready && { ready }),
    ...(activity && { activity }),
    ...(placement !== 'contradictory' && placement?.pane && { pane: placement.pane }),
    ...(diagnostic !== undefined && { diagnostic }),
  })
  return { row: { ...seen, actions: [] }, records: mailbox.records, placement }
}
