import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readSync,
  realpathSync,
  statSync,
} from 'node:fs'
import type { Attachment } from '../mailbox/index.ts'
import { pathFrom } from './paths.ts'

/** Files one message may name. */
export const attachmentsMax = 64

/** Why a file cannot be attached, and what to do. */
export interface AttachmentProblem {
  readonly problem: string
  readonly next: string
}

/** Room for all of a record that is not its message: identity, ids, JSON. Generous, so that what fits is admitted. */
const envelopeBytes = 12_288

export interface AttachOptions {
  /** Where relative paths start: the sender's directory. */
  readonly cwd: string
  /** The message the files go with. */
  readonly text: string
  /** Largest file whose text is embedded, bytes. */
  readonly inlineBytesMax: number
  readonly recordBytesMax: number
}

/** Bytes a record with this message and these files has at most. */
export const recordBytes = (text: string, files: readonly Attachment[]): number =>
  envelopeBytes + Buffer.byteLength(JSON.stringify({ text, files }))

/**
 * The files of one message: each by its canonical path and size, and with its whole text where that is strict UTF-8
 * without NUL, within the limit of a file, and the record with it within the limit of a record. In the caller's order;
 * the first of two names for one file counts. Never a part of a file.
 */
export function attach(
  names: readonly string[],
  options: AttachOptions,
): readonly Attachment[] | AttachmentProblem {
  if (names.length > attachmentsMax)
    return {
      problem: `${names.length} files are attached; at most ${attachmentsMax} can be.`,
      next: 'Attach those that matter; name a directory in the text for the rest.',
    }
  const found: { readonly reference: Attachment; readonly text: string | undefined }[] = []
  const seen = new Set<string>()
  for (const name of names) {
    const file = look(pathFrom(options.cwd, name), options.inlineBytesMax)
    if ('problem' in file) return file
    if (seen.has(file.key)) continue
    seen.add(file.key)
    found.push({ reference: { path: file.path, bytes: file.bytes }, text: file.text })
  }
  const files = found.map(({ reference }) => reference)
  for (const [i, { reference, text }] of found.entries()) {
    if (text === undefined) continue
    const embedded = files.with(i, { ...reference, text })
    if (recordBytes(options.text, embedded) <= options.recordBytesMax)
      files[i] = { ...reference, text }
  }
  return files
}

interface Looked {
  readonly path: string
  /** Device and inode: what makes two names one file. */
  readonly key: string
  readonly bytes: number
  readonly text: string | undefined
}

function look(name: string, inlineBytesMax: number): Looked | AttachmentProblem {
  let descriptor: number
  let path: string
  try {
    path = realpathSync(name)
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    return unreadable(name, error)
  }
  try {
    const before = fstatSync(descriptor)
    if (before.isDirectory())
      return problem(`${name} is a directory.`, 'Attach its files, or name it in the text.')
    if (!before.isFile()) return problem(`${name} is not a regular file.`, 'Attach a regular file.')
    const text = before.size <= inlineBytesMax ? read(descriptor, before.size) : undefined
    const after = fstatSync(descriptor)
    const named = statSync(path, { throwIfNoEntry: false })
    const isReplaced = named?.dev !== before.dev || named.ino !== before.ino
    if (isReplaced || after.size !== before.size || after.mtimeMs !== before.mtimeMs)
      return problem(`${name} changed while it was read.`, 'Attach it again once it is written.')
    return { path, key: `${before.dev}:${before.ino}`, bytes: before.size, text }
  } catch (error) {
    return unreadable(name, error)
  } finally {
    closeSync(descriptor)
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The whole file as text, or undefined where it is not strict UTF-8 text or has another length than it says. */
function read(descriptor: number, size: number): string | undefined {
  const bytes = Buffer.alloc(size + 1)
  let length = 0
  for (;;) {
    const read = readSync(descriptor, bytes, length, bytes.length - length, length)
    if (read === 0) break
    length += read
  }
  if (length !== size || bytes.subarray(0, length).includes(0)) return undefined
  try {
    return utf8.decode(bytes.subarray(0, length))
  } catch {
    return undefined
  }
}

function unreadable(name: string, error: unknown): AttachmentProblem {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ENOENT')
    return problem(`${name} does not exist.`, 'Correct the path, or leave it out.')
  return problem(`${name} cannot be read (${code}).`, 'Give access to it, or leave it out.')
}

function problem(what: string, next: string): AttachmentProblem {
  return { problem: what, next }
}
