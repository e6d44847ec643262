import { quoted } from './diagnostic.ts'
import { type Permission, type PermissionWord, permissionWords } from './fields.ts'

/** Tools and patterns one permission may name. */
const namesMax = 128

/** Reads a permission: a word, or a map of tools to words or to maps of patterns, of which the strictest counts. */
export function readPermission(
  value: unknown,
  toolName: (text: string) => { readonly value: string } | { readonly problem: string },
): { readonly value: Permission } | { readonly problem: string } {
  const word = wordOf(value)
  if (word !== undefined) return { value: word }
  if (!isMap(value)) return { problem: mustBe }
  const read = new Map<string, PermissionWord>()
  for (const [name, given] of Object.entries(value)) {
    const tool = name === '*' ? { value: name } : toolName(name)
    if ('problem' in tool) return tool
    if (tool.value === '__proto__') return { problem: 'must not hold a key __proto__' }
    const strict = wordOf(given) ?? strictestIn(given)
    if (strict === undefined) return { problem: `${quoted(name)}: ${mustBe}` }
    read.set(tool.value, strictest([strict, read.get(tool.value) ?? strict]))
  }
  if (read.size === 0 || read.size > namesMax) return { problem: `names 1 to ${namesMax} tools` }
  return { value: Object.fromEntries(read) }
}

const mustBe = `must be ${permissionWords.join(', ')}, or a map of tools to these`

function wordOf(value: unknown): PermissionWord | undefined {
  return permissionWords.find((word) => typeof value === 'string' && value.trim() === word)
}

function strictestIn(patterns: unknown): PermissionWord | undefined {
  if (!isMap(patterns)) return undefined
  const words = Object.values(patterns).map(wordOf)
  if (words.length === 0 || words.length > namesMax) return undefined
  return words.some((word) => word === undefined)
    ? undefined
    : strictest(words as readonly PermissionWord[])
}

function strictest(words: readonly PermissionWord[]): PermissionWord {
  return permissionWords.findLast((word) => words.includes(word)) ?? 'deny'
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
