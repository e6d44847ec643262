import { parentOf } from './layout.ts'
import { ballastBytes } from './limits.ts'
import type { Ids, MailboxFs } from './ports.ts'

/** Space set aside on the disk. Released once when the disk is full, so that finished work can still settle. */
export interface Reserve {
  /** `none`: it was used up before, and is set aside again when a session starts with space to spare. */
  release(): 'released' | 'none'
}

/** The reserve at `path`. */
export function reserveAt(fs: MailboxFs, path: string): Reserve {
  return {
    release() {
      try {
        return fs.remove(path) === 'removed' ? 'released' : 'none'
      } catch {
        return 'none'
      }
    },
  }
}

/** Sets the reserve aside unless it is there. Having none is no reason to refuse work: failing is silent. */
export async function setReserveAside(
  fs: MailboxFs,
  ids: Ids,
  path: string,
  bytes: number = ballastBytes,
): Promise<void> {
  const draft = `${path}-${ids.next()}`
  try {
    sweepDrafts(fs, path)
    if (fs.entry(path) !== undefined) return
    await fs.createSynced(draft, new Uint8Array(bytes))
    fs.link(draft, path)
  } catch {
    // The disk is full already.
  } finally {
    try {
      fs.remove(draft)
    } catch {}
  }
}

/** A process that died on its way left space taken and no reserve. One still on its way goes without. */
function sweepDrafts(fs: MailboxFs, path: string): void {
  const parent = parentOf(path)
  const name = path.slice(parent.length + 1)
  for (const each of fs.list(parent) ?? [])
    if (each.startsWith(`${name}-`)) fs.remove(`${parent}/${each}`)
}
