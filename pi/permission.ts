import type { Definition, PermissionWord } from './definitions/index.ts'
import { askOwnerToolName } from './tool-names.ts'

/** Tools that change nothing and run nothing: a permission without their name is not about them. */
const harmlessTools: readonly string[] = ['read', 'grep', 'find', 'ls']

/** A tool an agent does not get, and why. */
export interface Withheld {
  readonly tool: string
  readonly word: Exclude<PermissionWord, 'allow'>
  readonly definition: string
}

type Source = Pick<Definition, 'name' | 'permission'>

/** Whether some permission of these definitions may take a tool away. */
export function limitsTools(definitions: readonly Source[]): boolean {
  return definitions.some(({ permission = 'allow' }) =>
    typeof permission === 'string'
      ? permission !== 'allow'
      : Object.values(permission).some((word) => word !== 'allow'),
  )
}

/**
 * Why a tool is withheld from an agent: the strictest word counts. Nobody sits before an agent to be asked, so what
 * may be used only after asking may not be used.
 *
 * @param definitions the agent's own, then its parent's
 */
export function withheld(tool: string, definitions: readonly Source[]): Withheld | undefined {
  for (const word of ['deny', 'ask'] as const) {
    const by = definitions.find((definition) => wordFor(tool, definition) === word)
    if (by !== undefined) return { tool, word, definition: by.name }
  }
  return undefined
}

/** The same, for a tool that only a permission with its name is about. */
export function withheldByName(tool: string, definitions: readonly Source[]): Withheld | undefined {
  const naming = definitions.filter(
    ({ permission = 'allow' }) => typeof permission === 'object' && Object.hasOwn(permission, tool),
  )
  return withheld(tool, naming)
}

function wordFor(tool: string, { permission = 'allow' }: Source): PermissionWord {
  const words = typeof permission === 'string' ? { '*': permission } : permission
  if (Object.hasOwn(words, tool)) return words[tool] ?? 'allow'
  return harmlessTools.includes(tool) ? 'allow' : (words['*'] ?? 'allow')
}

/** What an agent is told of the tools it does not get. */
export function withheldText(all: readonly Withheld[]): string {
  const sources = [...new Set(all.map(sourceOf))]
  const lists = sources.map((source) => {
    const tools = all.filter((each) => sourceOf(each) === source).map(({ tool }) => tool)
    return `${tools.join(', ')} (${source})`
  })
  return `Tools withheld from you: ${lists.join('; ')}. Nobody sits before this session who could allow them. If you cannot do your task without them, put what you need to your owner with ${askOwnerToolName}.`
}

function sourceOf({ word, definition }: Withheld): string {
  return `permission ${word} of the definition ${definition}`
}
