import { nearMatch } from './near.ts'

/** Pi's thinking levels. `max` exists only on newer hosts; whoever starts the agent checks it against the host. */
export const thinkingLevels = ['off', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const
export type ThinkingLevel = (typeof thinkingLevels)[number]

/** Pi's own tools. Written with other capitals they are still meant: a limit must not miss its tool. */
export const builtinTools: readonly string[] = [
  'read',
  'bash',
  'edit',
  'write',
  'grep',
  'find',
  'ls',
]

/** What a permission may say, from the loosest to the strictest. */
export const permissionWords = ['allow', 'ask', 'deny'] as const
export type PermissionWord = (typeof permissionWords)[number]

/** For all tools that can change things or run commands; or by tool, `*` being all of those that are not named. */
export type Permission = PermissionWord | Readonly<Record<string, PermissionWord>>

export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue }

/** What a definition may say about its agent. An absent field leaves the matter to Pi and to the lead. */
export interface DefinitionFields {
  readonly description?: string
  readonly enabled?: boolean
  readonly model?: string
  readonly thinking?: ThinkingLevel
  readonly systemPromptMode?: 'append' | 'replace'
  /** The only tools the agent has; empty means none. */
  readonly tools?: readonly string[]
  readonly excludeTools?: readonly string[]
  readonly noTools?: boolean
  readonly noBuiltinTools?: boolean
  /** Names or paths; empty means none. */
  readonly skills?: readonly string[]
  readonly noSkills?: boolean
  readonly inheritSkills?: boolean
  /** Paths or package sources; empty means none. */
  readonly extensions?: readonly string[]
  readonly noExtensions?: boolean
  /** The definitions this agent may delegate to; empty or absent means none. */
  readonly agents?: readonly string[]
  readonly inheritProjectContext?: boolean
  readonly inheritGlobalContext?: boolean
  readonly permission?: Permission
  /** Kept as written for those who know what they mean. */
  readonly evidence?: JsonValue
  readonly output?: JsonValue
  readonly blocking?: JsonValue
}

export type FieldName = keyof DefinitionFields
export type KeyName = 'name' | FieldName

/** How the value of a key is read; see values.ts. */
export type ValueKind =
  | 'name'
  | 'text'
  | 'model'
  | 'thinking'
  | 'prompt mode'
  | 'switch'
  | 'allowed tools'
  | 'excluded tools'
  | 'definition names'
  | 'sources'
  | 'permission'
  | 'opaque'

export interface KeyRule {
  readonly kind: ValueKind
  /** What follows from a value that cannot be read: the file is out, the definition is off, or the key is ignored. */
  readonly unreadable: 'exclude' | 'disable' | 'ignore'
  /** Spellings of other tools. Capitals, `-` and `_` make no difference and need no entry. */
  readonly aliases: readonly string[]
}

/** Every key a definition may have. Documentation, parser and tests read this one table. */
export const keyTable: Readonly<Record<KeyName, KeyRule>> = {
  name: { kind: 'name', unreadable: 'exclude', aliases: [] },
  description: { kind: 'text', unreadable: 'ignore', aliases: [] },
  enabled: { kind: 'switch', unreadable: 'disable', aliases: [] },
  model: { kind: 'model', unreadable: 'ignore', aliases: [] },
  thinking: { kind: 'thinking', unreadable: 'ignore', aliases: ['thinking-level'] },
  systemPromptMode: {
    kind: 'prompt mode',
    unreadable: 'ignore',
    aliases: ['system-prompt', 'prompt_mode'],
  },
  tools: { kind: 'allowed tools', unreadable: 'exclude', aliases: ['allowedTools'] },
  excludeTools: {
    kind: 'excluded tools',
    unreadable: 'exclude',
    aliases: ['deny-tools', 'disallowed_tools'],
  },
  noTools: { kind: 'switch', unreadable: 'exclude', aliases: [] },
  noBuiltinTools: { kind: 'switch', unreadable: 'exclude', aliases: [] },
  skills: { kind: 'sources', unreadable: 'exclude', aliases: ['skill'] },
  noSkills: { kind: 'switch', unreadable: 'exclude', aliases: [] },
  inheritSkills: { kind: 'switch', unreadable: 'ignore', aliases: [] },
  extensions: { kind: 'sources', unreadable: 'exclude', aliases: ['extension'] },
  noExtensions: { kind: 'switch', unreadable: 'exclude', aliases: [] },
  agents: { kind: 'definition names', unreadable: 'exclude', aliases: ['subagents'] },
  inheritProjectContext: { kind: 'switch', unreadable: 'ignore', aliases: [] },
  inheritGlobalContext: { kind: 'switch', unreadable: 'ignore', aliases: [] },
  permission: { kind: 'permission', unreadable: 'exclude', aliases: ['permissions'] },
  evidence: { kind: 'opaque', unreadable: 'ignore', aliases: [] },
  output: { kind: 'opaque', unreadable: 'ignore', aliases: [] },
  blocking: { kind: 'opaque', unreadable: 'ignore', aliases: [] },
}

/** Keys of older role files that chose another program. Such a role is shown and cannot be used. */
export const retiredKeys: readonly string[] = ['cli', 'cli-model']

export type KeyMeaning =
  | { readonly type: 'known'; readonly key: KeyName }
  | { readonly type: 'retired' }
  /** `limits` names the key that it may have been meant to be, where that key limits what an agent can do. */
  | { readonly type: 'unknown'; readonly limits?: string }

const keyNames = Object.keys(keyTable) as KeyName[]
const known = new Map<string, KeyName>(
  keyNames.flatMap((key) => [key, ...keyTable[key].aliases].map((as) => [plain(as), key] as const)),
)
const retired = new Set(retiredKeys.map(plain))
const limiting = new Map<string, KeyName>(
  [...known].filter(([, key]) => keyTable[key].unreadable === 'exclude' && key !== 'name'),
)

/** Says which key is meant. A slip of the pen in a limit is told apart, so that `tols: read` never means "all tools". */
export function meaningOf(key: string): KeyMeaning {
  const spelling = plain(key)
  const name = known.get(spelling)
  if (name !== undefined) return { type: 'known', key: name }
  if (retired.has(spelling)) return { type: 'retired' }
  if (spelling === '<<') return { type: 'unknown', limits: 'a merge of limits from elsewhere' }
  const near = limiting.get(nearMatch(spelling, limiting.keys(), spelling.length < 8 ? 1 : 2) ?? '')
  return near === undefined ? { type: 'unknown' } : { type: 'unknown', limits: near }
}

function plain(key: string): string {
  return key.toLowerCase().replace(/[-_\s]/g, '')
}
