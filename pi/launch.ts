import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { generationVariable, type Launch } from '../actors/index.ts'
import type { DefinitionFlags } from './definition-flags.ts'

/** Found from this file's place, as source or built. */
export const packageDirectory: string = findPackage(dirname(fileURLToPath(import.meta.url)))

function findPackage(from: string): string {
  return existsSync(join(from, 'package.json')) ? from : findPackage(dirname(from))
}

const manifest = JSON.parse(readFileSync(join(packageDirectory, 'package.json'), 'utf8')) as {
  readonly name: string
  readonly version: string
}

/** Which build wrote a record; for people. */
export const build: string = `${manifest.name}@${manifest.version}`

/** The command an agent's process is started with: it waits there until the assignment is over. */
export const serveCommand = 'drover-serve'

/** What of a definition and its lead decides how an agent's process is started. */
export interface LaunchPlan extends DefinitionFlags {
  /** `provider/id`, with `:thinking` where a level was chosen. */
  readonly model?: string
  /** What a host is told that would ask the person about the project otherwise. */
  readonly trustFlags: readonly string[]
  /** Where a runner that shows agents puts it. */
  readonly placement: 'tab' | 'split'
}

/**
 * The command line of an agent: the host the lead runs in, and the extensions the lead was given. In a terminal that
 * is all; without one, the one word that makes it serve. Tasks and messages never travel on it.
 */
export function agentLaunch(plan: LaunchPlan): Launch {
  return ({ identity }, paths, surface) => {
    const prompt = `${paths.activity}/system-prompt.md`
    const cli = process.argv[1]
    if (cli === undefined) throw new Error('the command line of the lead does not name the host')
    return {
      command: process.execPath,
      args: [
        ...process.execArgv.filter((flag) => !flag.startsWith('--inspect')),
        cli,
        ...(surface === 'terminal' ? plan.trustFlags : ['-p']),
        ...['--session', identity.sessionFile],
        ...['-e', ownPackage],
        ...(plan.inheritsExtensions ? inheritedFlags(process.argv.slice(2), process.cwd()) : []),
        ...(plan.model === undefined ? [] : ['--model', plan.model]),
        ...plan.flags,
        ...[
          plan.systemPromptMode === 'append' ? '--append-system-prompt' : '--system-prompt',
          prompt,
        ],
        ...(surface === 'terminal' ? [] : [`/${serveCommand}`]),
      ],
      cwd: identity.cwd,
      env: childEnvironment(process.env, identity.generation),
      files: [{ path: prompt, text: plan.systemPrompt }],
      placement: plan.placement,
    }
  }
}

const ownPackage = realpathSync(packageDirectory)

/** Flags of the lead that say what is loaded at all. */
const inheritedSwitches = new Set(
  '--no-extensions -ne --no-skills -ns --no-prompt-templates -np --no-themes --no-context-files -nc --offline'.split(
    ' ',
  ),
)

/** What the lead's command line says about extensions and resources, made absolute; our own package left out. */
export function inheritedFlags(argv: readonly string[], cwd: string): string[] {
  const flags: string[] = []
  for (let i = 0; i < argv.length; i++) {
    const flag = argv[i] as string
    if (inheritedSwitches.has(flag)) flags.push(flag)
    if (flag !== '-e' && flag !== '--extension') continue
    const given = argv[++i]
    if (given === undefined) continue
    const path = resolve(cwd, given)
    // A source that is no path here (npm:, git:) goes on as it is.
    if (!existsSync(path)) flags.push('-e', given)
    else if (realpathSync(path) !== ownPackage) flags.push('-e', path)
  }
  return flags
}

const agentDirectoryVariable = 'PI_CODING_AGENT_DIR'

/** An agent works in a directory of its own: a relative path would lead it elsewhere. The host itself reads `~`. */
const fromAnywhere = (path: string): string => (/^~(\/|$)/.test(path) ? path : resolve(path))

/** What a child must not take for its own: whose pane the lead lives in, and whose child the lead is. */
const identityOfTheLead = /^(HERDR_|DROVER_AGENT$|PI_SUBAGENT_ID$)/

export function childEnvironment(own: NodeJS.ProcessEnv, generation: string): NodeJS.ProcessEnv {
  const kept = Object.entries(own).filter(([name]) => !identityOfTheLead.test(name))
  const options = own['NODE_OPTIONS']?.replace(/--inspect\S*/g, '').trim()
  const place = own[agentDirectoryVariable]
  return {
    ...Object.fromEntries(kept),
    ...(options !== undefined && { NODE_OPTIONS: options }),
    ...(place && { [agentDirectoryVariable]: fromAnywhere(place) }),
    PI_SUBAGENT_ID: generation,
    [generationVariable]: generation,
  }
}
