import { readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { parentOf } from './layout.ts'
import { resultKeptDays } from './limits.ts'
import type { Clock, Ids, MailboxFs } from './ports.ts'

/**
 * Keeps the whole text of a result at `path`, unless it is there.
 *
 * Durable: once this resolves, the text survives power loss, whole. A half-written one never has that name.
 */
export async function keepText(fs: MailboxFs, ids: Ids, path: string, text: string): Promise<void> {
  const directory = parentOf(path)
  if (fs.entry(path) === undefined) {
    const draft = `${directory}/draft-${ids.next()}`
    try {
      await fs.createSynced(draft, Buffer.from(text))
      fs.link(draft, path)
      await fs.syncDirectory(directory)
    } finally {
      removeIfPossible(fs, draft)
    }
  } else await fs.syncDirectory(directory) // the attempt that made it may have died before its sync
}

/** What stays behind is removed when results are pruned. */
function removeIfPossible(fs: MailboxFs, path: string): void {
  try {
    fs.remove(path)
  } catch {}
}

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
