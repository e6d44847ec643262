import { appendFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ExtensionAPI, ExtensionContext } from '@mariozechner/pi-coding-agent'
import {
  type OwnerHostHarness,
  ownerHostConformance,
  VirtualClock,
} from '../../actors/testing/index.ts'
import { HostGate } from '../host.ts'
import { PiOwnerHost } from './owner-host.ts'

type Handler = (event: unknown, ctx: ExtensionContext) => void

/** A Pi that writes its session file and says its events when a test lets it. */
class HandMovedPi {
  readonly #file: string
  readonly #clock: VirtualClock
  readonly #handlers = new Map<string, Handler[]>()
  #taken: object[] = []
  #isRunning = false
  readonly host: PiOwnerHost

  constructor(file: string, clock: VirtualClock) {
    this.#file = file
    this.#clock = clock
    const api = {
      on: (event: string, handler: Handler) =>
        this.#handlers.set(event, [...(this.#handlers.get(event) ?? []), handler]),
      sendMessage: (message: object) => this.#taken.push(message),
    } as unknown as ExtensionAPI
    const gate = new HostGate(api, clock.face())
    gate.see(this.#ctx)
    this.host = new PiOwnerHost(gate)
  }

  begin(): void {
    this.#isRunning = true
    this.#say('agent_start')
  }

  async persist(): Promise<void> {
    if (this.#taken.length > 0 && !this.#isRunning) this.begin()
    for (const message of this.#taken.splice(0))
      appendFileSync(this.#file, `${JSON.stringify({ type: 'custom_message', ...message })}\n`)
    this.#say('message_end')
  }

  async end(): Promise<void> {
    if (!this.#isRunning) this.begin()
    this.#taken = []
    this.#isRunning = false
    const content = [{ type: 'text', text: 'noted' }]
    this.#say('agent_end', { messages: [{ role: 'assistant', stopReason: 'stop', content }] })
    await this.#clock.advance(200)
  }

  #say(event: string, more: object = {}): void {
    for (const handler of this.#handlers.get(event) ?? []) handler(more, this.#ctx)
  }

  get #ctx(): ExtensionContext {
    const sessionManager = { getSessionFile: () => this.#file }
    return { isIdle: () => !this.#isRunning, sessionManager } as unknown as ExtensionContext
  }
}

ownerHostConformance('Pi', async (): Promise<OwnerHostHarness> => {
  const directory = mkdtempSync(join(tmpdir(), 'drover-owner-host-'))
  const clock = new VirtualClock()
  const file = join(directory, 'session.jsonl')
  const pi = new HandMovedPi(file, clock)
  return {
    host: pi.host,
    begin: () => pi.begin(),
    persist: () => pi.persist(),
    end: () => pi.end(),
    reopened: () => new HandMovedPi(file, clock).host,
    until: (isTrue) => clock.until(isTrue),
    close: async () => rmSync(directory, { recursive: true }),
  }
})
