import { dirname, join, resolve } from 'node:path'
import type { ExtensionContext } from '@mariozechner/pi-coding-agent'
import type { Clock } from '../../mailbox/index.ts'
import { nearestProjectDirectory, real } from '../definitions/index.ts'
import type { Dialogs } from '../dialogs.ts'
import type { FileEditor } from '../file-editor.ts'
import { hostTrust } from '../host.ts'
import { readSettings, writeSettings } from '../settings.ts'
import { shownLine, shownText } from '../shown.ts'

/** A model waits while a person thinks; not for ever, ms. */
const answerWaitMs = 120_000

export interface TrustPorts {
  readonly clock: Clock
  readonly editor: FileEditor
  readonly dialogs: Dialogs
  readonly agentDirectory: string
}

/**
 * Whether the definitions in a project's `.pi/agents` count. The host's word where it has one; otherwise the person is
 * asked once per project, and the answer is kept in Drover's settings. Nobody to ask means no.
 */
export class ProjectTrust {
  readonly #clock: Clock
  readonly #editor: FileEditor
  readonly #dialogs: Dialogs
  readonly #agentDirectory: string
  #asking: Promise<boolean> | undefined
  /** Answers of this session, in case they cannot be kept for the next. */
  readonly #answers = new Map<string, boolean>()

  constructor({ clock, editor, dialogs, agentDirectory }: TrustPorts) {
    this.#clock = clock
    this.#editor = editor
    this.#dialogs = dialogs
    this.#agentDirectory = agentDirectory
  }

  /** What is known without asking; undefined where the person would have to be asked. */
  known(ctx: ExtensionContext): boolean | undefined {
    const host = hostTrust(ctx)
    if (host !== undefined) return host
    const project = projectOf(ctx.cwd)
    if (project === undefined) return false // nothing that could be trusted
    const places = { agentDirectory: this.#agentDirectory, cwd: ctx.cwd, projectTrusted: false }
    return this.#answers.get(project) ?? readSettings(places).trustedProjects[project]
  }

  async isTrusted(ctx: ExtensionContext): Promise<boolean> {
    const known = this.known(ctx)
    if (known !== undefined || !ctx.hasUI) return known ?? false
    this.#asking ??= this.#ask(ctx).finally(() => {
      this.#asking = undefined
    })
    return this.#asking
  }

  async #ask(ctx: ExtensionContext): Promise<boolean> {
    const project = projectOf(ctx.cwd) ?? ctx.cwd
    let askedMs = 0
    const answer = await this.#dialogs.show(() => {
      askedMs = this.#clock.monotonic()
      return ctx.ui.confirm(
        'Trust the agent definitions of this project?',
        `${shownLine(join(project, '.pi'))} defines agents: what they are told and which tools they have. Your answer is kept.`,
        { timeout: answerWaitMs },
      )
    })
    if (this.#clock.monotonic() - askedMs >= answerWaitMs) return false // nobody answered: asked again next time
    this.#answers.set(project, answer)
    await this.#keep(project, answer).catch((error: Error) => {
      ctx.ui.notify(
        shownText(`Your answer counts for this session alone: ${error.message}`),
        'warning',
      )
    })
    return answer
  }

  #keep(project: string, answer: boolean): Promise<void> {
    return writeSettings(this.#editor, this.#agentDirectory, (now) => ({
      ...now,
      trustedProjects: { ...mapIn(now['trustedProjects']), [project]: answer },
    }))
  }
}

/** What stands there already, valid or not: an answer takes nothing away. */
const mapIn = (value: unknown): object =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}

/** The canonical directory of the project whose definitions are read at `cwd`: what is asked for is what is read. */
function projectOf(cwd: string): string | undefined {
  const definitions = nearestProjectDirectory(resolve(cwd))
  return definitions === undefined ? undefined : real(dirname(dirname(definitions)))
}
