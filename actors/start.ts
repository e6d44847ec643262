import {
  type GenerationFile,
  type GenerationPaths,
  generationExists,
  generationPaths,
  limits,
  type Placement,
  type TaskRecord,
} from '../mailbox/index.ts'
import type { AgentFacts } from './row.ts'
import { failure, LeftBehind } from './start-failure.ts'
import type {
  Delegated,
  DelegateOrder,
  StartedActor,
  StartPorts,
  Withdrawal,
} from './start-ports.ts'
import { adopt, prepare } from './start-prepare.ts'

/**
 * Starts an agent and resolves once it has durably accepted its task, which it then works on whatever happens to
 * its owner.
 *
 * A start that fails is withdrawn: what this attempt provably made is undone, and nothing else.
 *
 * @throws OperationError - with its category, how far it came, and what to do next
 */
export async function startAgent<Launch>(
  ports: StartPorts,
  order: DelegateOrder<Launch>,
  signal: AbortSignal,
): Promise<Delegated> {
  const { clock } = ports
  if (signal.aborted)
    throw failure('pane_not_ready', 'queue', 'The start was aborted before it began.', {
      nextAction: 'Nothing was started. Delegate again when it is wanted.',
    })
  const deadline = clock.monotonic() + order.timeoutMs - limits.startDiagnosisMs
  const { generation, task, doubt } = await prepare(ports, order)
  const paths = generationPaths(ports.owner.directory, generation.identity.generation)
  const actor = await adopt(ports, order, generation)
  let stage = 'mailbox'
  let placement: Placement | undefined
  try {
    if (doubt !== undefined) throw doubt
    stage = 'launch'
    throwIfAborted(signal)
    placement = await launched(ports, order, { generation, paths, deadline, signal })
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
    return withdraw(ports, actor, {
      ...{ order, generation, task, stage, placement },
      cause: error as Error,
    })
  }
}

function delegated(facts: AgentFacts, task: TaskRecord, placement: Placement): Delegated {
  const { generation, ready } = facts
  return { generation, request: task.id, placement, ...(ready && { ready }) }
}

/** The runner is told when it is to give up; what it has opened then it takes back itself. */
async function launched<Launch>(
  { clock }: StartPorts,
  { runner, launch, timeoutMs }: DelegateOrder<Launch>,
  {
    deadline,
    signal,
    ...of
  }: {
    readonly generation: GenerationFile
    readonly paths: GenerationPaths
    readonly deadline: number
    readonly signal: AbortSignal
  },
): Promise<Placement> {
  const limit = new AbortController()
  const cancel = clock.after(deadline - clock.monotonic(), () =>
    limit.abort(new Error(`it could not be started within ${timeoutMs} ms`)),
  )
  const given = new AbortController()
  const giveUp = () => given.abort(new Error('the start was aborted'))
  signal.addEventListener('abort', giveUp)
  try {
    return await runner.start({
      ...of,
      launch,
      signal: AbortSignal.any([limit.signal, given.signal]),
    })
  } finally {
    cancel()
    signal.removeEventListener('abort', giveUp)
  }
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

interface Attempt<Launch> {
  readonly order: DelegateOrder<Launch>
  readonly generation: GenerationFile
  readonly task: TaskRecord
  readonly stage: string
  /** Where it was put, if it came that far. */
  readonly placement: Placement | undefined
  readonly cause: Error
}

/**
 * Takes a start back: the order to close is durable before anything is ended, so that an agent which comes up late
 * finds it. A result written meanwhile counts: then the start has succeeded.
 */
async function withdraw<Launch>(
  ports: StartPorts,
  actor: StartedActor,
  { order, generation, task, stage, placement, cause }: Attempt<Launch>,
): Promise<Delegated> {
  const { owner } = ports
  const { runner } = order
  const { identity } = generation
  const paths = generationPaths(owner.directory, identity.generation)
  const capture = await runner.capture({ generation, paths, placement }).catch(() => undefined)
  const said = capture?.lines.join('\n').trim()
  const { outcome, why } = await takeBack(ports, actor, order, generation)
  if (outcome === 'result') {
    const facts = await actor.until(isAccepted, limits.acknowledgementWaitMs, ports.signal)
    if (facts !== undefined)
      return delegated(facts, task, facts.assignment.placement ?? { runner: runner.name })
  }
  const isClean = outcome === 'settled'
  const left = cause instanceof LeftBehind ? cause : undefined
  const cleanupCause = why ?? left?.left
  throw failure(
    isClean ? 'pane_not_ready' : 'rollback_failure',
    stage,
    `The agent ${identity.label} did not start: ${cause.message.replace(/\.$/, '')}.${said ? ` It said:\n${said}` : ''}`,
    {
      nextAction:
        left !== undefined
          ? `${left.left} See to that, then delegate again.`
          : isClean
            ? 'Nothing of it is left. Mend the cause, or give a longer timeoutMs, then delegate again.'
            : `List agents; ${identity.label} is still there. Close it, then delegate again.`,
      agent: identity.label,
      generation: identity.generation,
      primaryCause: cause.message,
      rollbackOccurred: isClean && left === undefined,
      ...(cleanupCause !== undefined && { cleanupCause }),
      cause,
    },
  )
}

/** Never throws: what fails here must not hide why the start failed. */
async function takeBack<Launch>(
  { fs, owner }: StartPorts,
  actor: StartedActor,
  { session }: DelegateOrder<Launch>,
  { identity }: GenerationFile,
): Promise<Withdrawal> {
  try {
    const withdrawal = await actor.withdraw()
    if (withdrawal.outcome === 'settled' && !generationExists(fs, owner, identity.generation))
      session.remove()
    return withdrawal
  } catch (error) {
    return { outcome: 'open', why: (error as Error).message }
  }
}
