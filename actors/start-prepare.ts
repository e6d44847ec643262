import {
  createGeneration,
  encode,
  finishSettled,
  type GenerationFile,
  generationExists,
  labelClaimPath,
  MailboxError,
  protocol,
  sessionClaimPath,
  settleGeneration,
  type TaskRecord,
  unclaim,
} from '../mailbox/index.ts'
import { OperationError } from './operation-error.ts'
import type { AgentSession } from './ports.ts'
import { automaticLabel, claimLabel, claimSession } from './start-claims.ts'
import { failure, undoAll } from './start-failure.ts'
import type { DelegateOrder, StartedActor, StartPorts } from './start-ports.ts'

/** A start that is admitted, before any process. */
export interface Prepared {
  readonly generation: GenerationFile
  readonly task: TaskRecord
  /** Why the start may or may not be durable. Its actor takes it back. */
  readonly doubt?: MailboxError
}

/** Everything up to the start of a process. What fails here leaves nothing behind. */
export async function prepare<Launch>(
  ports: StartPorts,
  order: DelegateOrder<Launch>,
): Promise<Prepared> {
  const { fs, root, ids } = ports
  const { session } = order
  const draft = draftGeneration(ports, order)
  checkTask(ports, order, draft)
  const name = draft.identity.generation
  let generation = draft
  try {
    await claimSession(ports, draft)
    generation = await claimLabel(ports, order, draft)
    await session.write()
    const task = taskRecord(ports, order, generation, ids.next())
    const doubt = await create(ports, generation, task)
    return { generation, task, ...(doubt && { doubt }) }
  } catch (error) {
    const remains = generationExists(fs, ports.owner, name)
    const cleanupCause = remains
      ? undefined
      : undoAll(
          () => unclaim(fs, labelClaimPath(root, generation), name),
          () => unclaim(fs, sessionClaimPath(root, session.id), name),
          () => session.remove(),
        )
    if (error instanceof OperationError && cleanupCause === undefined) throw error
    const isUndone = !remains && cleanupCause === undefined
    const message = `The agent could not be set up: ${(error as Error).message}`
    throw failure(isUndone ? 'internal_failure' : 'rollback_failure', 'mailbox', message, {
      nextAction: 'Nothing was started. Mend the cause named here, then delegate again.',
      rollbackOccurred: isUndone,
      ...(cleanupCause !== undefined && { cleanupCause }),
      cause: error,
    })
  }
}

async function create(
  { fs, owner }: StartPorts,
  generation: GenerationFile,
  task: TaskRecord,
): Promise<MailboxError | undefined> {
  try {
    await createGeneration(fs, owner, generation, task)
    return undefined
  } catch (error) {
    if (error instanceof MailboxError && error.code === 'DROVER_OUTCOME_UNKNOWN') return error
    throw error
  }
}

/** Gives a prepared agent its actor, or takes the start back. */
export async function adopt<Launch>(
  ports: StartPorts,
  { session }: DelegateOrder<Launch>,
  generation: GenerationFile,
): Promise<StartedActor> {
  try {
    return await ports.adopt(generation)
  } catch (cause) {
    const cleanupCause = await undo(ports, session, generation)
    const isUndone = cleanupCause === undefined
    const message = `The agent could not be set up: ${(cause as Error).message}`
    throw failure(isUndone ? 'internal_failure' : 'rollback_failure', 'mailbox', message, {
      nextAction: isUndone
        ? 'Nothing was started. Mend the cause named here, then delegate again.'
        : 'Nothing was started. What is left is taken back when this session is opened again.',
      rollbackOccurred: isUndone,
      ...(cleanupCause !== undefined && { cleanupCause }),
      cause,
    })
  }
}

/** Without an actor nobody here would ever take the start back, so it is done at once: nothing runs yet. */
async function undo(
  { fs, root, owner }: StartPorts,
  session: AgentSession,
  { identity }: GenerationFile,
): Promise<string | undefined> {
  try {
    await settleGeneration(fs, owner, identity.generation)
    finishSettled(fs, root, owner)
    session.remove()
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

function draftGeneration<Launch>(
  { ids, clock, ownerSession, rootSession, depth, build, runtime }: StartPorts,
  order: DelegateOrder<Launch>,
): GenerationFile {
  return {
    protocol,
    kind: 'generation',
    identity: {
      generation: ids.next(),
      owner: ownerSession,
      session: order.session.id,
      sessionFile: order.session.file,
      label: order.label ?? automaticLabel(order.definition, 1),
      cwd: order.cwd,
    },
    root: rootSession,
    depth,
    definition: order.definition,
    runner: order.runner.name,
    build,
    at: clock.now(),
    starter: runtime,
  }
}

function taskRecord<Launch>(
  { clock, lease }: StartPorts,
  { task: text, files }: DelegateOrder<Launch>,
  { identity }: GenerationFile,
  id: string,
): TaskRecord {
  const at = clock.now()
  return { protocol, kind: 'task', id, identity, at, lease, text, ...(files && { files }) }
}

function checkTask<Launch>(
  ports: StartPorts,
  order: DelegateOrder<Launch>,
  generation: GenerationFile,
): void {
  const { length } = encode(taskRecord(ports, order, generation, generation.identity.generation))
  if (length <= ports.recordBytesMax) return
  const message = `The task makes a record of ${length} bytes; at most ${ports.recordBytesMax} are admitted.`
  throw failure('invalid_request', 'validation', message, {
    nextAction: 'Shorten the task: put long material into a file and name its path in the task.',
  })
}
