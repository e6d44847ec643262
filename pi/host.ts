import { resolve } from 'node:path'
import type {
  AgentEndEvent,
  ExtensionAPI,
  ExtensionContext,
  SessionEntry,
  SessionManager as Sessions,
} from '@mariozechner/pi-coding-agent'
import {
  getAgentDir,
  loadProjectContextFiles,
  loadSkills,
  SessionManager,
  SettingsManager,
} from '@mariozechner/pi-coding-agent'
import type { RunEnd } from '../actors/index.ts'
import type { Clock } from '../mailbox/index.ts'

/**
 * The host as Drover sees it: everything in which one version of Pi differs from another, or from what one would
 * expect, is here. Facts, each found by running it: docs/architecture.md, "The host".
 */

/** How long a prompt may be on its way to its run before it is taken for lost, ms. */
const preflightMs = 10_000
/** How long a compaction may take before it is taken for failed: 0.73.1 announces no failure, ms. */
const compactionMs = 300_000
/** After the end of a run the host may begin to compact: it says so within this time, ms. */
const afterRunMs = 100
/** After a compaction the host may go on with its run: it begins within this time, ms. */
const afterCompactionMs = 1_000
/** Added to a retry's back-off: a run that has not begun again by then is over, ms. */
const retryMarginMs = 2_000

/** After a session has opened, it is drawn, and the prompt it was opened with goes first, ms. */
const openingMs = 500
/** Other extensions may take so long to open it; the host says when they are ready, ms. */
const openingHighestMs = 30_000

/** What keeps the host from being idle although it says it is. */
type Hold = 'opening' | 'preflight' | 'compaction' | 'after-run' | 'retry' | 'own-message'

/**
 * Knows when the host is really idle and when a run is really over.
 *
 * On 0.73.1 neither can be asked for: `isIdle()` is true before a prompt's run, during compaction and between
 * retries, and `agent_end` comes before a retry too. A message sent at such a moment may be lost or stay unseen.
 */
export class HostGate {
  readonly #pi: ExtensionAPI
  readonly #clock: Clock
  readonly #holds = new Map<Hold, () => void>()
  readonly #idleListeners = new Set<() => void>()
  readonly #endListeners = new Set<(end: RunEnd) => void>()
  readonly #shownListeners = new Set<() => void>()
  #endOpening: () => void = () => {}
  #ctx: ExtensionContext | undefined
  #isRunning = false // from event to event: the host's own word changes before its events have all come
  #errorsInRow = 0
  #end: RunEnd | undefined
  #isNotifyQueued = false

  constructor(pi: ExtensionAPI, clock: Clock) {
    this.#pi = pi
    this.#clock = clock
    pi.on('input', (_, ctx) => this.#holdFor(ctx, 'preflight', preflightMs))
    pi.on('before_agent_start', (_, ctx) => this.#holdFor(ctx, 'preflight', preflightMs))
    pi.on('agent_start', (_, ctx) => this.#runBegan(ctx))
    pi.on('agent_end', (event, ctx) => this.#runEnded(event, ctx))
    pi.on('session_before_compact', (_, ctx) => this.#holdFor(ctx, 'compaction', compactionMs))
    pi.on('session_compact', (_, ctx) => {
      // After an overflow the host goes on with the run it had to stop, a moment later.
      this.#hold('after-run', afterCompactionMs)
      this.#release('compaction')
      this.#see(ctx)
    })
    pi.on('resources_discover', () => {
      if (this.#holds.has('opening')) this.#hold('opening', openingMs)
      this.#endOpening()
      this.#endOpening = this.#clock.background(openingMs, () => this.#shown())
    })
    pi.on('message_end', (_, ctx) => this.#see(ctx))
    pi.on('session_shutdown', () => this.#forget())
    // 1.x says by itself when a run is over; 0.73.1 knows no such event and never fires it.
    const onAny = pi.on as (
      event: string,
      handler: (event: unknown, ctx: ExtensionContext) => void,
    ) => void
    onAny.call(pi, 'agent_settled', (_, ctx) => {
      this.#see(ctx)
      for (const hold of ['retry', 'after-run', 'own-message'] as const) this.#release(hold)
    })
  }

  /** The context of the latest event. One kept longer would be stale after a reload. */
  get ctx(): ExtensionContext | undefined {
    return this.#ctx
  }

  /** Takes the context of an event that is handled elsewhere. */
  see(ctx: ExtensionContext): void {
    this.#ctx = ctx
  }

  /** Holds messages back while a session opens, and a moment longer: somebody may be about to prompt it. */
  holdOpening(): void {
    this.#hold('opening', openingHighestMs)
  }

  /** Whether a run is over and nobody has been told yet. */
  get hasUntoldEnd(): boolean {
    return this.#end !== undefined
  }

  isIdle(): boolean {
    try {
      return !this.#isRunning && this.#holds.size === 0 && this.#ctx?.isIdle() === true
    } catch {
      return false // a stale context: the session is being replaced
    }
  }

  /** Sends one message that starts a turn, if the host is idle in this very tick. */
  trySend(message: { customType: string; content: string; details: unknown }): 'sent' | 'busy' {
    if (!this.isIdle()) return 'busy'
    // Until its run has ended nothing else may be sent; a run that never begins is given up after a while.
    this.#end = undefined
    this.#hold('own-message', preflightMs, () => {
      this.#end = {
        outcome: 'failed',
        message: 'The host began no run for the message it was given.',
      }
    })
    try {
      this.#pi.sendMessage({ ...message, display: true }, { triggerTurn: true })
      return 'sent'
    } catch {
      // The session is being replaced: nothing was taken. Nobody is told that it is idle again, or they would try for ever.
      this.#holds.get('own-message')?.()
      this.#holds.delete('own-message')
      return 'busy'
    }
  }

  /** Puts a message before the model at its next step, if a run goes on. */
  trySteer(message: { customType: string; content: string; details: unknown }): 'sent' | 'idle' {
    try {
      if (!this.#isRunning || this.#ctx?.isIdle() !== false) return 'idle'
      this.#pi.sendMessage({ ...message, display: true }, { deliverAs: 'steer' })
      return 'sent'
    } catch {
      return 'idle' // the session is being replaced
    }
  }

  /** What was said in the session that is open, in order. */
  messages(): readonly HostMessage[] {
    try {
      return this.#ctx?.sessionManager.getBranch().flatMap(messageOf) ?? []
    } catch {
      return [] // a stale context
    }
  }

  /** Ends this process, in its own time. */
  shutDown(): void {
    try {
      this.#ctx?.shutdown()
    } catch {
      // A stale context: the process is about to end or to have another session.
    }
  }

  abort(): void {
    try {
      this.#ctx?.abort()
    } catch {
      // A stale context has no run any more.
    }
  }

  /** Calls back, from a macrotask, when the host may have become idle or its history may have grown. */
  onChange(listener: () => void): () => void {
    this.#idleListeners.add(listener)
    return () => this.#idleListeners.delete(listener)
  }

  /** Calls back, from a macrotask, when a run is really over. */
  onRunEnd(listener: (end: RunEnd) => void): () => void {
    this.#endListeners.add(listener)
    return () => this.#endListeners.delete(listener)
  }

  /** Calls back once, when the session that opens is on the screen: what is said before, 0.73.1 wipes when it draws it. */
  whenShown(listener: () => void): void {
    this.#shownListeners.add(listener)
  }

  #shown(): void {
    const listeners = [...this.#shownListeners]
    this.#shownListeners.clear()
    for (const listener of listeners) listener()
  }

  #see(ctx: ExtensionContext): void {
    this.#ctx = ctx
    this.#notify()
  }

  #holdFor(ctx: ExtensionContext, hold: Hold, atMostMs: number): void {
    this.#see(ctx)
    this.#hold(hold, atMostMs)
  }

  #hold(hold: Hold, atMostMs: number, onTimeout: () => void = () => {}): void {
    this.#holds.get(hold)?.()
    const end = this.#clock.background(atMostMs, () => {
      onTimeout()
      this.#release(hold)
    })
    this.#holds.set(hold, end)
  }

  #release(hold: Hold): void {
    this.#holds.get(hold)?.()
    if (this.#holds.delete(hold)) this.#notify()
  }

  #runBegan(ctx: ExtensionContext): void {
    this.#isRunning = true
    this.#end = undefined
    for (const hold of ['preflight', 'compaction', 'retry', 'after-run', 'own-message'] as const)
      this.#release(hold)
    this.#see(ctx)
  }

  #runEnded({ messages }: AgentEndEvent, ctx: ExtensionContext): void {
    this.#isRunning = false
    this.#end = runEnd(messages)
    this.#errorsInRow = this.#end.outcome === 'failed' ? this.#errorsInRow + 1 : 0
    const backOffMs =
      this.#end.outcome === 'failed' ? retryBackOffMs(ctx, this.#errorsInRow) : undefined
    if (backOffMs !== undefined) this.#hold('retry', backOffMs + retryMarginMs)
    this.#hold('after-run', afterRunMs)
    this.#see(ctx)
  }

  /** Listeners are called outside of host events: on 0.73.1 a message sent from inside `agent_end` is stranded. */
  #notify(): void {
    if (this.#isNotifyQueued) return
    this.#isNotifyQueued = true
    void this.#clock.yield().then(() => {
      this.#isNotifyQueued = false
      const end = this.#end
      if (end !== undefined && this.isIdle()) {
        this.#end = undefined
        this.#errorsInRow = 0
        for (const listener of this.#endListeners) listener(end)
      }
      for (const listener of this.#idleListeners) listener()
    })
  }

  #forget(): void {
    for (const cancel of this.#holds.values()) cancel()
    this.#holds.clear()
    this.#endOpening()
    this.#idleListeners.clear()
    this.#endListeners.clear()
    this.#shownListeners.clear()
    this.#ctx = undefined
  }
}

function messageOf(entry: SessionEntry): HostMessage[] {
  if (entry.type === 'message') return [entry.message]
  if (entry.type !== 'custom_message') return []
  const { customType, content, details, display } = entry
  const timestamp = Date.parse(entry.timestamp)
  return [{ role: 'custom', customType, content, details, display, timestamp }]
}

export type HostMessage = AgentEndEvent['messages'][number]

/** How a run ended, by the messages of it. */
export function runEnd(messages: readonly HostMessage[]): RunEnd {
  const last = messages.findLast((message) => message.role === 'assistant')
  if (last === undefined) return { outcome: 'failed', message: 'The run ended without an answer.' }
  if (last.stopReason === 'aborted') return { outcome: 'aborted' }
  if (last.stopReason === 'error')
    return { outcome: 'failed', message: last.errorMessage ?? 'The model call failed.' }
  if (messages.at(-1) === last) return { outcome: 'answered', text: textOf(last) }
  // A tool ended the run: the last thing the assistant said in words is its answer.
  const spoken = messages.findLast(
    (message) => message.role === 'assistant' && /\S/.test(textOf(message)),
  )
  return { outcome: 'answered', text: spoken === undefined ? '' : textOf(spoken) }
}

function textOf(message: HostMessage): string {
  if (message.role !== 'assistant') return ''
  return message.content.map((part) => (part.type === 'text' ? part.text : '')).join('')
}

/** How long the host waits before it tries again after this many errors in a row; undefined when it will not. */
function retryBackOffMs(ctx: ExtensionContext, errors: number): number | undefined {
  const { enabled, maxRetries, baseDelayMs } = SettingsManager.create(ctx.cwd).getRetrySettings()
  return enabled && errors <= maxRetries ? baseDelayMs * 2 ** (errors - 1) : undefined
}

/** Whether the process ends after its one prompt. */
export function isPrintMode(ctx: ExtensionContext): boolean {
  const { mode } = ctx as { mode?: string } // 0.73.1 has none
  return mode === undefined ? !ctx.hasUI : mode !== 'tui' && mode !== 'rpc'
}

/** What a person sees of the host: a terminal it draws, what a client shows of its requests, or nothing. */
export function screenOf(ctx: ExtensionContext): 'terminal' | 'client' | 'none' {
  const { mode } = ctx as { mode?: string } // 0.73.1 has none
  if (!ctx.hasUI) return 'none'
  if (mode === undefined) return process.stdin.isTTY ? 'terminal' : 'client'
  return mode === 'tui' ? 'terminal' : 'client'
}

/** Whether the host takes this thinking level; 0.73.1 would take an unknown one for a part of the model's name. */
export function hasThinkingLevel(ctx: ExtensionContext, level: string): boolean {
  return level !== 'max' || 'mode' in ctx
}

/** What an agent's host is told so that it asks nobody whether to trust the directory it works in; 0.73.1 never asks. */
export function trustFlags(ctx: ExtensionContext, cwd: string): readonly string[] {
  const isTrusted = hostTrust(ctx)
  if (isTrusted === undefined) return []
  return [isTrusted && cwd === ctx.cwd ? '--approve' : '--no-approve']
}

/** What the host itself says of the project's trust; 0.73.1 says nothing. */
export function hostTrust(ctx: ExtensionContext): boolean | undefined {
  const { isProjectTrusted } = ctx as { isProjectTrusted?: () => boolean }
  return isProjectTrusted?.call(ctx)
}

/** The agent directory of this user, as the host sees it. */
export const agentDirectory: () => string = getAgentDir

/** The files of the skills that a session in `cwd` would know, by name; read when the first is asked for. */
export function skillFinder(cwd: string, agentDir: string): (name: string) => string | undefined {
  let files: Map<string, string> | undefined
  return (name) => {
    files ??= new Map(
      loadSkills({ cwd, agentDir, skillPaths: [], includeDefaults: true }).skills.map((skill) => [
        skill.name,
        skill.filePath,
      ]),
    )
    return files.get(name)
  }
}

/** The instruction files a session in `cwd` would be given. */
export function contextFiles(
  cwd: string,
  agentDir: string,
): readonly { readonly path: string; readonly content: string }[] {
  return loadProjectContextFiles({ cwd, agentDir })
}

/** Chooses id and file of a new session as the host would, writing nothing. */
export function planSession(cwd: string): {
  id: string
  file: string
  header: object
} {
  const manager: Sessions = SessionManager.create(cwd)
  const file = manager.getSessionFile()
  const header = manager.getHeader()
  if (file === undefined || header === null) throw new Error('the host keeps no sessions here')
  return { id: manager.getSessionId(), file: resolve(file), header } // the agent directory may be a relative path
}
