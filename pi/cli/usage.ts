import { parseArgs } from 'node:util'

export const usage = `Usage: drover <command> [options]

  drover ls              all agents of this user, below their owners
  drover show <agent>    all that is known of one agent; changes nothing
  drover tail <agent>    follow what it does until it has its result
  drover doctor          look for what is wrong, and say what to do about it
  drover close <agent>   end an agent whose owner is gone, and those below it

  <agent>   its label; where several have that label, <session>/<label>, or its
            generation. Of sessions and generations the beginning is enough

  --json           for programs: one JSON value; of tail, one on each line
  -n <lines>       of tail: lines shown of what was before (20)
  -y, --yes        of close: do not ask
  -h, --help       this text
  -v, --version    which build this is

The agent directory is PI_CODING_AGENT_DIR, or ~/.pi/agent.
Colours are used on a terminal only, and not where NO_COLOR is set.

Exit codes:
  0   done; of doctor: nothing was found; of tail: it ended with a result
  1   could not be done; of doctor: something was found;
      of tail: it ended without a result
  2   wrong usage
  3   could not look: the agent directory or this machine does not let us`

/** Exit codes, as the usage text states them. */
export const exit = { done: 0, failed: 1, wrongUsage: 2, couldNotLook: 3 } as const

export const commands = ['ls', 'show', 'tail', 'doctor', 'close'] as const
export type Command = (typeof commands)[number]

export type Invocation =
  | { readonly kind: 'help' | 'version' }
  | { readonly kind: 'wrong'; readonly why: string }
  | {
      readonly kind: 'command'
      readonly command: Command
      /** Named by `show`, `tail` and `close`, empty for the others. */
      readonly agent: string
      readonly json: boolean
      readonly yes: boolean
      /** Of what was before, shown by `tail`. */
      readonly lines: number
    }

/** Commands that are about one agent. */
const aboutOne: readonly Command[] = ['show', 'tail', 'close']
const defaultLines = 20
const linesMax = 10_000

/** Reads a command line. What is not meant for a command is wrong, never passed over. */
export function parseInvocation(argv: readonly string[]): Invocation {
  let parsed: ReturnType<typeof parse>
  try {
    parsed = parse(argv)
  } catch (error) {
    return wrong((error as Error).message)
  }
  const { values, positionals } = parsed
  if (values.version) return { kind: 'version' }
  if (values.help) return { kind: 'help' }
  const [command, agent, ...more] = positionals
  if (command === undefined) return wrong('A command is missing.')
  if (!isCommand(command)) return wrong(`Unknown command: ${command}.`)
  const takesAgent = aboutOne.includes(command)
  if (takesAgent && !agent) return wrong(`drover ${command} needs an agent: see drover ls.`)
  const extra = takesAgent ? more[0] : agent
  if (extra !== undefined) return wrong(`drover ${command} does not take ${extra}.`)
  if (values.lines !== undefined && command !== 'tail') return wrong('-n is for drover tail alone.')
  if (values.yes !== undefined && command !== 'close')
    return wrong('--yes is for drover close alone.')
  const lines = values.lines === undefined ? defaultLines : countIn(values.lines)
  if (lines === undefined) return wrong(`-n takes a number from 0 to ${linesMax}.`)
  return {
    kind: 'command',
    command,
    agent: agent ?? '',
    json: values.json === true,
    yes: values.yes === true,
    lines,
  }
}

const wrong = (why: string): Invocation => ({ kind: 'wrong', why })

const isCommand = (word: string): word is Command => (commands as readonly string[]).includes(word)

function countIn(text: string): number | undefined {
  return /^\d{1,5}$/.test(text) && Number(text) <= linesMax ? Number(text) : undefined
}

function parse(argv: readonly string[]) {
  return parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      json: { type: 'boolean' },
      lines: { type: 'string', short: 'n' },
      yes: { type: 'boolean', short: 'y' },
      help: { type: 'boolean', short: 'h' },
      version: { type: 'boolean', short: 'v' },
    },
  })
}
