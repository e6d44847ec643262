import type { ExtensionAPI, ExtensionCommandContext } from '@mariozechner/pi-coding-agent'
import type { AutocompleteItem } from '@mariozechner/pi-tui'
import type { World } from '../compose.ts'
import { shownText } from '../shown.ts'
import type { Delegation } from './delegation.ts'
import { Asking } from './menu/asking.ts'
import type { AgentView, MenuContext } from './menu/context.ts'
import { definitionsMenu } from './menu/definitions.ts'
import { layoutMenu, placements, setPlacement } from './menu/layout.ts'
import { agentsMenu, orSay } from './menu/menu.ts'
import { stopAll } from './menu/stop.ts'

const agentsCommand = 'agents'

/** What the person of a lead manages. `ended` is aborted with the session. */
export interface Lead {
  readonly world: World
  readonly delegation: Delegation
  readonly ended: AbortSignal
}

const forms: readonly { readonly text: string; readonly description: string }[] = [
  { text: 'definitions', description: 'What agents there are, and their models' },
  { text: 'placement', description: 'Where panes of new agents open' },
  ...placements.map((each) => ({
    text: `placement ${each}`,
    description: `New agents open as ${each}`,
  })),
  { text: 'stop', description: 'Stop this turn and all agents' },
]

/**
 * Gives the person `/agents`.
 *
 * @param lead what is managed here, or why nothing is
 * @param viewAgent shows an agent that has no pane
 */
export function registerAgentsCommand(
  pi: ExtensionAPI,
  lead: () => Lead | string,
  viewAgent?: AgentView,
): void {
  let close = () => {}
  pi.registerCommand(agentsCommand, {
    description: 'Agents: running, definitions, layout, message limits, stop all',
    getArgumentCompletions: completions,
    async handler(args, ctx) {
      const found = ctx.hasUI ? lead() : 'It asks questions, and nobody could answer them here.'
      if (typeof found === 'string')
        return sayWhyNot(`/${agentsCommand} does nothing here. ${found}`, ctx)
      const { world, delegation, ended } = found
      close() // a menu that is open gives way: of two, 0.73.1 would never end the first
      const own = new AbortController()
      close = () => own.abort()
      const ask = new Asking(ctx.ui, world.dialogs, AbortSignal.any([own.signal, ended]))
      const { editor, agentDirectory } = world
      const menu: MenuContext = { ask, ctx, delegation, editor, agentDirectory, viewAgent }
      await orSay(menu, partFor(args))
    },
  })
}

function partFor(args: string): (menu: MenuContext) => Promise<void> {
  const [name = '', value, ...more] = args.trim().split(/\s+/)
  const placement = placements.find((each) => each === value)
  if (name === '') return agentsMenu
  if (value === undefined && name === 'definitions') return definitionsMenu
  if (value === undefined && name === 'stop') return stopAll
  if (value === undefined && name === 'placement') return layoutMenu
  if (name === 'placement' && placement !== undefined && more.length === 0)
    return (menu) => setPlacement(menu, placement)
  return async ({ ask }) =>
    ask.tell(
      `/${agentsCommand} ${args.trim()} is not known. There is /${agentsCommand} alone, and with ${forms.map(({ text }) => text).join(', ')}.`,
      'warning',
    )
}

function completions(prefix: string): AutocompleteItem[] | null {
  const typed = prefix.trimStart()
  const found = forms.filter(({ text }) => text.startsWith(typed))
  return found.length === 0
    ? null
    : found.map(({ text, description }) => ({ value: text, label: text, description }))
}

function sayWhyNot(why: string, ctx: ExtensionCommandContext): void {
  if (ctx.hasUI) ctx.ui.notify(shownText(why), 'warning')
  else console.error(shownText(why))
}
