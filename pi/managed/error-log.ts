import { statSync, truncateSync } from 'node:fs'
import { type Clock, limits } from '../../mailbox/index.ts'

/** Keeps the error output of this process within its bound: it is appended to, so it may be emptied while in use. */
export function boundErrorLog(clock: Clock, file: string): () => void {
  let cancel: () => void
  const look = () => {
    cancel = clock.background(limits.rescanMs, look)
    const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0
    if (size <= limits.errorLogBytesMax) return
    try {
      truncateSync(file)
    } catch {
      // Settled meanwhile.
    }
  }
  look()
  return () => cancel()
}
