import type { ExtensionAPI, ExtensionContext } from '@mariozechner/pi-coding-agent'
import type {
  CloseReport,
  Delegated,
  Descendant,
  Inspection,
  Launch,
  OwnAgents,
  Owner,
  OwnerRole,
  Row,
  Seen,
  Told,
} from '../../actors/index.ts'
import { noSuchAgent, nothingClosed, survey, untrusted } from '../../actors/index.ts'
import { type Attachment, limits, ownerPaths } from '../../mailbox/index.ts'
import { attach } from '../attachments.ts'
import { type AgentRunners, openOwner, openRunners, type World } from '../compose.ts'
import { skillPath } from '../definition-flags.ts'
import type { Roster } from '../definitions/index.ts'
import { type HostGate, skillFinder } from '../host.ts'
import { readSettings, type SettingsPlaces, type SettingsReading } from '../settings.ts'
import { invalidRequest } from './errors.ts'
import { Launching } from './launching.ts'
import { type ListedDefinition, listedDefinitions } from './listed-definitions.ts'
import { ProjectTrust } from './project-trust.ts'
import { chooseWork, type DelegateRequest, type Standing } from './work.ts'

export interface DefinitionList {
  readonly definitions: readonly ListedDefinition[]
  readonly diagnostics: readonly string[]
}

/** What a session may delegate, and the owner of what it has delegated, opened when it is first needed. */
export class Delegation {
  readonly #world: World
  readonly #gate: HostGate
  readonly #standing: Standing
  readonly #trust: ProjectTrust
  readonly #launching: Launching
  readonly #runners: AgentRunners
  readonly #listeners = new Set<() => void>()
  readonly #watchers = new Set<() => void>()
  #owner: Promise<Owner<Launch>> | undefined
  #opened: Owner<Launch> | undefined

  constructor(pi: ExtensionAPI, world: World, gate: HostGate, standing: Standing) {
    this.#world = world
    this.#gate = gate
    this.#standing = standing
    this.#trust = new ProjectTrust(world)
    this.#launching = new Launching(pi, world.agentDirectory, standing.definition)
    this.#runners = openRunners(
      world,
      () => readSettings({ ...world, cwd: '/', projectTrusted: false }).settings.keepPanes,
    )
  }

  /** Takes up what an earlier life of this session left. One that never delegated leaves nothing and opens nothing. */
  async resume(ctx: ExtensionContext): Promise<void> {
    if (this.#hasDelegated(ctx)) await this.owner(ctx)
  }

  #hasDelegated(ctx: ExtensionContext): boolean {
    const { directory } = ownerPaths(this.#world.root, ctx.sessionManager.getSessionId())
    return this.#world.fs.entry(directory) !== undefined
  }

  /** The agents this session owns, for an agent that owns some; it has none before it delegates. */
  get ownAgents(): OwnAgents {
    const delegation = this
    return {
      get hasUnsettled() {
        return delegation.#opened?.hasUnsettled ?? delegation.#owner !== undefined
      },
      get areAllAsking() {
        return delegation.#opened?.areAllAsking ?? false
      },
      closeAll: async () => (await (await delegation.#owner)?.closeAll()) ?? nothingClosed,
      onChange: (listener) => {
        delegation.#listeners.add(listener)
        return () => delegation.#listeners.delete(listener)
      },
    }
  }

  /** Calls back when a row, or what an agent says it does, may have changed. Returns its end. */
  watch(watcher: () => void): () => void {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  #tellWatchers(): void {
    for (const watcher of this.#watchers) watcher()
  }

  /** All agents as they were last seen; none before this session has delegated. Causes no change. */
  async lastSeen(): Promise<Seen & { readonly role: OwnerRole }> {
    const owner = this.#opened
    if (owner === undefined) return { rows: [], below: [], role: 'acting' }
    return { ...(await owner.lastSeen()), role: owner.role }
  }

  async end(): Promise<void> {
    const owner = await this.#owner?.catch(() => undefined)
    await owner?.stop()
    this.#runners.close()
  }

  /** @throws OperationError `invalid_request` - the session is kept nowhere, so results could not be brought */
  owner(ctx: ExtensionContext): Promise<Owner<Launch>> {
    this.#owner ??= this.#open(ctx).then(
      (owner) => {
        this.#opened = owner
        owner.onChange(() => {
          for (const listener of this.#listeners) listener()
          this.#tellWatchers()
        })
        owner.onActivity(() => this.#tellWatchers())
        this.#tellWatchers()
        return owner
      },
      (error: unknown) => {
        this.#owner = undefined // the next call tries again
        throw error
      },
    )
    return this.#owner
  }

  /** Whether this session may have agents at all. */
  mayDelegate(ctx: ExtensionContext): boolean {
    return this.#standing.depth < limits.treeDepthMax && this.snapshot(ctx).length > 0
  }

  /**
   * The definitions this session may use, as `list` shows them, and what is wrong with definitions and settings.
   * Whether its project is trusted is asked once.
   */
  async definitions(ctx: ExtensionContext): Promise<DefinitionList> {
    const isTrusted = await this.#trust.isTrusted(ctx)
    const roster = this.#launching.allowed(ctx, isTrusted)
    const said = roster.diagnostics.map(({ path, line, message }) =>
      line === undefined ? `${path}: ${message}` : `${path}:${line}: ${message}`,
    )
    return {
      definitions: this.#listed(roster, ctx),
      diagnostics: [...this.#settings(ctx, isTrusted).diagnostics, ...said],
    }
  }

  /** The same, as far as it is known without asking anybody: what a session is told when it starts. */
  snapshot(ctx: ExtensionContext): readonly ListedDefinition[] {
    return this.#listed(this.#launching.allowed(ctx, this.#trust.known(ctx) ?? false), ctx)
  }

  #listed({ definitions }: Roster, { cwd }: ExtensionContext): readonly ListedDefinition[] {
    const host = { findSkill: skillFinder(cwd, this.#world.agentDirectory) }
    return listedDefinitions(definitions, (skill, definition) => skillPath(skill, definition, host))
  }

  now(): number {
    return this.#world.clock.now()
  }

  async agents(ctx: ExtensionContext): Promise<{
    readonly rows: readonly Row[]
    readonly role: OwnerRole
    readonly unreadable: readonly string[]
    readonly below: readonly Descendant[]
  }> {
    const owner = await this.#owner
    if (owner !== undefined) {
      const rows = await owner.rows()
      const below = await owner.below()
      const owners = [...rows, ...below.map(({ row }) => row)].map((row) => row.facts.generation)
      const unreadable = owners.flatMap(({ identity }) => this.#untrusted(identity.session))
      return { rows, below, role: owner.role, unreadable: [...owner.unreadable, ...unreadable] }
    }
    const session = ctx.sessionManager.getSessionId()
    const rows = await survey(this.#world, ownerPaths(this.#world.root, session))
    return { rows, role: 'acting', unreadable: this.#untrusted(session), below: [] }
  }

  #untrusted(session: string): readonly string[] {
    return untrusted(this.#world, ownerPaths(this.#world.root, session))
  }

  /** @throws OperationError - nothing was started, or it was undone */
  async delegate(
    request: DelegateRequest,
    signal: AbortSignal | undefined,
    ctx: ExtensionContext,
  ): Promise<Delegated> {
    const trusted = await this.#trust.isTrusted(ctx)
    const work = chooseWork(this.#world, this.#standing, request, ctx)
    const { definition, cwd } = work
    const placement = this.#placement(trusted, ctx)
    const launch = this.#launching.launch(
      definition,
      cwd,
      { projectTrusted: trusted, placement },
      ctx,
    )
    const { task, label, timeoutMs = limits.startBudgetMs } = request
    const runner = await this.#runners.choose(this.#settings(ctx).settings.runner)
    const files = this.#attach('delegate', task, request.files, ctx)
    const owner = await this.owner(ctx)
    const order = {
      definition,
      task,
      cwd,
      session: work.session(),
      timeoutMs,
      runner,
      launch,
      ...(label !== undefined && { label }),
      ...(files.length > 0 && { files }),
    }
    return owner.delegate(order, signal ?? new AbortController().signal)
  }

  /** @throws OperationError - see `Owner.close` */
  async close(label: string, ctx: ExtensionContext): Promise<CloseReport> {
    return (await this.#existing('close', label, ctx)).close(label)
  }

  /** @throws OperationError - see `Owner.tell` */
  async tell(
    kind: 'steer' | 'reply',
    {
      agent,
      message,
      files: names,
    }: { agent: string; message: string; files?: readonly string[] | undefined },
    ctx: ExtensionContext,
  ): Promise<Told> {
    const owner = await this.#existing(kind, agent, ctx)
    const files = this.#attach(kind, message, names, ctx)
    return owner.tell(agent, { kind, text: message, ...(files.length > 0 && { files }) })
  }

  /** @throws Error - see `Owner.focus` */
  async focus(seen: Row, ctx: ExtensionContext): Promise<'focused' | 'unsupported' | 'changed'> {
    return (await this.owner(ctx)).focus(seen)
  }

  /** @throws OperationError - see `Owner.stopAll` */
  async stopAll(ctx: ExtensionContext): Promise<CloseReport> {
    return this.#hasDelegated(ctx) ? (await this.owner(ctx)).stopAll() : nothingClosed
  }

  /** Every definition there is now. Whether its project is trusted is asked once. */
  async roster(ctx: ExtensionContext): Promise<Roster> {
    return this.#launching.all(ctx, await this.#trust.isTrusted(ctx))
  }

  async settingsPlaces(ctx: ExtensionContext): Promise<SettingsPlaces> {
    const projectTrusted = await this.#trust.isTrusted(ctx)
    return { agentDirectory: this.#world.agentDirectory, cwd: ctx.cwd, projectTrusted }
  }

  /** The settings in effect now. */
  async settings(ctx: ExtensionContext): Promise<SettingsReading> {
    return readSettings(await this.settingsPlaces(ctx))
  }

  /** @throws OperationError - see `Owner.inspect` */
  async inspect(label: string, ctx: ExtensionContext): Promise<Inspection> {
    return (await this.#existing('inspect', label, ctx)).inspect(label)
  }

  async #existing(operation: string, label: string, ctx: ExtensionContext): Promise<Owner<Launch>> {
    if (!this.#hasDelegated(ctx)) throw noSuchAgent(operation, label, [])
    return this.owner(ctx)
  }

  /** @throws OperationError `invalid_request` - a file that cannot go along, and why */
  #attach(
    operation: string,
    text: string,
    names: readonly string[] | undefined,
    ctx: ExtensionContext,
  ): readonly Attachment[] {
    if (names === undefined) return []
    const { inlineAttachmentLimitBytes, mailboxPayloadLimitBytes } = this.#settings(ctx).settings
    const files = attach(names, {
      cwd: ctx.cwd,
      text,
      inlineBytesMax: inlineAttachmentLimitBytes,
      recordBytesMax: mailboxPayloadLimitBytes,
    })
    if ('problem' in files) throw invalidRequest(operation, files.problem, files.next)
    return files
  }

  #settings({ cwd }: ExtensionContext, projectTrusted: boolean = false): SettingsReading {
    return readSettings({ agentDirectory: this.#world.agentDirectory, cwd, projectTrusted })
  }

  /** An agent's own agents are beside it. */
  #placement(trusted: boolean, ctx: ExtensionContext): 'tab' | 'split' {
    return this.#standing.depth > 0 ? 'split' : this.#settings(ctx, trusted).settings.placement
  }

  #open(ctx: ExtensionContext): Promise<Owner<Launch>> {
    const sessionFile = ctx.sessionManager.getSessionFile()
    if (sessionFile === undefined)
      throw invalidRequest(
        'delegate',
        'This session is not saved, so no result could be brought to it.',
        'Start Pi without --no-session, then delegate there.',
      )
    const { rootSession, depth } = this.#standing
    const session = ctx.sessionManager.getSessionId()
    const { mailboxPayloadLimitBytes, liveAgentsMax } = this.#settings(ctx).settings
    return openOwner(this.#world, this.#gate, this.#runners, {
      ...{ session, sessionFile, rootSession, depth },
      recordBytesMax: mailboxPayloadLimitBytes,
      liveAgentsMax,
    })
  }
}
