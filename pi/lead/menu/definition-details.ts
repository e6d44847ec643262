import {
  type Definition,
  type Diagnostic,
  expandBody,
  type FieldName,
  keyTable,
  type Origin,
} from '../../definitions/index.ts'

type Source = Origin['source']

/** What stands for a value that nobody set. */
const unset: Readonly<Partial<Record<FieldName, string>>> = {
  model: 'that of the session',
  thinking: 'that of the session',
  enabled: 'yes',
}
const alwaysShown: readonly string[] = Object.keys(unset)

/** All that is in effect for a definition, and where each value came from. Where Drover itself is installed is nobody's business. */
export function definitionDetails(definition: Definition): string {
  const { name, description, body, origins, unavailable, diagnostics } = definition
  const fields = (Object.keys(keyTable) as (keyof typeof keyTable)[]).flatMap((key) =>
    key === 'name' || key === 'description' ? [] : fieldLine(definition, key),
  )
  const expanded = expandBody(definition)
  const bodyLines = body === '' ? 0 : body.split('\n').length
  return [
    `${name} (${sourcesOf(definition)})`,
    ...(description === undefined ? [] : [description]),
    ...(unavailable === undefined ? [] : [`Cannot be used: ${unavailable}`]),
    '',
    ...fields,
    `text: ${bodyLines} lines${origins.body === undefined ? '' : `  (${place(origins.body)})`}`,
    ...('problem' in expanded ? [`  ${hidden(definition, expanded.problem)}`] : []),
    ...(diagnostics.length === 0
      ? []
      : ['', ...diagnostics.map((each) => diagnosticLine(each, sourceOf(definition, each.path)))]),
    '',
    'For future delegations and continuations; agents that run keep what they have.',
  ].join('\n')
}

/** The files that make it, lowest first, by where they lie. */
export const sourcesOf = ({ files }: Definition): string =>
  files.map(({ source }) => source).join(' + ')

export function place({ source, path, line }: Origin): string {
  return source === 'bundled' ? 'bundled' : `${source}: ${path}:${line}`
}

export function diagnosticLine({ path, line, message }: Diagnostic, source: Source): string {
  const where = source === 'bundled' ? 'bundled' : path
  return `${where}${line === undefined ? '' : `:${line}`}: ${message}`
}

function fieldLine(definition: Definition, field: FieldName): string[] {
  const origin = definition.origins[field]
  const value = definition[field]
  if (origin === undefined || value === undefined)
    return alwaysShown.includes(field) ? [`${field}: ${unset[field]}  (default)`] : []
  return [`${field}: ${shown(value)}  (${place(origin)})`]
}

function shown(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.join(', ')
  return typeof value === 'string' ? value : JSON.stringify(value)
}

const sourceOf = ({ files, source }: Definition, path: string): Source =>
  files.find((file) => file.path === path)?.source ?? source

/** A text with the place of the definitions that come with Drover taken out. */
function hidden({ files }: Definition, text: string): string {
  const bundled = files.find(({ source }) => source === 'bundled')?.path
  return bundled === undefined ? text : text.replaceAll(bundled, 'bundled')
}
