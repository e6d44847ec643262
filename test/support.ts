import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type PiOptions, PiProcess, Sandbox } from '../demo/pi-process.ts'
import type { ScriptRule } from '../demo/scripted-model.ts'
import { diskFs, hashedName, listGenerations } from '../mailbox/index.ts'

/** A sandbox that ends with the test: whatever still runs in it is killed, then it is removed. */
export function sandbox(t: TestContext, rules: readonly ScriptRule[]): Sandbox {
  const place = new Sandbox(rules)
  t.after(() => {
    for (const pid of processesIn(place)) process.kill(pid, 'SIGKILL')
    rmSync(place.directory, { recursive: true, force: true })
  })
  return place
}

export const startPi = (place: Sandbox, options: Omit<PiOptions, 'sandbox'> = {}): PiProcess =>
  new PiProcess({ sandbox: place, ...options })

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

/** All processes that were started in a sandbox and still run. */
export function processesIn({ agentDirectory }: Sandbox): number[] {
  const mark = `PI_CODING_AGENT_DIR=${agentDirectory}`
  return readdirSync('/proc').flatMap((name) => {
    try {
      const isIts = readFileSync(`/proc/${name}/environ`, 'latin1').split('\0').includes(mark)
      return isIts && !/^\d+ \(.*\) [ZX]/.test(readFileSync(`/proc/${name}/stat`, 'latin1'))
        ? [Number(name)]
        : []
    } catch {
      return []
    }
  })
}

export interface LivingGeneration {
  readonly path: string
  readonly records: readonly { readonly kind: string; readonly [field: string]: unknown }[]
}

/** Every generation on disk, whoever owns it, with all its records. */
export function generations({ agentDirectory }: Sandbox): LivingGeneration[] {
  const root = join(agentDirectory, 'drover', 'mailboxes-v4')
  if (!existsSync(root)) return []
  const owners = readdirSync(root).filter((name) => name.length === hashedName('').length)
  return owners.flatMap((owner) =>
    ['', 'starting', 'settled'].flatMap((stage) =>
      listGenerations(diskFs, join(root, owner, stage)).map((name) => {
        const path = join(root, owner, stage, name)
        return {
          path,
          records: [...recordsIn(join(path, 'owner')), ...recordsIn(join(path, 'agent'))],
        }
      }),
    ),
  )
}

function recordsIn(directory: string): { readonly kind: string }[] {
  try {
    return readdirSync(directory)
      .filter((name) => name.endsWith('.json'))
      .map((name) => JSON.parse(readFileSync(join(directory, name), 'utf8')))
  } catch {
    return [] // settled while we looked
  }
}

export const hasRecord = (place: Sandbox, kind: string): boolean =>
  generations(place).some(({ records }) => records.some((record) => record.kind === kind))

/** Claims, drafts and results that should not outlive their generation. */
export function leftovers({ agentDirectory }: Sandbox): string[] {
  const root = join(agentDirectory, 'drover', 'mailboxes-v4')
  if (!existsSync(root)) return []
  return readdirSync(root, { recursive: true, withFileTypes: true }).flatMap((entry) => {
    const path = join(entry.parentPath, entry.name)
    return entry.isFile() && !/\/(lease|takeover)\/\d+$/.test(path) ? [path] : []
  })
}

/** Every saved session: the lead's, and one for each agent that was ever ready. */
export function sessionFiles({ agentDirectory }: Sandbox): string[] {
  const root = join(agentDirectory, 'sessions')
  return existsSync(root)
    ? readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) =>
        name.endsWith('.jsonl'),
      )
    : []
}

/** The results a session file really holds, in order, by label. */
export function delivered(sessionFile: string): string[] {
  if (!existsSync(sessionFile)) return [] // the host writes it with its first answer
  return readFileSync(sessionFile, 'utf8')
    .split('\n')
    .filter((line) => line.includes('"drover-result"'))
    .map((line) => JSON.parse(line))
    .filter((entry) => entry.type === 'custom_message')
    .flatMap((entry) =>
      entry.details.results.map((result: { agentLabel: string }) => result.agentLabel),
    )
}

/** Nothing is left of any agent: no mailbox, no claim, no process but these. */
export async function settled(place: Sandbox, alive: readonly PiProcess[] = []): Promise<void> {
  await fact('every generation is settled', () => generations(place).length === 0)
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

/** A call of the `agent` tool that delegates. */
export function delegate(
  definition: string,
  task: string,
  more: Record<string, unknown> = {},
): { readonly name: string; readonly args: Record<string, unknown> } {
  return { name: 'agent', args: { action: 'delegate', definition, task, ...more } }
}
