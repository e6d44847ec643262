import { Refusal } from './fake-records.ts'
import type { Stage } from './fake-stage.ts'

/**
 * Looks once per tick until something is found.
 *
 * @throws Refusal timeout - not within the time, if one is given
 */
export async function polled<T>(
  stage: Stage,
  signal: AbortSignal,
  look: () => Promise<T | undefined> | T | undefined,
  timeoutMs: number | undefined,
  what: string,
): Promise<T | undefined> {
  const deadline = performance.now() + (timeoutMs ?? Number.POSITIVE_INFINITY)
  while (!signal.aborted) {
    const found = await look()
    if (found !== undefined) return found
    if (performance.now() >= deadline) throw new Refusal('timeout', `timed out waiting for ${what}`)
    await tick(stage.setting.tickMs, signal)
  }
  return undefined
}

/** Waits, and ends early when the client has left. */
export function tick(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const done = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', done)
  })
}
