import { renameSync, writeFileSync } from 'node:fs'
import type { ExtensionAPI, ExtensionContext } from '@mariozechner/pi-coding-agent'
import {
  type Activity,
  type AgentStatus,
  type Clock,
  type GenerationPaths,
  limits,
} from '../../mailbox/index.ts'

/** Between two writes, ms: a busy agent does hundreds of things a second. */
const writeMs = 250
const lineCharsMax = 200

/** Keeps a short record of what this agent does, for whoever looks. Losing it costs nothing, so it is not synced. */
export class ActivityLog {
  readonly #clock: Clock
  readonly #paths: GenerationPaths
  readonly #lines: string[] = []
  #ctx: ExtensionContext | undefined
  #tool: string | undefined
  #status: AgentStatus = {}
  #hasDialog = false
  #at: number
  #isWriteDue = false
  #writtenMs = Number.NEGATIVE_INFINITY

  constructor(pi: ExtensionAPI, clock: Clock, paths: GenerationPaths) {
    this.#clock = clock
    this.#paths = paths
    this.#at = clock.now()
    pi.on('turn_start', (_, ctx) => {
      this.#status = {}
      this.#note(ctx, undefined, 'turn')
    })
    pi.on('tool_execution_start', ({ toolName, args }, ctx) =>
      this.#note(ctx, toolName, `tool ${toolName} ${JSON.stringify(args)}`),
    )
    pi.on('tool_execution_end', ({ toolName, isError }, ctx) =>
      this.#note(ctx, undefined, `tool ${toolName} ${isError ? 'failed' : 'done'}`),
    )
    pi.on('message_end', ({ message }, ctx) => {
      if (message.role !== 'assistant') return
      const text = message.content.map((part) => (part.type === 'text' ? part.text : '')).join('')
      if (/\S/.test(text)) this.#note(ctx, undefined, `says ${text}`)
    })
  }

  /** What the agent waits for now. It is no sign of life. */
  show(status: AgentStatus): void {
    this.#status = status
    this.#writeSoon()
  }

  /** Whether a person is asked something on the screen of this process. */
  dialog(isOpen: boolean): void {
    this.#hasDialog = isOpen
    this.#writeSoon()
  }

  #note(ctx: ExtensionContext, tool: string | undefined, line: string): void {
    this.#ctx = ctx
    this.#tool = tool
    this.#at = this.#clock.now()
    this.#lines.push(line.replace(/\s+/g, ' ').slice(0, lineCharsMax))
    if (this.#lines.length > limits.captureLinesMax) this.#lines.shift()
    this.#writeSoon()
  }

  #writeSoon(): void {
    if (this.#isWriteDue) return
    const waitMs = this.#writtenMs + writeMs - this.#clock.monotonic()
    if (waitMs <= 0) this.#write()
    else {
      this.#isWriteDue = true
      this.#clock.background(waitMs, () => this.#write())
    }
  }

  #write(): void {
    this.#isWriteDue = false
    this.#writtenMs = this.#clock.monotonic()
    const { activityFile } = this.#paths
    try {
      writeFileSync(`${activityFile}.draft`, JSON.stringify(this.#now()), { mode: 0o600 })
      renameSync(`${activityFile}.draft`, activityFile)
    } catch {
      // Settled meanwhile, or no room: it is advice only.
    }
  }

  #now(): Activity {
    const usage = this.#usage()
    return {
      at: this.#at,
      ...(this.#tool !== undefined && { tool: this.#tool }),
      ...(typeof usage?.tokens === 'number' && { tokens: Math.round(usage.tokens) }),
      ...(typeof usage?.percent === 'number' && { contextPercent: usage.percent }),
      ...this.#status,
      ...(this.#hasDialog && { waiting: 'person' as const }),
      lines: this.#lines,
    }
  }

  #usage() {
    try {
      return this.#ctx?.getContextUsage()
    } catch {
      return undefined // the session is being replaced
    }
  }
}
