import {
  type ClaimFile,
  type ClaimPlace,
  claim,
  createGeneration,
  encode,
  finishSettled,
  type GenerationFile,
  generationExists,
  generationPaths,
  labelClaimPath,
  limits,
  MailboxError,
  ownerPaths,
  type Placement,
  protocol,
  type ReadyFile,
  readClaim,
  sessionClaimPath,
  settleGeneration,
  type TaskRecord,
  unclaim,
} from '../mailbox/index.ts'
import { type ErrorCategory, OperationError } from './operation-error.ts'
import type { OwnedAgentPorts } from './owned-agent.ts'
import type { AgentRunner, SessionStore } from './ports.ts'
import type { AgentFacts } from './row.ts'

/** One task for one new agent. */
export interface DelegateOrder<Launch> {
  readonly definition: string
  readonly task: string
  /** Used exactly, where given; otherwise the first free of the definition's name, name-2, name-3, … */
  readonly label?: string
  readonly cwd: string
  /** Bounds the start alone, ms: from here to the acceptance of the task. */
  readonly timeoutMs: number
  readonly launch: Launch
}

/** An agent that has accepted its task. */
export interface Delegated {
  readonly generation: GenerationFile
  readonly request: string
  readonly placement: Placement
  readonly ready?: ReadyFile
}

/** What starting an agent needs. */
export interface StartPorts<Launch> extends OwnedAgentPorts {
  readonly runner: AgentRunner<Launch>
  readonly sessions: SessionStore
  readonly ownerSession: string
  readonly rootSession: string
  readonly depth: number
  readonly build: string
  readonly recordBytesMax: number
  /** Makes the agent one of the owner's actors: from here on it has a row. */
  readonly adopt: (generation: GenerationFile) => Promise<StartedActor>
}

/** What taking a start back came to. `result`: one was written meanwhile, and counts. */
export interface Withdrawal {
  readonly outcome: 'settled' | 'result' | 'open'
  readonly why?: string
}

/** The actor of an agent that is being started. */
export interface StartedActor {
  placed(placement: Placement): Promise<void>
  withdraw(): Promise<Withdrawal>
  /** Waits for a fact; undefined when the time ran out or the wait was aborted. */
  until(
    isTrue: (facts: AgentFacts) => boolean,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<AgentFacts | undefined>
}

/** Automatic labels tried before giving up. */
const labelAttemptsMax = 99

/**
 * Starts an agent and resolves once it has durably accepted its task, which it then works on whatever happens to
 * its owner.
 *
 * A start that fails is withdrawn: what this attempt provably made is undone, and nothing else.
 *
 * @throws OperationError - with its category, how far it came, and what to do next
 */
export async function startAgent<Launch>(
  ports: StartPorts<Launch>,
  order: DelegateOrder<Launch>,
  signal: AbortSignal,
): Promise<Delegated> {
  const { clock } = ports
  const deadline = clock.monotonic() + order.timeoutMs - limits.startDiagnosisMs
  const { generation, task, doubt } = await prepare(ports, order)
  const paths = generationPaths(ports.owner.directory, generation.identity.generation)
  const actor = await adopt(ports, generation)
  let stage = 'mailbox'
  try {
    if (doubt !== undefined) throw doubt
    stage = 'launch'
    throwIfAborted(signal)
    const placement = await ports.runner.start({ generation, paths, launch: order.launch })
    stage = 'placement'
    await actor.placed(placement)
    stage = 'acceptance'
    const facts = await actor.until(
      ({ assignment, presence }) => assignment.phase !== 'offered' || presence === 'lost',
      deadline - clock.monotonic(),
      signal,
    )
    throwIfAborted(signal)
    if (facts !== undefined && isAccepted(facts)) return delegated(facts, task, placement)
    throw notAccepted(facts, order.timeoutMs)
  } catch (error) {
    return withdraw(ports, actor, { generation, task, stage, cause: error as Error })
  }
}

function delegated(facts: AgentFacts, task: TaskRecord, placement: Placement): Delegated {
  const { generation, ready } = facts
  return { generation, request: task.id, placement, ...(ready && { ready }) }
}

const isAccepted = ({ assignment }: AgentFacts): boolean =>
  assignment.phase === 'active' || assignment.phase === 'concluded'

function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw new Error('the start was aborted')
}

function notAccepted(facts: AgentFacts | undefined, timeoutMs: number): Error {
  if (facts?.assignment.rejection !== undefined) {
    const { code, message } = facts.assignment.rejection
    return new Error(`it did not take the task: ${code}: ${message}`)
  }
  if (facts?.presence === 'lost') return new Error('its process ended before it took the task')
  return new Error(`it did not take the task within ${timeoutMs} ms`)
}

interface Prepared {
  readonly generation: GenerationFile
  readonly task: TaskRecord
  /** Why the start may or may not be durable. Its actor takes it back. */
  readonly doubt?: MailboxError
}

/** Everything up to the start of a process. What fails here leaves nothing behind. */
async function prepare<Launch>(
  ports: StartPorts<Launch>,
  order: DelegateOrder<Launch>,
): Promise<Prepared> {
  const { fs, root, sessions, ids } = ports
  const session = sessions.plan(order.cwd)
  const draft = draftGeneration(ports, order, session)
  checkTask(ports, order, draft)
  const name = draft.identity.generation
  let generation = draft
  try {
    await claimSession(ports, draft)
    generation = await claimLabel(ports, order, draft)
    await sessions.write(session, order.cwd)
    const task = taskRecord(ports, order, generation, ids.next())
    const doubt = await create(ports, generation, task)
    return { generation, task, ...(doubt && { doubt }) }
  } catch (error) {
    const remains = generationExists(fs, ports.owner, name)
    if (!remains) {
      unclaim(fs, labelClaimPath(root, generation), name)
      unclaim(fs, sessionClaimPath(root, session.id), name)
      sessions.remove(session)
    }
    if (error instanceof OperationError) throw error
    throw failure(
      'internal_failure',
      'mailbox',
      `The agent could not be set up: ${(error as Error).message}`,
      {
        nextAction: 'Nothing was started. Mend the cause named here, then delegate again.',
        rollbackOccurred: !remains,
        cause: error,
      },
    )
  }
}

async function create<Launch>(
  { fs, owner }: StartPorts<Launch>,
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

async function adopt<Launch>(
  ports: StartPorts<Launch>,
  generation: GenerationFile,
): Promise<StartedActor> {
  try {
    return await ports.adopt(generation)
  } catch (cause) {
    const cleanupCause = await undo(ports, generation)
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
async function undo<Launch>(
  { fs, root, owner, sessions }: StartPorts<Launch>,
  { identity }: GenerationFile,
): Promise<string | undefined> {
  try {
    await settleGeneration(fs, owner, identity.generation)
    finishSettled(fs, root, owner)
    sessions.remove({ id: identity.session, file: identity.sessionFile })
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

function draftGeneration<Launch>(
  { ids, clock, ownerSession, rootSession, depth, build, runner, runtime }: StartPorts<Launch>,
  order: DelegateOrder<Launch>,
  session: { readonly id: string; readonly file: string },
): GenerationFile {
  return {
    protocol,
    kind: 'generation',
    identity: {
      generation: ids.next(),
      owner: ownerSession,
      session: session.id,
      sessionFile: session.file,
      label: order.label ?? automaticLabel(order.definition, 1),
      cwd: order.cwd,
    },
    root: rootSession,
    depth,
    definition: order.definition,
    runner: runner.name,
    build,
    at: clock.now(),
    starter: runtime,
  }
}

function taskRecord<Launch>(
  { clock, lease }: StartPorts<Launch>,
  { task }: DelegateOrder<Launch>,
  { identity }: GenerationFile,
  id: string,
): TaskRecord {
  return { protocol, kind: 'task', id, identity, at: clock.now(), lease, text: task }
}

function checkTask<Launch>(
  ports: StartPorts<Launch>,
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

async function claimSession<Launch>(
  ports: StartPorts<Launch>,
  generation: GenerationFile,
): Promise<void> {
  const { session } = generation.identity
  const path = sessionClaimPath(ports.root, session)
  const answer = await claim(claimPlace(ports), path, claimFile(ports, generation, session))
  if (answer.outcome === 'taken')
    throw failure('agent_busy', 'session', `The session ${session} already belongs to an agent.`, {
      nextAction: 'List agents to see it; wait for its result, or close it.',
    })
}

/** Claims the label asked for, or the first free automatic one. */
async function claimLabel<Launch>(
  ports: StartPorts<Launch>,
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
      const answer = await claim(claimPlace(ports), path, claimFile(ports, named, label))
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

function claimPlace<Launch>(ports: StartPorts<Launch>): ClaimPlace {
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

function claimFile<Launch>(
  { runtime }: StartPorts<Launch>,
  { identity, root }: GenerationFile,
  subject: string,
): ClaimFile {
  const { owner, generation } = identity
  return { protocol, kind: 'claim', subject, owner, root, generation, claimer: runtime }
}

const labelLengthMax = 32

/** A definition's name in the grammar of labels, with room for its number. */
export function automaticLabel(definition: string, number: number): string {
  const suffix = number === 1 ? '' : `-${number}`
  const name = definition
    .toLowerCase()
    .replace(/[^a-z0-9_-]+/g, '-')
    .replace(/^[^a-z]+/, '')
  return (name || 'agent').slice(0, labelLengthMax - suffix.length) + suffix
}

interface Attempt {
  readonly generation: GenerationFile
  readonly task: TaskRecord
  readonly stage: string
  readonly cause: Error
}

/**
 * Takes a start back: the order to close is durable before anything is ended, so that an agent which comes up late
 * finds it. A result written meanwhile counts: then the start has succeeded.
 */
async function withdraw<Launch>(
  ports: StartPorts<Launch>,
  actor: StartedActor,
  { generation, task, stage, cause }: Attempt,
): Promise<Delegated> {
  const { owner, runner } = ports
  const { identity } = generation
  const paths = generationPaths(owner.directory, identity.generation)
  const capture = await runner.capture({ generation, paths }).catch(() => undefined)
  const said = capture?.lines.join('\n').trim()
  const { outcome, why } = await takeBack(ports, actor, generation)
  if (outcome === 'result') {
    const facts = await actor.until(isAccepted, limits.acknowledgementWaitMs, ports.signal)
    if (facts !== undefined)
      return delegated(facts, task, facts.assignment.placement ?? { runner: runner.name })
  }
  const isClean = outcome === 'settled'
  throw failure(
    isClean ? 'pane_not_ready' : 'rollback_failure',
    stage,
    `The agent ${identity.label} did not start: ${cause.message}.${said ? ` It said:\n${said}` : ''}`,
    {
      nextAction: isClean
        ? 'Nothing of it is left. Mend the cause, or give a longer timeoutMs, then delegate again.'
        : `List agents; ${identity.label} is still there. Close it, then delegate again.`,
      agent: identity.label,
      generation: identity.generation,
      primaryCause: cause.message,
      rollbackOccurred: isClean,
      ...(why !== undefined && { cleanupCause: why }),
      cause,
    },
  )
}

/** Never throws: what fails here must not hide why the start failed. */
async function takeBack<Launch>(
  { fs, owner, sessions }: StartPorts<Launch>,
  actor: StartedActor,
  { identity }: GenerationFile,
): Promise<Withdrawal> {
  try {
    const withdrawal = await actor.withdraw()
    if (withdrawal.outcome === 'settled' && !generationExists(fs, owner, identity.generation))
      sessions.remove({ id: identity.session, file: identity.sessionFile })
    return withdrawal
  } catch (error) {
    return { outcome: 'open', why: (error as Error).message }
  }
}

function failure(
  category: ErrorCategory,
  stage: string,
  message: string,
  more: {
    readonly nextAction: string
    readonly rollbackOccurred?: boolean
    readonly agent?: string
    readonly generation?: string
    readonly primaryCause?: string
    readonly cleanupCause?: string
    readonly cause?: unknown
  },
): OperationError {
  const { cause, rollbackOccurred = false, ...rest } = more
  return new OperationError(
    { category, operation: 'delegate', stage, message, rollbackOccurred, ...rest },
    cause as MailboxError | undefined,
  )
}
