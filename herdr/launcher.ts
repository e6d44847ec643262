import { closeSync, existsSync, openSync, unlinkSync, writeFileSync } from 'node:fs'
import type { LaunchCommand } from '../actors/index.ts'
import type { GenerationPaths } from '../mailbox/index.ts'

/** Longest line that is typed into a shell, bytes: some terminals cut what is longer. */
const lineBytesMax = 199

/** What a pane says of itself; an agent takes it from its pane, never from its owner. */
const ofThePane: readonly string[] = [
  ...['HERDR_ENV', 'HERDR_SOCKET_PATH', 'HERDR_BIN_PATH', 'HERDR_SESSION'],
  ...['HERDR_WORKSPACE_ID', 'HERDR_TAB_ID', 'HERDR_PANE_ID'],
  ...['TERM', 'COLORTERM', 'TERM_PROGRAM', 'TERM_PROGRAM_VERSION'],
]

/**
 * A private script that becomes an agent: it removes itself first, so that it runs once and that it is gone proves it
 * was run. What the agent says on its error output goes to its log, since a pane and its text vanish with the process.
 */
export class Launcher {
  readonly path: string

  /** @throws Error - it cannot be written */
  constructor(paths: GenerationPaths, command: LaunchCommand) {
    this.path = scriptPath(paths)
    for (const { path, text } of command.files)
      writeFileSync(path, text, { mode: 0o600, flag: 'wx' })
    closeSync(openSync(paths.errorLog, 'a', 0o600)) // or the mask of the server would make it readable for others
    writeFileSync(this.path, script(paths, command), { mode: 0o600, flag: 'wx' })
  }

  /** What is run: by exact argv, or typed into a shell. */
  get argv(): readonly string[] {
    return ['/bin/sh', this.path]
  }

  /**
   * One line for a shell of any kind. The space keeps it out of the history of many.
   *
   * @throws Error - it is too long to be typed
   */
  get line(): string {
    const line = ` exec /bin/sh ${/^[\w./-]+$/.test(this.path) ? this.path : quoted(this.path)}`
    if (Buffer.byteLength(line) <= lineBytesMax) return line
    throw new Error(
      `the path ${this.path} is too long to be typed into a shell; give Pi a shorter agent directory`,
    )
  }

  /** Whether nobody has run it yet. */
  get isWaiting(): boolean {
    return existsSync(this.path)
  }

  /** @returns see `withdrawLaunch` */
  withdraw(): boolean {
    return withdrawScript(this.path)
  }
}

const scriptPath = ({ activity }: GenerationPaths): string => `${activity}/launch.sh`

/** Takes a launch back. @returns whether it does nothing from here on; otherwise it has been run */
export const withdrawLaunch = (paths: GenerationPaths): boolean => withdrawScript(scriptPath(paths))

/** Who removes it decides. */
function withdrawScript(path: string): boolean {
  try {
    unlinkSync(path)
    return true
  } catch {
    return false
  }
}

function script(paths: GenerationPaths, { command, args, cwd, env }: LaunchCommand): string {
  const own = Object.entries(env).flatMap(([name, value]) =>
    value === undefined || ofThePane.includes(name) ? [] : [quoted(`${name}=${value}`)],
  )
  const words = [
    ...['exec', '/usr/bin/env', '-i'],
    ...ofThePane.map((name) => `\${${name}+"${name}=$${name}"}`),
    ...own,
    // By way of a shell: env takes a command with an = in it for one more variable.
    ...['/bin/sh', '-c', `'exec "$@"'`, 'sh'],
    ...[command, ...args].map(quoted),
  ]
  return [
    'rm -- "$0" || exit 1', // who removes it decides: this run, or who takes the launch back
    "[ -t 1 ] && printf '\\033[H\\033[2J\\033[3J'", // what was typed is of no interest to the person
    drain,
    `exec 2>>${quoted(paths.errorLog)}`,
    `cd -- ${quoted(cwd)} || exit 1`,
    words.join(' \\\n  '),
    '',
  ].join('\n')
}

/** A line that was typed again while the shell was busy waits in the terminal, and would be typed into the agent. */
const drain =
  '[ -t 0 ] && was=$(stty -g) && { stty -icanon -echo min 0 time 1; cat >/dev/null; stty "$was"; }'

/** A text as one word of a shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
