import { readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { resultKeptDays } from './limits.ts'
import type { Clock } from './ports.ts'

const dayMs = 86_400_000

/** Removes the texts of long results that nobody has touched for `resultKeptDays`. Failing is silent: it is tried again. */
export function pruneResults(clock: Clock, directory: string): void {
  try {
    for (const name of readdirSync(directory)) {
      const path = join(directory, name)
      if (clock.now() - statSync(path).mtimeMs > resultKeptDays * dayMs) rmSync(path)
    }
  } catch {
    // Gone, or not ours to read: `doctor` is for that.
  }
}
