import type { ExtensionAPI } from '@mariozechner/pi-coding-agent'
import type { AgentHost, Earlier, RunEnd } from '../../actors/index.ts'
import type { Clock, Usage } from '../../mailbox/index.ts'
import { type HostGate, type HostMessage, runEnd } from '../host.ts'

/** Types of the messages that bring an agent its task or an answer, and a change of direction. */
const taskMessageType = 'drover-task'
const steerMessageType = 'drover-steer'

/** The host session an agent works in. */
export class PiAgentHost implements AgentHost {
  /** Resolves when the agent has nothing left to do. */
  readonly left: Promise<void>
  readonly #gate: HostGate
  readonly #clock: Clock
  readonly #startedMs: number
  readonly #shownListeners = new Set<(request: string) => void>()
  #turns = 0
  #costUsd = 0
  #leave: () => void = () => {}

  constructor(pi: ExtensionAPI, gate: HostGate, clock: Clock) {
    this.#gate = gate
    this.#clock = clock
    this.#startedMs = clock.monotonic()
    this.left = new Promise((resolve) => {
      this.#leave = resolve
    })
    pi.on('message_end', ({ message }) => {
      if (message.role !== 'custom' || message.customType !== steerMessageType) return
      const request = requestOf(message)
      if (request === undefined) return
      void clock.yield().then(() => {
        for (const listener of this.#shownListeners) listener(request)
      })
    })
    pi.on('turn_end', ({ message }) => {
      this.#turns++
      if (message.role === 'assistant') this.#costUsd += message.usage.cost.total
    })
  }

  tryStart(text: string, request: string): 'sent' | 'busy' {
    const details = { request }
    return this.#gate.trySend({ customType: taskMessageType, content: text, details })
  }

  steer(text: string, request: string): 'sent' | 'idle' {
    const message = { customType: steerMessageType, content: text, details: { request } }
    return this.#gate.trySteer(message)
  }

  onShown(listener: (request: string) => void): () => void {
    this.#shownListeners.add(listener)
    return () => this.#shownListeners.delete(listener)
  }

  get hasPerson(): boolean {
    return this.#gate.ctx?.hasUI === true
  }

  isIdle(): boolean {
    return this.#gate.isIdle() && !this.#gate.hasUntoldEnd
  }

  abort(): void {
    this.#gate.abort()
  }

  usage(): Usage {
    const context = this.#gate.ctx?.getContextUsage()
    const tokens = context?.tokens
    const percent = context?.percent
    return {
      elapsedMs: Math.round(this.#clock.monotonic() - this.#startedMs),
      turns: this.#turns,
      ...(typeof tokens === 'number' && { tokens: Math.round(tokens) }),
      ...(typeof percent === 'number' && { contextPercent: percent }),
      ...(this.#costUsd > 0 && { costUsd: this.#costUsd }),
    }
  }

  onRunEnd(listener: (end: RunEnd) => void): () => void {
    return this.#gate.onRunEnd(listener)
  }

  /** A message counts as told once the model has reacted to it: what was cut off before that is told again. */
  earlier(): Earlier {
    const messages = this.#gate.messages()
    const reacted = messages.findLastIndex(({ role }) => role === 'assistant')
    const told = messages.slice(0, reacted + 1).flatMap((message) => requestOf(message) ?? [])
    if (told.length === 0) return { told: new Set() }
    // What comes after the last answer is a note, and began nothing.
    const said = messages.slice(0, reacted + 1)
    const begun = said.findLastIndex(({ role }) => role === 'custom' || role === 'user')
    return { told: new Set(told), end: runEnd(said.slice(begun)) }
  }

  leave(end: 'over' | 'closed'): void {
    if (this.hasPerson && end === 'closed') this.#gate.shutDown()
    this.#leave()
  }
}

/** Of the record whose text a message brought to the model. */
function requestOf(message: HostMessage): string | undefined {
  if (message.role !== 'custom') return undefined
  if (message.customType !== taskMessageType && message.customType !== steerMessageType)
    return undefined
  const { request } = (message.details ?? {}) as { request?: unknown }
  return typeof request === 'string' ? request : undefined
}
