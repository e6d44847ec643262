import type { ExtensionContext } from '@mariozechner/pi-coding-agent'
import { type AgentSession, OperationError } from '../../actors/index.ts'
import type { World } from '../compose.ts'
import { findSession, isOfAgentDirectory, type SavedSession } from '../saved-sessions.ts'
import { continuedSession, forkedSession, newSession } from '../sessions.ts'
import { directory, statIfAny } from './directory.ts'
import { invalidRequest } from './errors.ts'

/** Where a delegating session stands in its tree. */
export interface Standing {
  readonly rootSession: string
  readonly depth: number
  /** The agent's own definition; none for a lead, which may use all. */
  readonly definition?: string
}

/** A task for a new agent, or for one that takes up a saved session. */
export interface DelegateRequest {
  readonly definition?: string | undefined
  readonly session?: string | undefined
  readonly fork?: string | undefined
  readonly task: string
  readonly label?: string | undefined
  readonly cwd?: string | undefined
  readonly files?: readonly string[] | undefined
  readonly timeoutMs?: number | undefined
}

/** What is to be done as what, where, and in which session. */
export interface Work {
  readonly definition: string
  readonly cwd: string
  readonly session: () => AgentSession
}

/** As what, where and in which session the work is to be done. */
export function chooseWork(
  world: World,
  standing: Standing,
  request: DelegateRequest,
  ctx: ExtensionContext,
): Work {
  if (request.session !== undefined) return continuation(world, standing, request.session, ctx)
  const { definition = '', fork } = request
  const cwd = directory(request.cwd, ctx.cwd)
  const { fs } = world
  const own = ctx.sessionManager.getSessionId()
  const parent = ctx.sessionManager.getSessionFile() ?? ''
  const origin = { definition, owner: own }
  if (fork === undefined)
    return { definition, cwd, session: () => newSession(fs, cwd, parent, origin) }
  const source = saved(world, fork, ctx)
  return { definition, cwd, session: () => forkedSession(fs, cwd, source.file, origin) }
}

function continuation(
  world: World,
  standing: Standing,
  selector: string,
  ctx: ExtensionContext,
): Work {
  const found = saved(world, selector, ctx)
  const own = ctx.sessionManager.getSessionId()
  const refuse = (why: string, next: string) => invalidRequest('delegate', why, next)
  if (found.id === own)
    throw refuse(
      'That session is this one; it cannot be delegated to itself.',
      'Give definition, and this session as fork: the agent works in a copy of it.',
    )
  if (!isOfAgentDirectory(world.agentDirectory, found.file))
    throw refuse(
      `${found.file} is not a session of this agent directory.`,
      'Give definition, and that session as fork: the agent works in a copy of it.',
    )
  const { definition } = found
  if (definition === undefined)
    throw refuse(
      `The session ${found.id} never was an agent's, so it has no definition.`,
      'Give definition, and that session as fork: the agent works in a copy of it.',
    )
  if (standing.definition !== undefined && found.owner !== own)
    throw refuse(
      `The session ${found.id} was never yours.`,
      'Continue sessions of agents you delegated to yourself, or delegate by definition.',
    )
  if (!statIfAny(found.cwd)?.isDirectory())
    throw refuse(
      `The directory of that session, ${found.cwd}, is not there any more.`,
      'Make it again, or delegate by definition with another cwd.',
    )
  const { id, file, cwd } = found
  return { definition, cwd, session: () => continuedSession(id, file) }
}

function saved(world: World, selector: string, ctx: ExtensionContext): SavedSession {
  const found = findSession(world.agentDirectory, ctx.cwd, selector)
  if (!('problem' in found)) return found
  throw new OperationError({
    category: found.category,
    operation: 'delegate',
    stage: 'session',
    message: `${found.problem}.`,
    nextAction: 'Give the exact path or the full id of a saved session, as results name it.',
    rollbackOccurred: false,
  })
}
