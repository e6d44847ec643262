import { z } from 'zod'
import { knownAgents } from './fake-agent.ts'
import { nameAgent } from './fake-agents.ts'
import { focusPane } from './fake-focus.ts'
import { agentInfo } from './fake-info.ts'
import { sendInput, sendRaw } from './fake-input.ts'
import {
  type Call,
  count,
  flag,
  long,
  loop,
  type Methods,
  maybe,
  nothing,
  readFormat,
  readSource,
  status,
  text,
} from './fake-method.ts'
import { listedPanes } from './fake-methods-spaces.ts'
import { readPane } from './fake-reading.ts'
import { type AgentStatus, Refusal } from './fake-records.ts'
import type { Stage } from './fake-stage.ts'
import { polled, tick } from './fake-waits.ts'
import type { Pane, World } from './fake-world.ts'

const target = z.object({ target: text })
const until = z.array(status).default(['idle', 'done', 'blocked'])
const namePattern = /^[a-z][a-z0-9_-]{0,31}$/
const enterAfterMs = 300
const stallMs = 5_000

/** Agents: panes in which a known kind of program is seen or reported. */
export const agentMethods: Methods = {
  'agent.list': loop(nothing, (stage) => ({
    type: 'agent_list',
    agents: listedPanes(stage)
      .filter(({ agent }) => agent.label !== undefined || agent.name !== undefined)
      .map((pane) => agentInfo(stage.world, pane)),
  })),
  'agent.get': loop(target, ({ world }, params) =>
    agentResult(world, world.agentPane(params.target)),
  ),
  'agent.focus': loop(target, (stage, params) => {
    const pane = stage.world.agentPane(params.target)
    focusPane(stage, pane)
    return agentResult(stage.world, pane)
  }),
  'agent.rename': loop(z.object({ target: text, name: maybe(text) }), (stage, params) => {
    const { world } = stage
    const pane = world.agentPane(params.target)
    if (params.name !== undefined) checkName(world, params.name, pane)
    nameAgent(stage, pane, params.name)
    return agentResult(world, pane)
  }),
  'agent.send_keys': loop(z.object({ target: text, keys: z.array(text) }), (stage, params) => {
    sendInput(stage, stage.world.agentPane(params.target), '', params.keys)
    return { type: 'ok' }
  }),
  'agent.read': loop(
    z.object({
      target: text,
      source: readSource,
      lines: maybe(count),
      format: readFormat.optional(),
      strip_ansi: flag.optional(),
    }),
    async (stage, { target: who, ...order }) => {
      const pane = stage.world.agentPane(who)
      const isBusy = pane.agent.status !== 'idle' && pane.agent.status !== 'done'
      if (order.lines !== undefined && pane.terminal.screen.isFullScreen && isBusy)
        throw new Refusal('agent_not_idle', `agent ${who} is not idle`)
      return { type: 'pane_read', read: await readPane(stage, pane, order) }
    },
  ),
  'agent.start': loop(
    z.object({
      name: text,
      kind: text,
      pane_id: text,
      args: z.array(text).default([]),
      timeout_ms: maybe(count),
    }),
    (stage, { name, kind, pane_id, args, timeout_ms: timeoutMs = 30_000 }) => {
      checkStart(stage.world, name, kind, args, timeoutMs)
      const pane = freePane(stage, pane_id)
      const argv = [kind, ...args]
      nameAgent(stage, pane, name)
      pane.agent.launch = { startedAt: performance.now(), timeoutMs, isReady: false }
      sendRaw(stage, pane, `${argv.map(quoted).join(' ')}\r`)
      return { type: 'agent_started', agent: agentInfo(stage.world, pane), argv }
    },
  ),
  'agent.prompt': long(
    z.object({
      target: text,
      text,
      wait: maybe(z.object({ until, timeout_ms: maybe(count) })),
    }),
    async (stage, params, call) => {
      const pane = await stage.run(() => promptable(stage, params.target, params.text))
      const before = pane.agent.status
      await stage.run(() => sendInput(stage, pane, params.text, []))
      const entered = enter(stage, pane)
      if (stage.setting.profile !== '0.8' || params.wait !== undefined) await entered
      if (params.wait !== undefined && !(await settled(stage, pane, before, params.wait, call)))
        return undefined
      return { type: 'agent_prompted', agent: agentInfo(stage.world, pane) }
    },
  ),
  'agent.wait': long(
    z.object({ target: text, until, timeout_ms: maybe(count) }),
    async (stage, params, { signal }) => {
      const pane = stage.world.agentPane(params.target)
      const { id } = pane
      const reached = () => reachedOne(pane, id, params.until)
      const isDone = await polled(stage, signal, reached, params.timeout_ms, 'agent status')
      return isDone === undefined ? undefined : agentResult(stage.world, pane)
    },
  ),
}

function checkStart(
  world: World,
  name: string,
  kind: string,
  args: readonly string[],
  timeoutMs: number,
): void {
  checkName(world, name)
  if (!knownAgents.includes(kind))
    throw new Refusal('unsupported_agent_kind', `unsupported agent kind: ${kind}`)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
  if (args.some((arg) => /[\x00-\x1f\x7f]/.test(arg)))
    throw new Refusal('invalid_agent_argument', 'an argument has control characters')
  if (timeoutMs <= 3_000 || timeoutMs > 300_000)
    throw new Refusal('invalid_agent_timeout', 'timeout_ms must be over 3000 and at most 300000')
}

function checkName(world: World, name: string, own?: Pane): void {
  if (!namePattern.test(name))
    throw new Refusal('invalid_agent_name', `invalid agent name: ${name}`)
  if (world.panes.some((pane) => pane !== own && pane.agent.name === name))
    throw new Refusal('agent_name_taken', `agent name ${name} is taken`)
}

/** Only by its current id, and only while its shell is at its prompt. */
function freePane({ world, faults }: Stage, id: string): Pane {
  const pane = world.panes.find((each) => each.id === id)
  if (pane === undefined) throw new Refusal('agent_pane_not_found', `pane ${id} not found`)
  const isLate = performance.now() - pane.terminal.startedAt < faults.latePanes
  if (isLate || pane.argv !== undefined || !pane.terminal.isAtPrompt)
    throw new Refusal('agent_pane_busy', `pane ${id} is busy`)
  return pane
}

function promptable({ world, setting }: Stage, target: string, prompt: string): Pane {
  const pane = world.agentPane(target)
  const { agent } = pane
  if (prompt.trim() === '') throw new Refusal('empty_agent_prompt', 'the prompt is empty')
  if (agent.launch?.isReady === false)
    throw new Refusal('agent_not_ready', `agent ${target} is not ready`)
  if (agent.label === undefined)
    throw new Refusal('agent_not_running', `agent ${target} is not running`)
  if (setting.profile !== '0.8' && agent.status === 'blocked')
    throw new Refusal('agent_blocked', `agent ${target} waits at a dialog`)
  return pane
}

async function enter(stage: Stage, pane: Pane): Promise<void> {
  await tick(enterAfterMs, new AbortController().signal)
  if (!pane.isGone) sendRaw(stage, pane, '\r')
}

interface Wait {
  readonly until: readonly AgentStatus[]
  readonly timeout_ms?: number | undefined
}

/** False when the client has left. */
async function settled(
  stage: Stage,
  pane: Pane,
  before: AgentStatus,
  wait: Wait,
  { signal }: Call,
): Promise<boolean> {
  const { id } = pane
  if (before !== 'working') {
    const moved = () => {
      checkRunning(pane, id)
      return pane.agent.status === before ? undefined : true
    }
    await polled(stage, signal, moved, stallMs, 'work').catch((cause) => {
      if (cause instanceof Refusal && cause.code === 'timeout')
        throw new Refusal('agent_prompt_stalled', 'the agent did not begin')
      throw cause
    })
  }
  const reached = () => reachedOne(pane, id, wait.until)
  return (await polled(stage, signal, reached, wait.timeout_ms, 'agent status')) === true
}

function reachedOne(pane: Pane, id: string, wanted: readonly AgentStatus[]): true | undefined {
  checkRunning(pane, id)
  return wanted.includes(pane.agent.status) ? true : undefined
}

/** An agent whose pane has moved counts as gone too. */
function checkRunning(pane: Pane, id: string): void {
  if (pane.isGone || pane.id !== id || pane.agent.label === undefined)
    throw new Refusal('agent_not_running', 'the agent is not running')
}

const agentResult = (world: World, pane: Pane): object => ({
  type: 'agent_info',
  agent: agentInfo(world, pane),
})

const quoted = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
