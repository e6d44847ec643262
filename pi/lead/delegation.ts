import type { ExtensionAPI, ExtensionContext } from '@mariozechner/pi-coding-agent'
import type { CloseReport, Delegated, Owner, OwnerRole, Row } from '../../actors/index.ts'
import { noSuchAgent, survey } from '../../actors/index.ts'
import { limits, ownerPaths } from '../../mailbox/index.ts'
import { openOwner, type World } from '../compose.ts'
import { definitionFlags, type HostKnowledge, isGlobalContext } from '../definition-flags.ts'
import {
  type Definition,
  type Roster,
  readRoster,
  resolveDefinition,
} from '../definitions/index.ts'
import { contextFiles, findSkill, type HostGate, hasThinkingLevel } from '../host.ts'
import { agentToolName, headlessLaunch, type Launch } from '../launch.ts'
import { invalidRequest } from './errors.ts'

/** Where a delegating session stands in its tree. */
export interface Standing {
  readonly rootSession: string
  readonly depth: number
  /** The agent's own definition; none for a lead, which may use all. */
  readonly definition?: string
}

export interface DelegateRequest {
  readonly definition: string
  readonly task: string
  readonly label?: string | undefined
  readonly cwd: string
  readonly timeoutMs?: number | undefined
}

/** A definition as `list` shows it. */
export interface ListedDefinition {
  readonly name: string
  readonly [field: string]: unknown
}

/** What a session may delegate, and the owner of what it has delegated, opened when it is first needed. */
export class Delegation {
  readonly #pi: ExtensionAPI
  readonly #world: World
  readonly #gate: HostGate
  readonly #standing: Standing
  #owner: Promise<Owner<Launch>> | undefined

  constructor(pi: ExtensionAPI, world: World, gate: HostGate, standing: Standing) {
    this.#pi = pi
    this.#world = world
    this.#gate = gate
    this.#standing = standing
  }

  /** Takes up what an earlier life of this session left. One that never delegated leaves nothing and opens nothing. */
  async resume(ctx: ExtensionContext): Promise<void> {
    if (this.#hasDelegated(ctx)) await this.owner(ctx)
  }

  #hasDelegated(ctx: ExtensionContext): boolean {
    const { directory } = ownerPaths(this.#world.root, ctx.sessionManager.getSessionId())
    return this.#world.fs.entry(directory) !== undefined
  }

  async end(): Promise<void> {
    const owner = await this.#owner?.catch(() => undefined)
    await owner?.stop()
  }

  /** @throws OperationError `invalid_request` - the session is kept nowhere, so results could not be brought */
  owner(ctx: ExtensionContext): Promise<Owner<Launch>> {
    this.#owner ??= this.#open(ctx).catch((error: unknown) => {
      this.#owner = undefined // the next call tries again
      throw error
    })
    return this.#owner
  }

  /** Whether this session may have agents at all. */
  mayDelegate(ctx: ExtensionContext): boolean {
    return this.#standing.depth < limits.treeDepthMax && this.definitions(ctx).length > 0
  }

  /** The definitions this session may use, as `list` shows them. */
  definitions(ctx: ExtensionContext): readonly ListedDefinition[] {
    const { definitions } = this.#roster(ctx)
    return definitions.map(listed)
  }

  async agents(
    ctx: ExtensionContext,
  ): Promise<{ readonly rows: readonly Row[]; readonly role: OwnerRole }> {
    const owner = await this.#owner
    if (owner !== undefined) return { rows: await owner.rows(), role: owner.role }
    const paths = ownerPaths(this.#world.root, ctx.sessionManager.getSessionId())
    return { rows: await survey(this.#world, paths), role: 'acting' }
  }

  /** @throws OperationError - nothing was started, or it was undone */
  async delegate(
    request: DelegateRequest,
    signal: AbortSignal | undefined,
    ctx: ExtensionContext,
  ): Promise<Delegated> {
    const launch = this.#launch(request.definition, request.cwd, ctx)
    const owner = await this.owner(ctx)
    const { definition, task, label, cwd, timeoutMs = limits.startBudgetMs } = request
    const order = {
      definition,
      task,
      cwd,
      timeoutMs,
      launch,
      ...(label !== undefined && { label }),
    }
    return owner.delegate(order, signal ?? new AbortController().signal)
  }

  /** @throws OperationError - see `Owner.close` */
  async close(label: string, ctx: ExtensionContext): Promise<CloseReport> {
    if (!this.#hasDelegated(ctx)) throw noSuchAgent(label, [])
    const owner = await this.owner(ctx)
    return owner.close(label)
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
    return openOwner(this.#world, this.#gate, { session, sessionFile, rootSession, depth })
  }

  #launch(name: string, cwd: string, ctx: ExtensionContext): Launch {
    const resolved = resolveDefinition(this.#roster(ctx), name)
    if (!('definition' in resolved))
      throw invalidRequest(
        'delegate',
        resolved.message,
        'Use a definition from the list, exactly as written.',
      )
    const { definition } = resolved
    const flags = definitionFlags(definition, this.#knowledge(cwd), ownTools(definition))
    if ('problem' in flags)
      throw invalidRequest('delegate', flags.problem, 'Mend the definition, or use another one.')
    const model = this.#model(definition, ctx)
    return headlessLaunch({ ...flags, ...(model !== undefined && { model }) })
  }

  #knowledge(cwd: string): HostKnowledge {
    const { agentDirectory } = this.#world
    return {
      activeTools: this.#pi.getActiveTools().filter((name) => name !== agentToolName),
      findSkill: (name) => findSkill(name, cwd, agentDirectory),
      contextFiles: () =>
        contextFiles(cwd, agentDirectory).map(({ path, content }) => ({
          path,
          content,
          isGlobal: isGlobalContext(agentDirectory, path),
        })),
    }
  }

  /** The definition's model, or the lead's own, with a thinking level; checked, since the host only warns. */
  #model({ name, model, thinking }: Definition, ctx: ExtensionContext): string | undefined {
    const level = thinking ?? this.#pi.getThinkingLevel()
    const own = ctx.model && `${ctx.model.provider}/${ctx.model.id}`
    const wanted = model ?? own
    if (wanted === undefined) return undefined
    const slash = wanted.indexOf('/')
    const found = ctx.modelRegistry.find(wanted.slice(0, slash), wanted.slice(slash + 1))
    if (found === undefined)
      throw invalidRequest(
        'delegate',
        `The definition ${name} wants the model ${wanted}, which this Pi does not know.`,
        'Choose a model by provider/id as Pi lists them, in the definition or for this session.',
      )
    if (!hasThinkingLevel(ctx, level))
      throw invalidRequest(
        'delegate',
        `The definition ${name} wants the thinking level ${level}, which this Pi does not know.`,
        'Choose another level in the definition.',
      )
    return `${wanted}:${level}`
  }

  /** What is allowed here: all of it for a lead; for an agent the enabled leaves its definition names. */
  #roster(ctx: ExtensionContext): Roster {
    const roster = readRoster({
      agentDirectory: this.#world.agentDirectory,
      cwd: ctx.cwd,
      projectTrusted: false,
    })
    const { definition: own } = this.#standing
    if (own === undefined) return roster
    const allowed = roster.definitions.find(({ name }) => name === own)?.agents ?? []
    return {
      ...roster,
      definitions: roster.definitions.filter(
        ({ name, enabled, agents = [] }) =>
          enabled && agents.length === 0 && allowed.includes(name),
      ),
    }
  }
}

/** Tools of ours that an agent has whatever its definition limits. */
const ownTools = ({ agents = [] }: Definition): readonly string[] =>
  agents.length === 0 ? [] : [agentToolName]

function listed(definition: Definition): ListedDefinition {
  const {
    name,
    description,
    source,
    path,
    model,
    thinking,
    tools,
    skills,
    agents,
    enabled,
    unavailable,
  } = definition
  return {
    name,
    ...(description !== undefined && { description }),
    source,
    path,
    ...(model !== undefined && { model }),
    ...(thinking !== undefined && { thinking }),
    ...(tools !== undefined && { tools }),
    ...(skills !== undefined && { skills }),
    ...(agents !== undefined && { agents }),
    enabled,
    ...(unavailable !== undefined && { unavailable }),
  }
}
