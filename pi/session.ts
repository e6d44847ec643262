import type {
  ExtensionAPI,
  ExtensionContext,
  SessionShutdownEvent,
  SessionStartEvent,
} from '@mariozechner/pi-coding-agent'
import type { ManagedAgent, OwnAgents } from '../actors/index.ts'
import type { Clock } from '../mailbox/index.ts'
import { openManaged, openPaneStatus, openWorld, type Serving, type World } from './compose.ts'
import type { HostGate } from './host.ts'
import { registerAgentTool } from './lead/agent-tool.ts'
import type { Lead } from './lead/agents-command.ts'
import { Delegation } from './lead/delegation.ts'
import { renderMail } from './lead/mail-renderer.ts'
import { StatusWidget, widgetKey } from './lead/widget.ts'
import { leftBehind } from './left-behind.ts'
import { ActivityLog } from './managed/activity.ts'
import { registerAskOwnerTool } from './managed/ask-owner-tool.ts'
import { BlockedSignal, ownerLabel } from './managed/blocked.ts'
import { boundErrorLog } from './managed/error-log.ts'
import { mailMessageType } from './messages.ts'
import { type Role, roleOf } from './role.ts'
import { shownText } from './shown.ts'

const notStarted = 'No session has been opened yet.'

type Managed = Extract<Role, { role: 'managed' }>

/** What Drover is in one session of the host: lead, agent, or bystander. Begins and ends with the session. */
export class DroverSession {
  readonly #pi: ExtensionAPI
  readonly #gate: HostGate
  #world: World | undefined
  #delegation: Delegation | undefined
  #serving: Serving | undefined
  #session: string | undefined
  #widget: StatusWidget | undefined
  #lead: Lead | string = notStarted
  #ends: (() => void)[] = []

  constructor(pi: ExtensionAPI, gate: HostGate) {
    this.#pi = pi
    this.#gate = gate
    pi.registerMessageRenderer(mailMessageType, renderMail)
    pi.registerShortcut(widgetKey, {
      description: 'Show or hide the agents of this session',
      handler: () => this.#widget?.toggle(),
    })
  }

  /** The end of the assignment this process serves, if it serves one. */
  get left(): Promise<void> | undefined {
    return this.#serving?.left
  }

  /** What this session may delegate, and its clock, for whoever shows its agents; undefined where it has none. */
  get shown(): { readonly agents: Delegation; readonly clock: Clock } | undefined {
    const clock = this.#world?.clock
    return this.#delegation && clock && { agents: this.#delegation, clock }
  }

  /** What the person manages here, or why nothing. */
  get lead(): Lead | string {
    return this.#lead
  }

  get #agent(): ManagedAgent | undefined {
    const agent = this.#serving?.agent
    return agent === 'leave' ? undefined : agent
  }

  async start({ previousSessionFile }: SessionStartEvent, ctx: ExtensionContext): Promise<void> {
    this.#gate.see(ctx)
    const session = ctx.sessionManager.getSessionId()
    if (this.#session === session) return // 0.73.1 announces a new RPC session twice
    await this.end('new')
    this.#session = session
    try {
      const world = openWorld()
      this.#world = world
      const role = roleOf(world.fs, world.processes, world.root, session)
      if (role.role === 'bystander') this.#standBy(role.why)
      else if (role.role === 'lead') await this.#beLead(world, ctx)
      else await this.#serve(world, ctx, role)
      const left = previousSessionFile && (await leftBehind(world, previousSessionFile))
      if (left) this.#tell(left)
    } catch (error) {
      this.#standBy(`Drover cannot work here: ${(error as Error).message}`)
    }
  }

  async end(reason: SessionShutdownEvent['reason']): Promise<void> {
    const agent = this.#agent
    if (agent !== undefined)
      await (reason === 'quit' || reason === 'reload' ? agent.stop() : agent.replaced())
    for (const end of this.#ends.splice(0)) end()
    try {
      await this.#delegation?.end()
    } finally {
      this.#world?.end() // or this process would lock itself out of its own session
      this.#world = undefined
      this.#delegation = undefined
      this.#serving = undefined
      this.#widget = undefined
      this.#session = undefined
      this.#lead = notStarted
    }
  }

  /** Tells the person, or the error output where there is none. */
  #tell(text: string): void {
    const shown = shownText(text)
    if (this.#gate.ctx?.hasUI !== true) console.error(shown)
    else this.#gate.whenShown(() => this.#gate.ctx?.ui.notify(shown, 'warning'))
  }

  #standBy(why: string): void {
    this.#lead = why
    this.#tell(why)
  }

  async #beLead(world: World, ctx: ExtensionContext): Promise<void> {
    const session = ctx.sessionManager.getSessionId()
    const delegation = new Delegation(this.#pi, world, this.#gate, {
      rootSession: session,
      depth: 0,
    })
    this.#delegation = delegation
    const ended = new AbortController()
    this.#ends.push(() => ended.abort())
    this.#lead = { world, delegation, ended: ended.signal }
    registerAgentTool(this.#pi, delegation, ctx)
    if (ctx.hasUI) this.#showAgents(world, delegation)
    this.#gate.holdOpening()
    await delegation.resume(ctx)
  }

  #showAgents({ clock }: World, delegation: Delegation): void {
    const widget = new StatusWidget(clock, this.#gate, delegation)
    this.#widget = widget
    this.#ends.push(() => widget.end())
  }

  async #serve(world: World, ctx: ExtensionContext, { generation, paths }: Managed): Promise<void> {
    const { root: rootSession, depth } = generation
    this.#lead = `This session is the agent ${generation.identity.label}; it is managed from the session that leads it.`
    const delegation = new Delegation(this.#pi, world, this.#gate, {
      rootSession,
      depth,
      definition: generation.definition,
    })
    if (ctx.hasUI) this.#gate.holdOpening() // a person's prompt goes first, and the screen is drawn
    const ownAgents = delegation.mayDelegate(ctx) ? this.#delegating(delegation, ctx) : undefined
    const activity = new ActivityLog(this.#pi, world.clock, paths)
    const signal = new BlockedSignal(this.#pi, (isOpen) => activity.dialog(isOpen))
    const pane = openPaneStatus(world)
    this.#ends.push(() => {
      signal.end()
      pane?.show(undefined)
    })
    this.#ends.push(boundErrorLog(world.clock, paths.errorLog))
    registerAskOwnerTool(this.#pi, () => this.#agent, world.agentDirectory)
    this.#serving = await openManaged(world, this.#pi, this.#gate, {
      generation,
      paths,
      ownAgents,
      onStatus: (status) => {
        activity.show(status)
        const isAsking = status.waiting === 'owner'
        if (signal.show(isAsking)) pane?.show(isAsking ? ownerLabel : undefined)
      },
    })
  }

  #delegating(delegation: Delegation, ctx: ExtensionContext): OwnAgents {
    this.#delegation = delegation
    registerAgentTool(this.#pi, delegation, ctx)
    return delegation.ownAgents
  }
}
