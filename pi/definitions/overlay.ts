import type { Diagnostic } from './diagnostic.ts'
import type { DefinitionFields, FieldName } from './fields.ts'
import type { DefinitionFragment } from './parse.ts'

/** Where a definition file lies. Later ones win. */
export const sources = ['bundled', 'global', 'project'] as const
export type Source = (typeof sources)[number]

/** The place a value came from. */
export interface Origin {
  readonly source: Source
  readonly path: string
  readonly line: number
}

/** One file of a definition. */
export interface Layer {
  readonly source: Source
  readonly fragment: DefinitionFragment
  /** Directory of the file itself, links followed: what its body refers to lies beside it. */
  readonly directory: string
  readonly diagnostics: readonly Diagnostic[]
}

/** A definition as it is in effect. */
export interface Definition extends DefinitionFields {
  readonly name: string
  readonly enabled: boolean
  /** The system prompt text, `@path` lines not yet expanded. */
  readonly body: string
  /** What relative paths in the body start from. */
  readonly bodyDirectory: string
  /** The file that had the last word. */
  readonly source: Source
  readonly path: string
  /** Every file that took part, lowest first. */
  readonly files: readonly { readonly source: Source; readonly path: string }[]
  readonly origins: Readonly<Partial<Record<FieldName | 'body', Origin>>>
  /** Why it is listed but cannot be used. */
  readonly unavailable?: string
  readonly diagnostics: readonly Diagnostic[]
}

/**
 * Lays files of one name over each other, lowest first. A field that is there replaces the lower one whole, an absent
 * field and an empty body keep it. No layer can take back that a role is unavailable: its keys are still there.
 */
export function overlay(lowest: Layer, ...higher: readonly Layer[]): Definition {
  const layers = [lowest, ...higher]
  const top = layers.at(-1) ?? lowest
  const withBody = layers.findLast(({ fragment }) => fragment.body !== '') ?? lowest
  const unavailable = layers.find(({ fragment }) => fragment.unavailable !== undefined)?.fragment
    .unavailable
  const fields: DefinitionFields = Object.assign(
    {},
    ...layers.map(({ fragment }) => fragment.fields),
  )
  return {
    ...fields,
    name: top.fragment.name,
    enabled: fields.enabled ?? true,
    body: withBody.fragment.body,
    bodyDirectory: withBody.directory,
    source: top.source,
    path: top.fragment.path,
    files: layers.map(({ source, fragment }) => ({ source, path: fragment.path })),
    origins: Object.assign({}, ...layers.map(originsOf)),
    ...(unavailable === undefined ? {} : { unavailable }),
    diagnostics: layers.flatMap(({ diagnostics }) => diagnostics),
  }
}

function originsOf({ source, fragment }: Layer): Record<string, Origin> {
  const { path, lines, body, bodyLine } = fragment
  const origin = (line: number): Origin => ({ source, path, line })
  const fields = Object.entries(lines).map(([field, line]) => [field, origin(line)] as const)
  return Object.fromEntries(body === '' ? fields : [...fields, ['body', origin(bodyLine)]])
}
