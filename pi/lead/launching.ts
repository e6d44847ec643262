import type { ExtensionAPI, ExtensionContext } from '@mariozechner/pi-coding-agent'
import type { Launch } from '../../actors/index.ts'
import { definitionFlags, type HostKnowledge, isGlobalContext } from '../definition-flags.ts'
import {
  type Definition,
  type Roster,
  readRoster,
  resolveDefinition,
} from '../definitions/index.ts'
import { contextFiles, hasThinkingLevel, skillFinder, trustFlags } from '../host.ts'
import { agentLaunch } from '../launch.ts'
import { agentToolName, askOwnerToolName } from '../tool-names.ts'
import { invalidRequest } from './errors.ts'

/** What settings and trust say of one start. */
export interface LaunchSetting {
  readonly projectTrusted: boolean
  readonly placement: 'tab' | 'split'
}

/** Which definitions a session may use, and what a definition becomes: the command line of an agent. */
export class Launching {
  readonly #pi: ExtensionAPI
  readonly #agentDirectory: string
  /** What this session is an agent by; none for a lead. */
  readonly #own: string | undefined

  constructor(pi: ExtensionAPI, agentDirectory: string, own: string | undefined) {
    this.#pi = pi
    this.#agentDirectory = agentDirectory
    this.#own = own
  }

  /** What is allowed here: all of it for a lead; for an agent the enabled leaves its definition names. */
  allowed(ctx: ExtensionContext, projectTrusted: boolean): Roster {
    const roster = this.all(ctx, projectTrusted)
    if (this.#own === undefined) return roster
    const allowed = this.#ownDefinition(roster)?.agents ?? []
    return {
      ...roster,
      definitions: roster.definitions.filter(
        ({ name, enabled, unavailable, agents = [] }) =>
          enabled && unavailable === undefined && agents.length === 0 && allowed.includes(name),
      ),
    }
  }

  /** Every definition there is now. */
  all({ cwd }: ExtensionContext, projectTrusted: boolean): Roster {
    return readRoster({ agentDirectory: this.#agentDirectory, cwd, projectTrusted })
  }

  /** What this session is an agent by; none for a lead. Without it nothing is allowed. */
  #ownDefinition({ definitions }: Roster): Definition | undefined {
    return definitions.find(({ name }) => name === this.#own)
  }

  /**
   * How an agent of a definition is started.
   *
   * @throws OperationError `invalid_request` - the definition, its limits or its model cannot be used here, and why
   */
  launch(
    name: string,
    cwd: string,
    { projectTrusted, placement }: LaunchSetting,
    ctx: ExtensionContext,
  ): Launch {
    const resolved = resolveDefinition(this.allowed(ctx, projectTrusted), name)
    if (!('definition' in resolved))
      throw invalidRequest(
        'delegate',
        resolved.message,
        'Use a definition from the list, exactly as written.',
      )
    const { definition } = resolved
    const flags = definitionFlags(
      definition,
      this.#knowledge(cwd),
      ownTools(definition),
      this.#ownDefinition(this.all(ctx, projectTrusted)),
    )
    if ('problem' in flags)
      throw invalidRequest('delegate', flags.problem, 'Mend the definition, or use another one.')
    const model = this.#model(definition, ctx)
    return agentLaunch({
      ...flags,
      ...(model !== undefined && { model }),
      trustFlags: trustFlags(ctx, cwd),
      placement,
    })
  }

  #knowledge(cwd: string): HostKnowledge {
    const agentDirectory = this.#agentDirectory
    return {
      activeTools: this.#pi.getActiveTools().filter((name) => name !== agentToolName),
      findSkill: skillFinder(cwd, agentDirectory),
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
        `${model === undefined ? 'This session' : `The definition ${name}`} uses the model ${wanted}, which this Pi does not know.`,
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
}

/** Tools of ours that an agent of this definition has. */
const ownTools = ({ agents = [] }: Definition): readonly string[] =>
  agents.length === 0 ? [askOwnerToolName] : [askOwnerToolName, agentToolName]
