import type { Decoded } from './codec.ts'
import { recordReadBytesMax } from './limits.ts'
import type { MailboxFs } from './ports.ts'

/** What the file at `path` says. `unreadable`: it is there, and is not to be believed. */
export function readDecoded<T>(
  fs: MailboxFs,
  path: string,
  decode: (bytes: Uint8Array) => Decoded<T>,
): T | 'absent' | 'unreadable' {
  const read = fs.read(path, recordReadBytesMax)
  if ('refusal' in read) return read.refusal === 'absent' ? 'absent' : 'unreadable'
  const decoded = decode(read.bytes)
  return 'refusal' in decoded ? 'unreadable' : decoded.value
}
