import { readdirSync, realpathSync } from 'node:fs'
import { isAbsolute, join, sep } from 'node:path'
import { pathFrom } from './paths.ts'
import { readHeader, type SessionHeader } from './session-file.ts'

export interface SavedSession extends SessionHeader {
  readonly file: string
}

/** Why no saved session is meant, for whoever named it. */
export interface SessionProblem {
  readonly category: 'target_not_found' | 'target_ambiguous' | 'invalid_request'
  readonly problem: string
}

const savedLater = 'one that has just begun is saved with its first answer'

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/**
 * The saved session that an exact path or a full id names.
 *
 * Costs: the names of all sessions are read, and the first line of one; no session is parsed.
 */
export function findSession(
  agentDirectory: string,
  cwd: string,
  selector: string,
): SavedSession | SessionProblem {
  const root = join(agentDirectory, 'sessions')
  if (uuid.test(selector)) {
    const files = filesOf(root, selector.toLowerCase())
    if (files.length > 1)
      return {
        category: 'target_ambiguous',
        problem: `${files.length} saved sessions have the id ${selector}: ${files.join(', ')}`,
      }
    const [file] = files
    if (file !== undefined) return read(file)
    return {
      category: 'target_not_found',
      problem: `no saved session has the id ${selector}; ${savedLater}`,
    }
  }
  if (!isAbsolute(selector) && !selector.includes(sep) && !selector.endsWith('.jsonl'))
    return {
      category: 'invalid_request',
      problem: `${selector} is neither the path of a saved session nor a full session id`,
    }
  return read(pathFrom(cwd, selector))
}

/** Whether a session lies where this agent directory keeps its sessions. */
export function isOfAgentDirectory(agentDirectory: string, file: string): boolean {
  try {
    return realpathSync(file).startsWith(realpathSync(join(agentDirectory, 'sessions')) + sep)
  } catch {
    return false
  }
}

function filesOf(root: string, id: string): string[] {
  return names(root).flatMap((project) =>
    names(join(root, project))
      .filter((name) => name.endsWith(`_${id}.jsonl`))
      .map((name) => join(root, project, name)),
  )
}

function names(directory: string): string[] {
  try {
    return readdirSync(directory)
  } catch {
    return []
  }
}

function read(file: string): SavedSession | SessionProblem {
  const header = readHeader(file)
  if (header !== undefined) return { ...header, file }
  return {
    category: 'target_not_found',
    problem: `${file} is no saved session; ${savedLater}`,
  }
}
