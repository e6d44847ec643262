import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { builtinTools, type Definition, expandBody } from './definitions/index.ts'
import { pathFrom } from './paths.ts'
import { limitsTools, type Withheld, withheld, withheldByName, withheldText } from './permission.ts'
import { askOwnerToolName } from './tool-names.ts'

/** What the host knows that a definition refers to. */
export interface HostKnowledge {
  /** Tools a session without limits has. */
  readonly activeTools: readonly string[]
  /** The file of a skill, by its name. */
  readonly findSkill: (name: string) => string | undefined
  /** Instruction files a session in the agent's directory would be given. */
  readonly contextFiles: () => readonly {
    readonly path: string
    readonly content: string
    readonly isGlobal: boolean
  }[]
}

/** How a definition limits and instructs the host of its agent. */
export interface DefinitionFlags {
  readonly systemPrompt: string
  readonly systemPromptMode: 'append' | 'replace'
  readonly flags: readonly string[]
  /** Whether extensions of the lead's own command line go on to the agent. */
  readonly inheritsExtensions: boolean
}

/** What a definition asks for that cannot be had. */
export interface DefinitionProblem {
  readonly problem: string
}

/**
 * The command line flags that make a definition true for an agent's Pi. Never widens: what limits and cannot be
 * carried over is a problem.
 *
 * @param ownTools tools of ours that this agent has whatever its limits
 * @param parent the definition of the agent that delegates, if an agent does: its permission binds its children
 */
export function definitionFlags(
  definition: Definition,
  host: HostKnowledge,
  ownTools: readonly string[],
  parent?: Definition,
): DefinitionFlags | DefinitionProblem {
  const body = expandBody(definition)
  if ('problem' in body) return body
  const skills = skillFlags(definition, host)
  if ('problem' in skills) return skills
  const context = contextOf(definition, host)
  const tools = toolFlags(definition, parent, host, ownTools)
  const why = tools.withheld.length === 0 ? [] : [withheldText(tools.withheld)]
  return {
    systemPrompt: [body.text, ...why, ...context.texts].join('\n\n'),
    systemPromptMode: definition.systemPromptMode ?? 'append',
    flags: [...tools.flags, ...skills.flags, ...extensionFlags(definition), ...context.flags],
    inheritsExtensions: !isIsolated(definition),
  }
}

function toolFlags(
  definition: Definition,
  parent: Definition | undefined,
  { activeTools }: HostKnowledge,
  ownTools: readonly string[],
): { readonly flags: string[]; readonly withheld: readonly Withheld[] } {
  const { tools, excludeTools = [], noTools, noBuiltinTools } = definition
  const permitting = parent === undefined ? [definition] : [definition, parent]
  const isLimited =
    tools !== undefined ||
    excludeTools.length > 0 ||
    noTools ||
    noBuiltinTools ||
    limitsTools(permitting)
  if (!isLimited) return { flags: [], withheld: [] }
  const wanted = noTools ? [] : (tools ?? activeTools)
  const excluded = new Set([...excludeTools, ...(noBuiltinTools ? builtinTools : []), ...ownTools])
  // A parent from which a tool is withheld does not have it either; its child is told of it all the same.
  const known = noTools ? [] : (tools ?? new Set([...activeTools, ...builtinTools]))
  const taken = [...known].flatMap((name) =>
    excluded.has(name) ? [] : (withheld(name, permitting) ?? []),
  )
  const kept = wanted.filter(
    (name) => !excluded.has(name) && !taken.some(({ tool }) => tool === name),
  )
  // To ask is had whatever the limits; to delegate may be taken away, by name.
  const limitable = ownTools.filter((name) => name !== askOwnerToolName)
  const ownTaken = limitable.flatMap((name) => withheldByName(name, permitting) ?? [])
  const takenAway = new Set([
    ...ownTaken.map(({ tool }) => tool),
    ...limitable.filter((name) => excludeTools.includes(name)),
  ])
  const own = ownTools.filter((name) => !takenAway.has(name))
  const all = [...new Set([...kept, ...own])]
  return {
    flags: all.length === 0 ? ['--no-tools'] : ['--tools', all.join(',')],
    withheld: [...taken, ...ownTaken],
  }
}

/** The file or folder a skill of a definition is read from; undefined where there is none. */
export function skillPath(
  skill: string,
  { bodyDirectory }: Definition,
  { findSkill }: Pick<HostKnowledge, 'findSkill'>,
): string | undefined {
  const path = /[/\\]|^~/.test(skill) ? pathFrom(bodyDirectory, skill) : findSkill(skill)
  return path !== undefined && existsSync(path) ? path : undefined
}

function skillFlags(
  definition: Definition,
  host: HostKnowledge,
): { readonly flags: string[] } | DefinitionProblem {
  const { name, skills, noSkills, inheritSkills } = definition
  if (noSkills) return { flags: ['--no-skills'] }
  const flags = (inheritSkills ?? skills === undefined) ? [] : ['--no-skills']
  for (const skill of skills ?? []) {
    const path = skillPath(skill, definition, host)
    if (path === undefined)
      return { problem: `definition ${name} names the skill ${skill}, which is not there.` }
    flags.push('--skill', path)
  }
  return { flags }
}

const isIsolated = ({ extensions, noExtensions }: Definition): boolean =>
  noExtensions === true || extensions !== undefined

function extensionFlags(definition: Definition): string[] {
  if (!isIsolated(definition)) return []
  const { extensions = [], noExtensions, bodyDirectory } = definition
  const named = noExtensions ? [] : extensions
  return ['--no-extensions', ...named.flatMap((source) => ['-e', sourceOf(source, bodyDirectory)])]
}

/** A path becomes absolute; a package source (npm:, git:) stays as it is. */
function sourceOf(source: string, base: string): string {
  const path = pathFrom(base, source)
  return existsSync(path) ? path : source
}

function contextOf(
  { inheritProjectContext = true, inheritGlobalContext = true }: Definition,
  { contextFiles }: HostKnowledge,
): { readonly flags: string[]; readonly texts: string[] } {
  if (inheritProjectContext && inheritGlobalContext) return { flags: [], texts: [] }
  // The host takes all instruction files or none, so the half that is wanted goes into the prompt.
  const wanted = contextFiles().filter(({ isGlobal }) =>
    isGlobal ? inheritGlobalContext : inheritProjectContext,
  )
  return {
    flags: ['--no-context-files'],
    texts: wanted.map(({ path, content }) => `## ${path}\n\n${content}`),
  }
}

/** Where instruction files of the person lie, for all projects. */
export const isGlobalContext = (agentDirectory: string, path: string): boolean =>
  ['AGENTS.md', 'AGENTS.MD', 'CLAUDE.md', 'CLAUDE.MD'].some(
    (name) => path === join(agentDirectory, name),
  )
