import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ExtensionAPI, ExtensionContext } from '@mariozechner/pi-coding-agent'
import { VirtualClock } from '../../actors/testing/index.ts'
import { HostGate } from '../host.ts'
import { PiAgentHost } from './agent-host.ts'

type Handler = (event: unknown, ctx: ExtensionContext) => void

/** A host that says its events when a test lets it. */
function bench() {
  const handlers = new Map<string, Handler[]>()
  const pi = {
    on: (event: string, handler: Handler) =>
      handlers.set(event, [...(handlers.get(event) ?? []), handler]),
    sendMessage: () => {},
  } as unknown as ExtensionAPI
  const usage = { tokens: 100, percent: 0.1, contextWindow: 100_000 }
  const branch: object[] = []
  const ctx = {
    isIdle: () => true,
    getContextUsage: () => usage,
    sessionManager: { getBranch: () => branch },
  } as unknown as ExtensionContext
  const clock = new VirtualClock()
  const gate = new HostGate(pi, clock.face())
  gate.see(ctx)
  const host = new PiAgentHost(pi, gate, clock.face())
  const say = (event: string, more: object = {}) => {
    for (const handler of handlers.get(event) ?? []) handler(more, ctx)
  }
  return { clock, host, say, branch }
}

const turn = (total: number) => ({ message: { role: 'assistant', usage: { cost: { total } } } })

describe('what an agent has used', () => {
  it('is the sum of its turns, each once, and the same however often it is asked', async () => {
    const { clock, host, say } = bench()
    await clock.advance(2_500)
    for (const cost of [0.25, 0.5]) {
      say('message_end', turn(cost))
      say('turn_end', turn(cost))
    }
    say('agent_end', { messages: [{ role: 'assistant', stopReason: 'stop', content: [] }] })
    const used = { elapsedMs: 2_500, turns: 2, tokens: 100, contextPercent: 0.1, costUsd: 0.75 }
    assert.deepEqual(host.usage(), used)
    assert.deepEqual(host.usage(), used)
  })

  it('has no cost where the model has none', () => {
    const { host, say } = bench()
    say('turn_end', turn(0))
    assert.deepEqual(host.usage(), { elapsedMs: 0, turns: 1, tokens: 100, contextPercent: 0.1 })
  })
})

const told = (customType: string, request: string) => ({
  type: 'custom_message',
  ...{ customType, content: 'x', details: { request }, display: true },
  timestamp: new Date(0).toISOString(),
})
const answer = (text: string, stopReason = 'stop') => ({
  type: 'message',
  message: { role: 'assistant', stopReason, content: [{ type: 'text', text }] },
})

describe('what a session shows after a reload', () => {
  it('is nothing where nobody has been told anything', () => {
    const { host, branch } = bench()
    branch.push(answer('of a person'))
    assert.deepEqual(host.earlier(), { told: new Set() })
  })

  it('is what the model has reacted to, and how its last run ended', () => {
    const { host, branch } = bench()
    branch.push(told('drover-task', 'a'), answer('one'), told('drover-steer', 'b'), answer('two'))
    branch.push(told('drover-task', 'c'))
    assert.deepEqual(host.earlier(), {
      told: new Set(['a', 'b']),
      end: { outcome: 'answered', text: 'two' },
    })
  })

  it('is not changed by what another extension notes after it', () => {
    const { host, branch } = bench()
    branch.push(told('drover-task', 'a'), answer('', 'aborted'), told('a-note', 'x'))
    assert.deepEqual(host.earlier(), { told: new Set(['a']), end: { outcome: 'aborted' } })
  })
})
