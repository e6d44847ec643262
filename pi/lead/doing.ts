import { type AgentFacts, openQuestion, type Row } from '../../actors/index.ts'
import { shownLine } from '../shown.ts'

/** More than any screen has columns, characters. */
const charsMax = 400

/** What an agent does now, or what keeps it from going on, in a line. The shortest are the likeliest to be seen whole. */
export function doing({ state, starting, facts }: Row): string {
  const { assignment, activity, cleanupError } = facts
  if (cleanupError !== undefined) return `cannot be ended: ${shownLine(cleanupError, charsMax)}`
  if (state === 'lost') return 'process is gone'
  if (state === 'unknown') return 'process not seen'
  if (starting) return task(facts)
  if (assignment.conclusion !== undefined) return 'result is ready'
  if (assignment.phase === 'closing') return 'is being closed'
  if (openQuestion(facts) !== undefined) return 'needs an answer'
  if (activity?.resultError !== undefined)
    return `cannot write its result: ${shownLine(activity.resultError.cause, charsMax)}`
  if (activity?.waiting === 'person') return 'needs a person'
  if (activity?.waiting === 'agents') return 'waits for agents'
  return latest(facts)
}

/** The tool it is in, or its last words; before it has any, what it was told to do. */
function latest(facts: AgentFacts): string {
  const { tool, lines = [] } = facts.activity ?? {}
  if (tool !== undefined) {
    const begun = lines.findLast((line) => line.startsWith(`tool ${tool} {`))
    return shownLine(`${tool} ${begun === undefined ? '' : given(begun, tool)}`.trim(), charsMax)
  }
  const words = lines.findLast((line) => line.startsWith('says '))
  return words === undefined ? task(facts) : shownLine(words.slice('says '.length), charsMax)
}

const task = ({ assignment }: AgentFacts): string =>
  shownLine(assignment.task?.text.trim() ?? '', charsMax)

/** What a tool was given, without the names of its arguments where they can be told. */
function given(line: string, tool: string): string {
  const text = line.slice(`tool ${tool} `.length)
  try {
    const values: unknown[] = Object.values(JSON.parse(text))
    return values
      .map((value) => (typeof value === 'string' ? value : JSON.stringify(value)))
      .join(' ')
  } catch {
    return text.replace(/^\{"[^"]*":"?/, '') // it was cut
  }
}
