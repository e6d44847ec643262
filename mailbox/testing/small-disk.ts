import { MailboxError, type MailboxErrorCode } from '../errors.ts'
import { MemoryFs } from './memory-fs.ts'

/** A disk with two durable directories. */
export function mailbox(): MemoryFs {
  const fs = new MemoryFs()
  for (const path of ['/m', '/m/drafts', '/m/in']) fs.makeDirectory(path)
  fs.syncAll()
  return fs.peer()
}

export const f: Uint8Array = Buffer.from('1234')

/** Admission: the one way that loses nothing it promised. */
export async function admit(fs: MemoryFs): Promise<void> {
  await fs.createSynced('/m/drafts/f', f)
  fs.link('/m/drafts/f', '/m/in/f')
  await fs.syncDirectory('/m/in')
  fs.remove('/m/drafts/f')
}

/** Every file and its bytes, or its kind, in one line. */
export function shown(fs: MemoryFs): string {
  const files = [...fs.snapshot()].map(
    ([path, what]) => `${path.slice(3)}=${typeof what === 'string' ? what : Buffer.from(what)}`,
  )
  return files.sort().join(' ')
}

export const afterPowerLoss = (fs: MemoryFs): string[] => [...fs.afterPowerLoss()].map(shown).sort()

export const coded =
  (code: MailboxErrorCode) =>
  (error: unknown): boolean =>
    error instanceof MailboxError && error.code === code
