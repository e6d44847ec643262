import { join } from 'node:path'
import {
  type Definition,
  type EditableField,
  editableFields,
  editDefinition,
  fileBytesMax,
  newOverride,
  thinkingLevels,
} from '../../definitions/index.ts'
import { hasThinkingLevel } from '../../host.ts'
import type { Choice } from './asking.ts'
import type { MenuContext } from './context.ts'
import { place } from './definition-details.ts'

/** The person's own file of a definition, for all projects. */
export const globalFile = ({ files }: Definition): string | undefined =>
  files.find(({ source }) => source === 'global')?.path

/** Asks for a value of one field and writes it into the global file. */
export async function changeField(
  menu: MenuContext,
  definition: Definition,
  field: EditableField,
): Promise<void> {
  const { ask } = menu
  if (definition.files.every(({ source }) => source === 'project')) {
    ask.tell(
      `${definition.name} is this project's own. A global file of that name would be a definition everywhere; change ${definition.path} by hand.`,
      'warning',
    )
    return
  }
  const value = await askers[field](menu, definition)
  if (value !== undefined) await writeField(menu, definition, field, value)
}

/** Takes a field out of the global file: what is below it counts again. */
export async function resetField(menu: MenuContext, definition: Definition): Promise<void> {
  const file = globalFile(definition)
  if (file === undefined) {
    menu.ask.tell(`${definition.name} has no global file; there is nothing to reset.`)
    return
  }
  const isOverride = definition.files.some(({ source }) => source === 'bundled')
  const below = isOverride ? 'the bundled value counts again' : 'the default counts again'
  const field = await menu.ask.choose(
    `Reset a field of ${definition.name}: ${below}\n${file}`,
    editableFields.map((value) => ({ label: value, value })),
  )
  if (field !== undefined) await writeField(menu, definition, field, undefined)
}

type Asker = (menu: MenuContext, definition: Definition) => Promise<string | undefined>

const askers: Readonly<Record<EditableField, Asker>> = {
  model: askModel,
  thinking: ({ ask, ctx }, definition) =>
    ask.choose(
      `Thinking of ${definition.name}${hiddenBy(definition, 'thinking')}`,
      thinkingLevels
        .filter((level) => hasThinkingLevel(ctx, level))
        .map((value) => marked(value, definition.thinking)),
    ),
  enabled: ({ ask }, definition) =>
    ask.choose(`Enabled: ${definition.name}${hiddenBy(definition, 'enabled')}`, [
      { ...marked('true', String(definition.enabled)), label: 'Yes: agents can be of it' },
      { label: 'No: nothing can be delegated to it', value: 'false' },
    ]),
}

async function askModel(menu: MenuContext, definition: Definition): Promise<string | undefined> {
  const { ask, ctx } = menu
  const own = ctx.model && `${ctx.model.provider}/${ctx.model.id}`
  const known = ctx.modelRegistry.getAvailable().map(({ provider, id }) => `${provider}/${id}`)
  const ids = [...new Set([...(own === undefined ? [] : [own]), ...known.sort()])]
  const other = { label: 'Write provider/id…', value: 'write' as const }
  const chosen = await ask.choose<{ readonly id: string } | 'write'>(
    `Model of ${definition.name}${hiddenBy(definition, 'model')}`,
    [other, ...ids.map((id) => ({ label: marked(id, definition.model).label, value: { id } }))],
  )
  if (chosen === undefined || chosen !== 'write') return chosen?.id
  const id = await ask.write(`Model of ${definition.name}: provider/id as Pi lists it`, own ?? '')
  if (id === undefined) return undefined
  const slash = id.indexOf('/')
  if (ctx.modelRegistry.find(id.slice(0, slash), id.slice(slash + 1)) !== undefined) return id
  ask.tell(`This Pi knows no model ${id}. Nothing was changed.`, 'warning')
  return undefined
}

const marked = (value: string, now: string | undefined): Choice<string> => ({
  label: value === now ? `${value} ✓` : value,
  value,
})

async function writeField(
  menu: MenuContext,
  definition: Definition,
  field: EditableField,
  value: string | undefined,
): Promise<void> {
  const { ask, editor, agentDirectory } = menu
  const { name } = definition
  const path = globalFile(definition) ?? join(agentDirectory, 'agents', `${name}.md`)
  await editor.change(path, (text) => edited(path, text, field, value))
  const { definitions } = await menu.delegation.roster(menu.ctx)
  const now = definitions.find((each) => each.name === name)
  ask.tell(outcome(name, field, value, path, now), isHidden(now, field) ? 'warning' : 'info')
}

/** @throws Error - why the file stays as it is */
function edited(
  path: string,
  text: string | undefined,
  field: EditableField,
  value: string | undefined,
): string {
  if (text === undefined && value === undefined) throw new Error(`${path} is not there any more.`)
  const edit =
    text === undefined
      ? newOverride(path, field, value ?? '')
      : editDefinition(text, path, field, value)
  const problem =
    'problem' in edit
      ? edit.problem
      : Buffer.byteLength(edit.text) > fileBytesMax
        ? `it would be larger than ${fileBytesMax} bytes`
        : undefined
  if ('problem' in edit || problem !== undefined)
    throw new Error(`${path} was not changed: ${problem}.`)
  return edit.text
}

function outcome(
  name: string,
  field: EditableField,
  value: string | undefined,
  path: string,
  now: Definition | undefined,
): string {
  const done = value === undefined ? `${field} is reset` : `${field} is ${value}`
  const hidden = now === undefined ? '' : hiddenBy(now, field)
  return `${name}: ${done} (global: ${path}). For future delegations and continuations; agents that run keep what they have.${hidden}`
}

const isHidden = (definition: Definition | undefined, field: EditableField): boolean =>
  definition?.origins[field]?.source === 'project'

/** Said before and after a change that this project takes no notice of. */
function hiddenBy(definition: Definition, field: EditableField): string {
  const origin = definition.origins[field]
  if (origin === undefined || !isHidden(definition, field)) return ''
  return `\nIn this project ${field} stays ${definition[field]}: its own definition says so (${place(origin)}).`
}
