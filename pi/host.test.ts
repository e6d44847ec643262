import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { ExtensionAPI, ExtensionContext } from '@mariozechner/pi-coding-agent'
import { ManagedAgent, type RunEnd } from '../actors/index.ts'
import { AgentBench, FakeOwnAgents, VirtualClock } from '../actors/testing/index.ts'
import { type Clock, reserveAt } from '../mailbox/index.ts'
import { HostGate, trustFlags } from './host.ts'
import { PiAgentHost } from './managed/agent-host.ts'

/** The host's own settings: it tries three times, waiting 2 s, 4 s and 8 s. */
const directory = mkdtempSync(join(tmpdir(), 'drover-host-'))
const { PI_CODING_AGENT_DIR: usual } = process.env
before(() => {
  const retry = { enabled: true, maxRetries: 3, baseDelayMs: 2_000 }
  writeFileSync(join(directory, 'settings.json'), JSON.stringify({ retry }))
  process.env['PI_CODING_AGENT_DIR'] = directory
})
after(() => {
  if (usual === undefined) delete process.env['PI_CODING_AGENT_DIR']
  else process.env['PI_CODING_AGENT_DIR'] = usual
  rmSync(directory, { recursive: true })
})

type Handler = (event: unknown, ctx: ExtensionContext) => void

/** A Pi that says what a test lets it say, and begins no run by itself. */
class TalkingPi {
  readonly handlers = new Map<string, Handler[]>()
  readonly sent: string[] = []
  readonly ctx = {
    cwd: directory,
    hasUI: false,
    isIdle: () => true,
    getContextUsage: () => undefined,
    abort: () => {},
  } as unknown as ExtensionContext
  readonly api = {
    on: (event: string, handler: Handler) => {
      this.handlers.set(event, [...(this.handlers.get(event) ?? []), handler])
    },
    sendMessage: ({ content }: { content: string }) => this.sent.push(content),
  } as unknown as ExtensionAPI

  say(event: string, more: object = {}): void {
    for (const handler of this.handlers.get(event) ?? []) handler(more, this.ctx)
  }

  answer(text: string): void {
    this.say('agent_end', { messages: [assistant({ stopReason: 'stop', text })] })
  }

  fail(errorMessage: string): void {
    this.say('agent_end', { messages: [assistant({ stopReason: 'error', errorMessage })] })
  }
}

const assistant = ({ text = '', ...more }: { text?: string; [field: string]: unknown }) => ({
  role: 'assistant',
  content: [{ type: 'text', text }],
  ...more,
})

/** A gate over a talking Pi, in virtual time. */
function gateBench() {
  const clock = new VirtualClock()
  const pi = new TalkingPi()
  const gate = new HostGate(pi.api, clock.face())
  const ends: RunEnd[] = []
  gate.see(pi.ctx)
  gate.onRunEnd((end) => ends.push(end))
  return { clock, pi, gate, ends }
}

describe('the end of a run', () => {
  it('is told once the host had the time to go on, and the host is not idle before', async () => {
    const { clock, pi, gate, ends } = gateBench()
    pi.say('agent_start')
    pi.answer('found it')
    await clock.advance(99)
    assert.deepEqual([ends, gate.isIdle(), gate.hasUntoldEnd], [[], false, true])
    await clock.advance(1)
    assert.deepEqual(ends, [{ outcome: 'answered', text: 'found it' }])
    assert.deepEqual([gate.isIdle(), gate.hasUntoldEnd], [true, false])
  })

  it('by an overflow is none while the host compacts, however long, and then goes on', async () => {
    for (const compactionMs of [10, 6_000, 200_000]) {
      const { clock, pi, gate, ends } = gateBench()
      pi.say('agent_start')
      pi.fail('prompt is too long: 213462 tokens > 200000 maximum')
      await clock.advance(1)
      pi.say('session_before_compact')
      await clock.advance(compactionMs)
      assert.deepEqual([ends, gate.isIdle()], [[], false], `in a compaction of ${compactionMs} ms`)
      pi.say('session_compact')
      await clock.advance(500)
      assert.deepEqual([ends, gate.isIdle()], [[], false], 'before the host goes on')
      pi.say('agent_start')
      await clock.advance(60_000)
      assert.deepEqual(ends, [])
      pi.answer('found it')
      await clock.advance(100)
      assert.deepEqual(ends, [{ outcome: 'answered', text: 'found it' }])
    }
  })

  it('by an overflow is a failure where the host does not go on after its compaction', async () => {
    const { clock, pi, ends } = gateBench()
    pi.say('agent_start')
    pi.fail('prompt is too long')
    await clock.advance(1)
    pi.say('session_before_compact')
    await clock.advance(6_000)
    pi.say('session_compact')
    await clock.advance(1_000)
    assert.deepEqual(ends, [{ outcome: 'failed', message: 'prompt is too long' }])
  })

  it('by an error is none while the host tries again, and a failure when it has given up', async () => {
    const { clock, pi, ends } = gateBench()
    for (const backOffMs of [2_000, 4_000, 8_000]) {
      pi.say('agent_start')
      pi.fail('overloaded')
      await clock.advance(backOffMs + 500)
      assert.deepEqual(ends, [])
    }
    pi.say('agent_start')
    pi.fail('overloaded')
    await clock.advance(100)
    assert.deepEqual(ends, [{ outcome: 'failed', message: 'overloaded' }])
  })

  it('proves that a compaction is over of which the host never said so', async () => {
    const { clock, pi, gate, ends } = gateBench()
    pi.say('session_before_compact') // then Esc, or its model call fails
    await clock.advance(5_000)
    assert.equal(gate.isIdle(), false)
    pi.say('agent_start')
    pi.answer('found it')
    await clock.advance(100)
    assert.deepEqual([ends.length, gate.isIdle()], [1, true])
  })
})

describe('a session that opens', () => {
  it('is left alone until the host is ready and a moment longer, or until its prompt has run', async () => {
    const { clock, pi, gate } = gateBench()
    const message = { customType: 'drover-mail', content: 'mail', details: {} }
    gate.holdOpening()
    await clock.advance(5_000) // another extension takes its time
    assert.equal(gate.trySend(message), 'busy')
    pi.say('resources_discover')
    await clock.advance(400)
    assert.equal(gate.trySend(message), 'busy')
    pi.say('input')
    await clock.advance(1_000)
    assert.equal(gate.trySend(message), 'busy')
    pi.say('agent_start')
    await clock.advance(1_000)
    assert.equal(gate.trySend(message), 'busy')
    pi.answer('the answer to the prompt')
    await clock.advance(100)
    assert.deepEqual([gate.trySend(message), pi.sent], ['sent', ['mail']])
  })
})

describe('a message', () => {
  const message = { customType: 'drover-mail', content: 'mail', details: {} }

  it('for which the host begins no run is a failed run, and no wait for ever', async () => {
    const { clock, gate, ends } = gateBench()
    assert.equal(gate.trySend(message), 'sent')
    await clock.advance(9_999)
    assert.deepEqual([ends, gate.isIdle()], [[], false])
    await clock.advance(1)
    assert.match(ends[0]?.outcome === 'failed' ? ends[0].message : '', /began no run/)
    assert.equal(gate.isIdle(), true)
  })

  it('that the host refuses to take is not sent, is offered to nobody at once, and can be sent again', async () => {
    const { clock, pi, gate, ends } = gateBench()
    let changes = 0
    gate.onChange(() => changes++)
    const { sendMessage } = pi.api
    pi.api.sendMessage = () => {
      throw new Error('This extension instance is stale')
    }
    assert.deepEqual([gate.trySend(message), gate.isIdle()], ['busy', true])
    await clock.advance(60_000)
    assert.deepEqual([changes, ends], [0, []])
    pi.api.sendMessage = sendMessage
    assert.deepEqual([gate.trySend(message), pi.sent], ['sent', ['mail']])
  })

  it('waits where the context of the host is stale, and goes by the next one', async () => {
    const { pi, gate } = gateBench()
    const stale = (): never => {
      throw new Error('This extension ctx is stale after session replacement or reload')
    }
    gate.see({ ...pi.ctx, isIdle: stale, abort: stale })
    assert.deepEqual(
      [gate.isIdle(), gate.trySend(message), gate.trySteer(message)],
      [false, 'busy', 'idle'],
    )
    gate.abort()
    pi.say('message_end') // brings the context of its session
    assert.deepEqual([gate.trySend(message), pi.sent], ['sent', ['mail']])
  })

  it('is none any more once the session is shut down: no context is kept, and no listener', async () => {
    const { clock, pi, gate, ends } = gateBench()
    let changes = 0
    gate.onChange(() => changes++)
    pi.say('agent_start')
    await clock.advance(1)
    const before = changes
    pi.say('session_shutdown')
    assert.deepEqual([gate.ctx, gate.trySend(message), clock.pending], [undefined, 'busy', 0])
    gate.see(pi.ctx)
    pi.answer('too late')
    await clock.advance(10_000)
    assert.deepEqual([changes, ends], [before, []])
  })
})

describe('an agent that owns agents, over this host', () => {
  it('never concludes with the text of the run before the last, whoever looks at whatever moment', async () => {
    const bench = await AgentBench.of()
    const { world, process: own, paths, generation, runtime } = bench
    const children = new FakeOwnAgents()
    children.hasUnsettled = true
    const pi = new TalkingPi()
    // Somebody looks right when a hold of the gate has ended, before the end of the run is told.
    const clock: Clock = {
      now: () => own.clock.now(),
      monotonic: () => own.clock.monotonic(),
      after: (delayMs, callback) => own.clock.after(delayMs, callback),
      background: (delayMs, callback) =>
        own.clock.background(delayMs, () => {
          callback()
          children.change()
        }),
      yield: () => own.clock.yield(),
    }
    const gate = new HostGate(pi.api, clock)
    gate.see(pi.ctx)
    const agent = await world.run(
      ManagedAgent.open({
        ...{ fs: own.fs, clock: own.clock, ids: world.machine.ids, root: world.root },
        ...{ paths, generation, runtime, build: 'test', onStatus: () => {} },
        reserve: reserveAt(own.fs, world.root.ballast),
        host: new PiAgentHost(pi.api, gate, clock),
        ownAgents: children,
      }),
    )
    assert.notEqual(agent, 'leave')
    await bench.advance(0)
    assert.deepEqual(pi.sent, ['dig'])
    pi.say('agent_start')
    pi.answer('My scout is at work.')
    await bench.advance(10_000)
    assert.deepEqual(bench.kinds, ['ack'])
    pi.say('agent_start') // by the message that brings what the scout found
    children.hasUnsettled = false
    children.change()
    await bench.advance(10)
    pi.answer('My scout found 3 files.')
    await bench.advance(10_000)
    const result = bench.records.at(-1)
    assert.equal(result?.kind === 'result' && result.text, 'My scout found 3 files.')
    assert.deepEqual(bench.kinds, ['ack', 'result'])
  })
})

describe('what a person is told while a session opens', () => {
  it('is said once, when the session is on the screen, and never when it is left before', async () => {
    const { clock, pi, gate } = gateBench()
    let said = 0
    gate.whenShown(() => said++)
    await clock.advance(1_000)
    pi.say('resources_discover')
    await clock.advance(499)
    assert.equal(said, 0)
    pi.say('resources_discover') // 0.73.1 opens a new RPC session twice
    await clock.advance(1_000)
    assert.equal(said, 1)

    gate.whenShown(() => said++)
    pi.say('resources_discover')
    pi.say('session_shutdown')
    assert.equal(clock.pending, 0)
    await clock.advance(1_000)
    assert.equal(said, 1)
  })
})

describe('what an agent is told of its project', () => {
  const flags = (isTrusted: boolean | undefined, cwd: string) => {
    const isProjectTrusted = isTrusted === undefined ? {} : { isProjectTrusted: () => isTrusted }
    return trustFlags({ cwd: '/project', ...isProjectTrusted } as unknown as ExtensionContext, cwd)
  }

  it('is nothing on a host that asks nobody, which would not know the flag', () => {
    assert.deepEqual(flags(undefined, '/project'), [])
  })

  it('is what its owner was told, in the same directory alone', () => {
    assert.deepEqual(flags(true, '/project'), ['--approve'])
    assert.deepEqual(flags(false, '/project'), ['--no-approve'])
    for (const elsewhere of ['/', '/other', '/project/below'])
      assert.deepEqual(flags(true, elsewhere), ['--no-approve'])
  })
})
