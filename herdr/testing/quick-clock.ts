import type { Clock } from '../../mailbox/index.ts'

/** The real clock, going so many times faster: minutes of waiting take seconds. */
export function quickClock(factor: number): Clock {
  const begun = performance.now()
  const monotonic = () => (performance.now() - begun) * factor
  const timer = (delayMs: number, callback: () => void) => setTimeout(callback, delayMs / factor)
  return {
    monotonic,
    now: () => 1_790_000_000_000 + Math.round(monotonic()),
    after(delayMs, callback) {
      const set = timer(delayMs, callback)
      return () => clearTimeout(set)
    },
    background(delayMs, callback) {
      const set = timer(delayMs, callback).unref()
      return () => clearTimeout(set)
    },
    yield: () => new Promise((resolve) => setImmediate(resolve)),
  }
}
