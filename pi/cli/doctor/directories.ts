import { lstatSync, readdirSync, type Stats } from 'node:fs'
import { dirname, join } from 'node:path'
import type { RootPaths } from '../../../mailbox/index.ts'
import { quotedForShell } from '../session-of.ts'
import { bounded, type CheckReport, counted, type Finding } from './finding.ts'

/** Entries looked at below Drover's directory. */
const entriesMax = 200_000

/** Whether all that is Drover's is ours and private, and what leads to it is safe. */
export function directories(agentDirectory: string, { drover }: RootPaths): CheckReport {
  const above = lookAbove(agentDirectory)
  if (statIfAny(drover) === undefined)
    return { facts: [`${drover} is not there yet: nothing was delegated`], findings: above }
  const below: Finding[] = []
  let seen = 0
  const waiting = [drover]
  for (let path = waiting.pop(); path !== undefined && seen < entriesMax; path = waiting.pop()) {
    const found = statIfAny(path)
    if (found === undefined) continue // settled meanwhile
    seen++
    const problem = problemOf(path, found)
    if (problem !== undefined) below.push(problem)
    if (found.isDirectory())
      waiting.push(...namesIn(path).map((name) => join(path as string, name)))
  }
  const entries = counted(seen, 'entry', 'entries')
  const isSafe = above.length + below.length === 0
  return {
    facts: [`${drover}: ${entries}${isSafe ? ', ours and private' : ''}`],
    findings: [...above, ...bounded(below)],
  }
}

function problemOf(path: string, found: Stats): Finding | undefined {
  const uid = process.getuid?.()
  const word = quotedForShell(path)
  const error = (what: string, remedy: string, run?: string): Finding => ({
    severity: 'error',
    what: `${path} ${what}`,
    remedy,
    ...(run !== undefined && { run }),
  })
  if (!found.isDirectory() && !found.isFile())
    return error('is neither a file nor a directory', 'Move it away: nothing of ours is that.')
  if (found.uid !== uid)
    return error(
      `belongs to user ${found.uid}`,
      'Remove it, or make it yours.',
      `chown ${uid} ${word}`,
    )
  if ((found.mode & 0o077) === 0) return undefined
  const mode = (found.mode & 0o7777).toString(8)
  const right = found.isDirectory() ? '700' : '600'
  return error(`is open to others (mode ${mode})`, 'Close it to others.', `chmod ${right} ${word}`)
}

/** Whoever can move a directory above can replace all that is below it. */
function lookAbove(agentDirectory: string): readonly Finding[] {
  const findings: Finding[] = []
  for (let path = agentDirectory; ; path = dirname(path)) {
    const found = statIfAny(path)
    if (found !== undefined) {
      const isOthers = found.uid !== process.getuid?.() && found.uid !== 0
      if (isOthers)
        findings.push({
          severity: 'error',
          what: `${path} belongs to another user`,
          remedy: 'Choose another PI_CODING_AGENT_DIR.',
        })
      if ((found.mode & 0o1002) === 0o002)
        findings.push({
          severity: 'error',
          what: `${path} can be written by everyone`,
          remedy: 'Let nobody else write there.',
          run: `chmod o-w ${quotedForShell(path)}`,
        })
    }
    if (path === dirname(path)) return findings
  }
}

function statIfAny(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false })
}

function namesIn(path: string): readonly string[] {
  try {
    return readdirSync(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}
