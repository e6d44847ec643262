import { openQuestion, type Row, type SurveyPorts, survey } from '../actors/index.ts'
import { ownerPaths, type RootPaths } from '../mailbox/index.ts'
import { roleOf } from './role.ts'
import { readHeader } from './session-file.ts'

/**
 * What a person is told who goes from one session to another while agents of the first are not settled.
 *
 * @param file the session that was left
 * @returns undefined where there is nothing to tell; an agent's session is its owner's to hear from
 */
export async function leftBehind(
  ports: SurveyPorts & { readonly root: RootPaths },
  file: string,
): Promise<string | undefined> {
  const { fs, processes, root } = ports
  const session = readHeader(file)?.id // without a first answer there is no file, and no agent either
  if (session === undefined || roleOf(fs, processes, root, session).role !== 'lead')
    return undefined
  const rows = await survey(ports, ownerPaths(root, session))
  return rows.length === 0 ? undefined : leftBehindText(rows, file)
}

function leftBehindText(rows: readonly Row[], file: string): string {
  const counts = kinds.flatMap(([kind, one, many]) => {
    const count = rows.filter((row) => kindOf(row) === kind).length
    return count === 0 ? [] : `${count} ${count === 1 ? one : many}`
  })
  return `Agents of the session you left: ${counts.join(', ')}. What they have to say comes when you open it again: ${file}`
}

/** What an agent may be doing, as it is told of one and of many. */
const kinds = [
  ['works', 'works on', 'work on'],
  ['asks', 'waits for an answer', 'wait for an answer'],
  ['is done', 'has its result ready', 'have their results ready'],
  ['is lost', 'is lost', 'are lost'],
  ['is unseen', 'cannot be seen from here', 'cannot be seen from here'],
] as const

function kindOf({ state, facts }: Row): (typeof kinds)[number][0] {
  if (facts.assignment.conclusion !== undefined) return 'is done'
  if (state === 'lost') return 'is lost'
  if (state === 'unknown') return 'is unseen'
  return openQuestion(facts) === undefined ? 'works' : 'asks'
}
