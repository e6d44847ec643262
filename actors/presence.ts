import type { Clock, MailboxFs, Processes, ProcessIdentity } from '../mailbox/index.ts'
import type { AgentMailbox, MailboxState } from './agent-mailbox.ts'
import type { Presence, Runners } from './ports.ts'

export interface PresencePorts {
  readonly fs: MailboxFs
  readonly clock: Clock
  readonly runners: Runners
  readonly signal: AbortSignal
}

/** What the process table proves of one process. One that was never recorded proves nothing. */
export function presenceIn(processes: Processes, process: ProcessIdentity | undefined): Presence {
  if (process === undefined) return 'unknown'
  const presence = processes.presence(process)
  return presence === 'gone' ? 'lost' : presence
}

/** What can be proved now about the process of an agent. One that was never started proves nothing yet. */
export async function presenceOf(
  { runners }: Pick<PresencePorts, 'runners'>,
  mailbox: AgentMailbox,
): Promise<Presence> {
  const { placement, generation, paths } = mailbox
  if (placement === undefined || placement === 'contradictory') return 'unknown'
  const runner = runners.get(placement.runner)
  if (runner === undefined) return 'unknown'
  try {
    return await runner.observe({ generation, paths, placement })
  } catch {
    return 'unknown'
  }
}

/** Reads all that is new, giving the event loop back between windows. */
export async function lookThrough(clock: Clock, mailbox: AgentMailbox): Promise<MailboxState> {
  let state = mailbox.look()
  while (state === 'more') {
    await clock.yield()
    state = mailbox.look()
  }
  return state
}

/** Where hints may get lost, and a process may end without one. */
const pollMs = 250

/**
 * Waits until something is true of a mailbox or its process, looking on every hint and on a slow poll.
 *
 * @returns false when the time ran out, the mailbox is gone, or the wait was aborted
 */
export async function until(
  { fs, clock, runners, signal }: PresencePorts,
  mailbox: AgentMailbox,
  timeoutMs: number,
  isTrue: () => Promise<boolean>,
): Promise<boolean> {
  const deadline = clock.monotonic() + timeoutMs
  const wakeUp = new WakeUp(clock)
  const ends = [
    watchIfPossible(fs, mailbox.paths.agent, wakeUp.hint),
    runners.get(mailbox.generation.runner)?.onChange(wakeUp.hint) ?? (() => {}),
  ]
  signal.addEventListener('abort', wakeUp.hint)
  try {
    while (!signal.aborted) {
      const state = await lookThrough(clock, mailbox)
      if (await isTrue()) return true
      const leftMs = deadline - clock.monotonic()
      if (state === 'gone' || leftMs <= 0) return false
      await wakeUp.wait(Math.min(pollMs, leftMs))
    }
    return false
  } finally {
    signal.removeEventListener('abort', wakeUp.hint)
    for (const end of ends) end()
  }
}

/** A watch on a directory; where none can be had, polling has to do. */
function watchIfPossible(fs: MailboxFs, directory: string, hint: () => void): () => void {
  try {
    return fs.watch(directory, hint)
  } catch {
    return () => {}
  }
}

/** Remembers a hint that came while nobody waited. */
class WakeUp {
  readonly #clock: Clock
  #isHinted = false
  #wake: (() => void) | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  readonly hint = (): void => {
    this.#isHinted = true
    this.#wake?.()
  }

  async wait(timeoutMs: number): Promise<void> {
    if (!this.#isHinted)
      await new Promise<void>((resolve) => {
        const cancel = this.#clock.after(timeoutMs, resolve)
        this.#wake = () => {
          cancel()
          resolve()
        }
      })
    this.#isHinted = false
    this.#wake = undefined
  }
}
