import { customAlphabet } from 'nanoid'
import type { Clock, Ids } from './ports.ts'

/** The real clock. The only place that reads time or sets a timer. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(delayMs, callback) {
    const timer = setTimeout(callback, delayMs)
    return () => clearTimeout(timer)
  },
  background(delayMs, callback) {
    const timer = setTimeout(callback, delayMs).unref()
    return () => clearTimeout(timer)
  },
  yield: () => new Promise((resolve) => setImmediate(resolve)),
}

const next = customAlphabet('0123456789abcdefghijklmnopqrstuvwxyz', 26)

/** Ids of 134 random bits. */
export const systemIds: Ids = { next: () => next() }
