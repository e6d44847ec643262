import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import type { Planted } from './memory-fs.ts'

/**
 * Puts on disk what we would not: what `MemoryFs.plant` is in memory. For tests alone.
 *
 * @param target where a link leads
 */
export function plantOnDisk(
  path: string,
  what: Planted,
  target: string,
  bytes: Uint8Array = new Uint8Array(),
): void {
  if (what === 'symlink') {
    symlinkSync(target, path)
  } else if (what === 'fifo') {
    execFileSync('mkfifo', ['-m', '600', path])
  } else {
    const isFile = what.endsWith('file')
    if (isFile) writeFileSync(path, bytes)
    else mkdirSync(path)
    const mode = isFile ? 0o600 : 0o700
    chmodSync(path, what.startsWith('loose') ? mode | 0o040 : mode)
    if (what.startsWith('foreign')) chownSync(path, 65534, 65534)
  }
}
