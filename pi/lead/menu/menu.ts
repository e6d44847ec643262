import { asFailure, failureText } from '../errors.ts'
import type { MenuContext } from './context.ts'
import { definitionsMenu } from './definitions.ts'
import { layoutMenu } from './layout.ts'
import { limitsMenu } from './message-limits.ts'
import { runningMenu } from './running.ts'
import { stopAll } from './stop.ts'

type Part = (menu: MenuContext) => Promise<void>

/** Opens the menu, until the person leaves it. */
export async function agentsMenu(menu: MenuContext): Promise<void> {
  for (;;) {
    const part = await menu.ask.choose<Part>('Agents', await parts(menu))
    if (part === undefined) return
    await orSay(menu, part)
    if (part === stopAll) return
  }
}

async function parts({ delegation, ctx }: MenuContext) {
  const { rows, below } = await delegation.agents(ctx)
  const { definitions } = await delegation.roster(ctx)
  const { settings } = await delegation.settings(ctx)
  const count = rows.length + below.length
  const usable = definitions.filter(({ enabled, unavailable }) => enabled && !unavailable).length
  return [
    { label: `Running (${count})`, value: runningMenu },
    { label: `Definitions (${usable} of ${definitions.length} in use)`, value: definitionsMenu },
    { label: `Layout (${settings.placement})`, value: layoutMenu },
    { label: 'Message limits', value: limitsMenu },
    { label: 'Stop all…', value: stopAll },
  ]
}

/** What fails in one part is said, and the menu goes on. */
export async function orSay(menu: MenuContext, part: Part): Promise<void> {
  try {
    await part(menu)
  } catch (error) {
    menu.ask.tell(failureText(asFailure(error, 'agents')), 'error')
  }
}
