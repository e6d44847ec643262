import { changeSetting, type Settings, type SettingsReading } from '../../settings.ts'
import type { MenuContext } from './context.ts'

type Placement = Settings['placement']

export const placements: readonly Placement[] = ['tab', 'split']

const meanings: Readonly<Record<Placement, string>> = {
  tab: 'new agents open together in a tab of their own',
  split: 'new agents open beside the pane of this session',
}

/** Where panes of new agents open. */
export async function layoutMenu(menu: MenuContext): Promise<void> {
  const { ask, delegation, ctx } = menu
  const reading = await delegation.settings(ctx)
  const now = reading.settings.placement
  const chosen = await ask.choose(
    `Layout: ${now} (${origins[reading.placementScope]})\nWhere panes of new agents open in herdr. Agents that run stay where they are.`,
    placements.map((value) => ({
      label: `${value}${value === now ? ' ✓' : ''}: ${meanings[value]}`,
      value,
    })),
  )
  if (chosen !== undefined) await setPlacement(menu, chosen)
}

const origins: Readonly<Record<SettingsReading['placementScope'], string>> = {
  default: 'the default',
  global: 'set for all projects',
  project: 'set by this project',
}

/** Writes it where it counts, and says where that is. */
export async function setPlacement(menu: MenuContext, value: Placement): Promise<void> {
  const { ask, delegation, editor, ctx } = menu
  const places = await delegation.settingsPlaces(ctx)
  const { scope, path } = await changeSetting(editor, places, 'placement', value)
  ask.tell(`Layout is ${value} for new agents (${scope}: ${path}).`)
}
