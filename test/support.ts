import assert from 'node:assert/strict'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { generations, leftovers, processesIn } from '../demo/evidence.ts'
import { type PiOptions, PiProcess, Sandbox, spawnPi } from '../demo/pi-process.ts'
import type { ScriptRule } from '../demo/scripted-model.ts'
import type { ProcessIdentity } from '../mailbox/index.ts'
import { herdrOfLane } from './herdr-lane.ts'

/** The herdr that leads are to live in: one for all tests of a file, as a person has one for all work. */
const herdr = await herdrOfLane(process.env['DROVER_TEST_HERDR'])

/** Whether agents live in panes, where they stay until their result is told, with a person before them. */
export const inPanes: boolean = 'HERDR_ENV' in herdr

/** A sandbox that ends with the test: whatever still runs in it is killed, then it is removed. */
export function sandbox(t: TestContext, rules: readonly ScriptRule[]): Sandbox {
  const place = new Sandbox(rules)
  place.around = herdr
  t.after(() => {
    for (const pid of processesIn(place)) process.kill(pid, 'SIGKILL')
    rmSync(place.directory, { recursive: true, force: true })
  })
  return place
}

export const startPi = (place: Sandbox, options: Omit<PiOptions, 'sandbox'> = {}): PiProcess =>
  new PiProcess({ sandbox: place, ...options })

/** A lead that was told to start, and the file of its session. */
export async function started(
  place: Sandbox,
  options: Omit<PiOptions, 'sandbox'> = {},
): Promise<{ readonly lead: PiProcess; readonly file: string }> {
  const lead = startPi(place, options)
  lead.prompt('please start')
  return { lead, file: await sessionFile(lead) }
}

/** Waits for a fact about the world outside: looks again and again until it is one. */
export async function fact<T>(
  what: string,
  isTrue: () => T | undefined | false,
  timeoutMs: number = 30_000,
): Promise<T> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    const value = isTrue()
    if (value !== undefined && value !== false) return value
    assert.ok(performance.now() < deadline, `not within ${timeoutMs} ms: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** Nothing is left of any agent: no mailbox, no claim, no process but these. */
export async function settled(
  place: Sandbox,
  alive: readonly PiProcess[] = [],
  timeoutMs?: number,
): Promise<void> {
  await fact('every generation is settled', () => generations(place).length === 0, timeoutMs)
  await fact('no process is left', () => {
    const own = new Set(alive.map(({ pid }) => pid))
    return processesIn(place).every((pid) => own.has(pid))
  })
  assert.deepEqual(leftovers(place), [])
}

export async function sessionFile(pi: PiProcess): Promise<string> {
  const { sessionFile: file } = await pi.request('get_state')
  return String(file)
}

/** How a run of the lead ended, so many of them so far. */
export const runs = (pi: PiProcess): number =>
  pi.events.filter(({ type }) => type === 'agent_end').length

/** The messages by which a process was told something, in the order they came. */
export function mails(pi: PiProcess): string[] {
  return pi.events
    .filter(({ type }) => type === 'message_end')
    .map((event) => event['message'] as { customType?: string; content: string })
    .filter(({ customType }) => customType === 'drover-mail')
    .map(({ content }) => content)
}

/** What a process told its person, in the order it came. */
export const notices = (pi: PiProcess): string[] =>
  pi.events
    .filter((event) => event.type === 'extension_ui_request' && event['method'] === 'notify')
    .map((event) => String(event['message']))

/** The answers of the `agent` tool, in the order they came. */
export function toolAnswers(
  pi: PiProcess,
): { text: string; isError: boolean; details: Record<string, unknown> }[] {
  return pi.events
    .filter((event) => event.type === 'tool_execution_end' && event['toolName'] === 'agent')
    .map((event) => {
      const result = event['result'] as {
        content: { text: string }[]
        details: Record<string, unknown>
      }
      return {
        text: result.content.map(({ text }) => text).join(''),
        isError: event['isError'] === true,
        details: result.details,
      }
    })
}

/** What an agent notes of its own work. */
export function activityIn(generation: string): string {
  const file = join(generation, 'activity/activity.json')
  return existsSync(file) ? readFileSync(file, 'utf8') : ''
}

/** Prompts a lead, and waits for this many answers of the `agent` tool. */
export async function answersTo(
  lead: PiProcess,
  prompt: string,
  count: number = 1,
): Promise<ReturnType<typeof toolAnswers>> {
  const before = toolAnswers(lead).length
  lead.prompt(prompt)
  await fact(`the answers to ${prompt}`, () => toolAnswers(lead).length === before + count)
  return toolAnswers(lead).slice(before)
}

interface AgentCall {
  readonly name: 'agent'
  readonly args: Record<string, unknown>
}

/** A call of the `agent` tool. */
export const agentCall = (args: Record<string, unknown>): AgentCall => ({ name: 'agent', args })

/** A call of the `agent` tool that delegates. */
export const delegate = (
  definition: string,
  task: string,
  more: Record<string, unknown> = {},
): AgentCall => agentCall({ action: 'delegate', definition, task, ...more })

/** The process of the one living agent, as its mailbox has it. */
export function placement(place: Sandbox): ProcessIdentity | undefined {
  const [ready] = generations(place).flatMap(({ path }) => {
    const file = join(path, 'agent/ready.json')
    return existsSync(file) ? [JSON.parse(readFileSync(file, 'utf8'))] : []
  })
  return ready?.runtime.process
}

/** Opens Pi for one answer, as `pi -p` does. */
export async function printPi(
  place: Sandbox,
  args: readonly string[],
): Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr?: string }> {
  const child = spawnPi(place, ['-p', ...args])
  child.stdin.end() // what comes that way is part of its prompt
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve))
  const [code, stdout, stderr] = await Promise.all([exited, text(child.stdout), text(child.stderr)])
  return { code, stdout, ...(code !== 0 && { stderr }) }
}
