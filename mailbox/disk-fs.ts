import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  fsync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  unlinkSync,
  watch,
  write,
  writeSync,
} from 'node:fs'
import { promisify } from 'node:util'
import { MailboxError, mailboxError } from './errors.ts'
import type { MailboxFs, ReadOutcome } from './ports.ts'

const newFile = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW
const realDirectory = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW
/** Without O_NONBLOCK, opening a planted pipe would wait for its writer for ever. */
const anyFile = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

/** From here on a write costs more than its hand-over to a thread, bytes. */
const threadedBytesMin = 131_072

const sync = promisify(fsync)
const writeOnThread = promisify(write)

/**
 * The file system of this machine.
 *
 * `O_NOFOLLOW` guards the last name of a path only. What leads to it is ours and 0700, verified before its first use.
 */
export const diskFs: MailboxFs = {
  name: 'disk',

  makeDirectory(path) {
    try {
      mkdirSync(path, 0o700)
      chmodSync(path, 0o700) // the umask may have cut our own bits
      return 'made'
    } catch (error) {
      if (codeOf(error) === 'EEXIST') return 'exists'
      throw mailboxError(error, 'make directory', path)
    }
  },

  async createSynced(path, bytes) {
    const fd = attempt('create', path, () => openSync(path, newFile, 0o600))
    try {
      try {
        fchmodSync(fd, 0o600) // unconditional: asking for the mode first was measured to cost the same
        await writeAll(fd, bytes)
        await sync(fd)
      } finally {
        closeSync(fd)
      }
    } catch (error) {
      removeOwn(path)
      throw mailboxError(error, 'write', path)
    }
  },

  link(from, to) {
    try {
      linkSync(from, to)
      return 'linked'
    } catch (error) {
      if (codeOf(error) === 'EEXIST') return 'exists'
      throw mailboxError(error, 'link', to)
    }
  },

  rename(from, to) {
    attempt('rename', `${from} to ${to}`, () => renameSync(from, to))
  },

  remove(path) {
    try {
      unlinkSync(path)
      return 'removed'
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return 'absent'
      throw mailboxError(error, 'remove', path)
    }
  },

  removeTree(path) {
    attempt('remove', path, () => rmSync(path, { recursive: true, force: true }))
  },

  async syncDirectory(path) {
    const fd = attempt('open directory', path, () => openSync(path, realDirectory))
    try {
      try {
        await sync(fd)
      } finally {
        closeSync(fd)
      }
    } catch (error) {
      throw mailboxError(error, 'sync directory', path)
    }
  },

  list(path) {
    try {
      return readdirSync(path)
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined
      throw mailboxError(error, 'list', path)
    }
  },

  entry(path) {
    const found = attempt('look at', path, () => lstatSync(path, { throwIfNoEntry: false }))
    if (found === undefined) return undefined
    if (found.isFile()) return 'file'
    return found.isDirectory() ? 'directory' : 'other'
  },

  read(path, bytesMax) {
    const fd = openForReading(path)
    if (typeof fd !== 'number') return fd
    try {
      return readPrivateFile(fd, bytesMax)
    } catch (error) {
      throw mailboxError(error, 'read', path)
    } finally {
      closeSync(fd)
    }
  },

  verifyDirectory(path) {
    const found = attempt('look at', path, () => lstatSync(path))
    if (!found.isDirectory()) throw unsafe(`${path} is not a directory. Move it away.`)
    const ours = ownUid()
    if (found.uid !== ours)
      throw unsafe(
        `${path} belongs to user ${found.uid}, not to ${ours}. Remove it or run: chown ${ours} ${path}`,
      )
    if ((found.mode & 0o077) !== 0)
      throw unsafe(`${path} is open to others (mode ${octal(found.mode)}). Run: chmod 700 ${path}`)
  },

  watch(path, hint) {
    const watcher = attempt('watch', path, () => watch(path, { persistent: false }, () => hint()))
    watcher.on('error', () => watcher.close()) // from here on hints are lost, which is allowed
    return () => watcher.close()
  },
}

/** A write may take fewer bytes than it was given: on a disk that fills up it does, and only the next one fails. */
async function writeAll(fd: number, bytes: Uint8Array): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const left = bytes.length - done
    done +=
      left < threadedBytesMin
        ? writeSync(fd, bytes, done, left)
        : (await writeOnThread(fd, bytes, done, left)).bytesWritten
  }
}

/** Undoes our own creation. If even that fails, the first failure is the one to report. */
function removeOwn(path: string): void {
  try {
    unlinkSync(path)
  } catch {}
}

function openForReading(path: string): number | Extract<ReadOutcome, { refusal: string }> {
  try {
    return openSync(path, anyFile)
  } catch (error) {
    const code = codeOf(error)
    if (code === 'ENOENT') return { refusal: 'absent' }
    if (code === 'ELOOP') return { refusal: 'not-regular' }
    // A socket or a device without a driver cannot be opened at all.
    if (code === 'ENXIO' || code === 'ENODEV') return { refusal: 'not-regular' }
    if (code === 'EACCES') return refusalOfUnreadable(path)
    throw mailboxError(error, 'open', path)
  }
}

/** What may not be opened is planted by another user or has a mode that is never ours: refused, not a failure. */
function refusalOfUnreadable(path: string): Extract<ReadOutcome, { refusal: string }> {
  const found = attempt('look at', path, () => lstatSync(path, { throwIfNoEntry: false }))
  if (found === undefined) return { refusal: 'absent' }
  if (!found.isFile()) return { refusal: 'not-regular' }
  return { refusal: found.uid === ownUid() ? 'not-private' : 'not-ours' }
}

/** Judges the open file, not its name: what the name stands for may change at any time. */
function readPrivateFile(fd: number, bytesMax: number): ReadOutcome {
  const found = fstatSync(fd)
  if (!found.isFile()) return { refusal: 'not-regular' }
  if (found.uid !== ownUid()) return { refusal: 'not-ours' }
  if ((found.mode & 0o077) !== 0) return { refusal: 'not-private' }
  if (found.size > bytesMax) return { refusal: 'oversize' }
  let buffer = Buffer.allocUnsafe(found.size + 1)
  let length = 0
  for (;;) {
    const count = readSync(fd, buffer, length, buffer.length - length, null)
    length += count
    if (length > bytesMax) return { refusal: 'oversize' }
    if (count === 0 || length === found.size) return { bytes: buffer.subarray(0, length) }
    // It grows while we read: no more than one byte over the limit is ever taken in.
    if (length === buffer.length) buffer = Buffer.concat([buffer], bytesMax + 1)
  }
}

function attempt<T>(doing: string, path: string, action: () => T): T {
  try {
    return action()
  } catch (error) {
    throw mailboxError(error, doing, path)
  }
}

function unsafe(message: string): MailboxError {
  return new MailboxError('DROVER_MAILBOX_UNSAFE', 'report', message)
}

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code

const octal = (mode: number): string => (mode & 0o7777).toString(8)

const ownUid = (): number | undefined => process.getuid?.()
