import type { Clock } from '../mailbox/index.ts'
import type { HerdrClient } from './client.ts'
import { HerdrError, isNotFound, isUnsupported } from './errors.ts'
import type { Launcher } from './launcher.ts'
import type { PaneInfo } from './records.ts'

/** How long a new shell may take to run one line, ms: some load much when they start. */
const shellMs = 20_000
/** Between two looks at a new shell, ms. */
const lookMs = 150
/** A line that did nothing for so long was lost in the start of the shell, ms; then for twice as long. */
const repeatMs = 2_000

/**
 * Has a new shell run a launcher by typing one line, once the shell is seen idle. What is typed while a shell starts
 * may be lost, so the line is repeated, but only while the launcher is provably not run.
 *
 * @throws Error - it was not run in time, the start was aborted, or the pane went away
 */
export async function runTyped(
  client: HerdrClient,
  clock: Clock,
  { pane_id }: PaneInfo,
  launcher: Launcher,
  signal?: AbortSignal,
): Promise<void> {
  const { line } = launcher
  const deadline = clock.monotonic() + shellMs
  let typeAt = 0
  let waitMs = repeatMs
  let wasIdle = false
  for (;;) {
    const isIdle = await isAtRest(client, pane_id, launcher)
    if (!launcher.isWaiting) return
    signal?.throwIfAborted()
    const now = clock.monotonic()
    if (now > deadline)
      throw new Error(
        `the shell of its new pane ${pane_id} did not run the launcher within ${shellMs / 1_000} s`,
      )
    if (isIdle && wasIdle && now >= typeAt) {
      typeAt = now + waitMs
      waitMs *= 2
      await type(client, pane_id, line)
    }
    wasIdle = isIdle
    await new Promise<void>((resolve) => clock.after(lookMs, resolve))
  }
}

async function type(client: HerdrClient, pane_id: string, text: string): Promise<void> {
  try {
    await client.request('pane.send_input', { pane_id, text, keys: ['enter'] })
  } catch (error) {
    if (!(error instanceof HerdrError) || isNotFound(error)) throw error
    // Whether it arrived is seen by what it does; what did nothing is typed again.
  }
}

/** Whether nothing but the shell itself runs in a pane. */
async function isAtRest(
  client: HerdrClient,
  pane_id: string,
  launcher: Launcher,
): Promise<boolean> {
  try {
    const { process_info: info } = await client.request('pane.process_info', { pane_id })
    const pids = info.foreground_processes.map(({ pid }) => pid)
    return pids.length > 0 && pids.every((pid) => pid === info.shell_pid)
  } catch (error) {
    if (!(error instanceof HerdrError)) throw error
    if (isUnsupported(error)) return true
    if (isNotFound(error) && launcher.isWaiting)
      throw new Error(`its new pane ${pane_id} went away before the launcher was run`)
    return false
  }
}
