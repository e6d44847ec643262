import {
  type ClaimAnswer,
  type ClaimFile,
  type ClaimPlace,
  claim,
  type GenerationFile,
  generationExists,
  labelClaimPath,
  limits,
  ownerPaths,
  protocol,
  readClaim,
  sessionClaimPath,
  unclaim,
} from '../mailbox/index.ts'
import { failure, undoAll } from './start-failure.ts'
import type { DelegateOrder, StartPorts } from './start-ports.ts'

/** Automatic labels tried before giving up. */
const labelAttemptsMax = 99

/** Claims the session an agent is to have. */
export async function claimSession(ports: StartPorts, generation: GenerationFile): Promise<void> {
  const { session } = generation.identity
  const path = sessionClaimPath(ports.root, session)
  const answer = await claim(claimPlace(ports), path, claimFile(ports, generation, session))
  if (answer.outcome === 'taken')
    throw failure('agent_busy', 'session', `The session ${session} already belongs to an agent.`, {
      nextAction: 'List agents to see it; wait for its result, or close it.',
    })
}

/** Claims the label asked for, or the first free automatic one. */
export async function claimLabel<Launch>(
  ports: StartPorts,
  order: DelegateOrder<Launch>,
  generation: GenerationFile,
): Promise<GenerationFile> {
  for (let number = 1; number <= labelAttemptsMax; number++) {
    const label = order.label ?? automaticLabel(order.definition, number)
    const named = { ...generation, identity: { ...generation.identity, label } }
    const path = labelClaimPath(ports.root, named)
    // A look first: a name that is taken needs no draft and no sync.
    const found = readClaim(ports.fs, path)
    const isLiving = typeof found === 'object' && claimPlace(ports).exists(found)
    if (!isLiving) {
      const answer = await claimOrLeave(ports, path, named, label)
      if (answer.outcome === 'claimed') return named
    }
    if (order.label !== undefined)
      throw failure('agent_label_exists', 'label', `An agent called ${label} exists already.`, {
        nextAction: 'Choose another label, leave label out, or close that agent first.',
        agent: label,
      })
  }
  throw failure(
    'agent_label_exists',
    'label',
    `No free label for ${order.definition} among ${labelAttemptsMax}.`,
    { nextAction: 'Close agents that are no longer needed, or give a label.' },
  )
}

/** A claim that fails half way must not keep the label. */
async function claimOrLeave(
  ports: StartPorts,
  path: string,
  generation: GenerationFile,
  label: string,
): Promise<ClaimAnswer> {
  try {
    return await claim(claimPlace(ports), path, claimFile(ports, generation, label))
  } catch (error) {
    undoAll(() => unclaim(ports.fs, path, generation.identity.generation))
    throw error
  }
}

function claimPlace(ports: StartPorts): ClaimPlace {
  const { fs, root, owner } = ports
  return {
    fs,
    ids: ports.ids,
    processes: ports.processes,
    drafts: owner.drafts,
    takeover: root.takeover,
    exists: (file) => generationExists(fs, ownerPaths(root, file.owner), file.generation),
  }
}

function claimFile(
  { runtime }: StartPorts,
  { identity, root }: GenerationFile,
  subject: string,
): ClaimFile {
  const { owner, generation } = identity
  return { protocol, kind: 'claim', subject, owner, root, generation, claimer: runtime }
}

/** A definition's name in the grammar of labels, with room for its number. */
export function automaticLabel(definition: string, number: number): string {
  const suffix = number === 1 ? '' : `-${number}`
  const name = definition
    .toLowerCase()
    .replace(/[^a-z0-9_-]+/g, '-')
    .replace(/^[^a-z]+/, '')
  return (name || 'agent').slice(0, limits.labelCharsMax - suffix.length) + suffix
}
