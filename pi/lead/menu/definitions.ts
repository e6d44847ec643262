import type {
  Definition,
  EditableField,
  ExcludedDefinition,
  Roster,
} from '../../definitions/index.ts'
import type { Choice } from './asking.ts'
import type { MenuContext } from './context.ts'
import { definitionDetails, diagnosticLine, sourcesOf } from './definition-details.ts'
import { changeField, globalFile, resetField } from './definition-fields.ts'

/** Every definition there is, those that cannot be used too. */
export async function definitionsMenu(menu: MenuContext): Promise<void> {
  for (;;) {
    const roster = await menu.delegation.roster(menu.ctx)
    const name = await menu.ask.choose(overview(roster), choices(roster))
    if (name === undefined) return
    await oneDefinition(menu, name)
  }
}

function overview({ directories }: Roster): string {
  const untrusted = directories.find(({ state }) => state === 'untrusted')
  return [
    'Definitions',
    'Changes count for future delegations and continuations; agents that run keep what they have.',
    ...(untrusted === undefined
      ? []
      : [`Not read, because this project is not trusted: ${untrusted.path}`]),
  ].join('\n')
}

function choices({ definitions, excluded }: Roster): readonly Choice<string>[] {
  const shut = [...new Set(excluded.map(({ name }) => name))]
  return [
    ...definitions.map((definition) => ({ label: line(definition), value: definition.name })),
    ...shut.map((name) => ({ label: `${name} · cannot be read`, value: name })),
  ]
}

function line(definition: Definition): string {
  const { name, model, thinking, enabled, unavailable } = definition
  return [
    name,
    sourcesOf(definition),
    ...(model === undefined ? [] : [model]),
    ...(thinking === undefined ? [] : [`thinking ${thinking}`]),
    ...(enabled ? [] : ['off']),
    ...(unavailable === undefined ? [] : ['unavailable']),
  ].join(' · ')
}

type Step = 'details' | EditableField | 'reset'

/** Read afresh each time it is shown: its files may have changed while the menu stood open. */
async function oneDefinition(menu: MenuContext, name: string): Promise<void> {
  for (;;) {
    const { definitions, excluded } = await menu.delegation.roster(menu.ctx)
    const definition = definitions.find((each) => each.name === name)
    if (definition === undefined) return notUsable(menu, name, excluded)
    const step = await menu.ask.choose<Step>(titleOf(definition), [
      { label: 'Details', value: 'details' },
      { label: `Model: ${definition.model ?? 'that of the session'}`, value: 'model' },
      { label: `Thinking: ${definition.thinking ?? 'that of the session'}`, value: 'thinking' },
      { label: `Enabled: ${definition.enabled ? 'yes' : 'no'}`, value: 'enabled' },
      { label: 'Reset a field…', value: 'reset' },
    ])
    if (step === undefined) return
    if (step === 'details') await menu.ask.show(await fresh(menu, name))
    else if (step === 'reset') await resetField(menu, definition)
    else await changeField(menu, definition, step)
  }
}

function titleOf(definition: Definition): string {
  const file = globalFile(definition)
  return [
    `${definition.name} (${sourcesOf(definition)})`,
    file === undefined ? 'Changes make a global override.' : `Changes go to ${file}`,
  ].join('\n')
}

async function fresh({ delegation, ctx }: MenuContext, name: string): Promise<string> {
  const { definitions } = await delegation.roster(ctx)
  const definition = definitions.find((each) => each.name === name)
  return definition === undefined ? `${name} is gone.` : definitionDetails(definition)
}

async function notUsable(
  { ask }: MenuContext,
  name: string,
  excluded: readonly ExcludedDefinition[],
): Promise<void> {
  const why = excluded.filter((each) => each.name === name)
  if (why.length === 0) return ask.tell(`${name} is not there any more.`, 'warning')
  const lines = why.flatMap(({ source, diagnostics }) =>
    diagnostics.map((diagnostic) => diagnosticLine(diagnostic, source)),
  )
  await ask.show([`${name} cannot be used until this is mended by hand:`, ...lines].join('\n'))
}
