import { closeSync, constants, fstatSync, openSync, readSync, realpathSync } from 'node:fs'

/** Largest definition file, and largest file that a body refers to, bytes. */
export const fileBytesMax = 65_536

export type TextOutcome =
  | {
      readonly text: string
      /** Where the bytes really are, links followed. */
      readonly realPath: string
    }
  | { readonly problem: string }

/** Reads a small text file whole, or says why not. */
export type ReadText = (path: string, bytesMax: number) => TextOutcome

/**
 * Reads from the disk. Links are followed: people keep their definitions elsewhere and link them, and whoever can
 * write here could write the file itself. Never waits on a pipe, never reads a part.
 */
export const readText: ReadText = (path, bytesMax) => {
  let descriptor: number | undefined
  try {
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    if (!fstatSync(descriptor).isFile()) return { problem: 'not a regular file' }
    const bytes = new Uint8Array(bytesMax + 1)
    let length = 0
    for (;;) {
      const read = readSync(descriptor, bytes, length, bytes.length - length, null)
      length += read
      if (length > bytesMax) return { problem: `larger than ${bytesMax} bytes` }
      if (read === 0) break
    }
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, length))
    return { text, realPath: realpathSync(path) }
  } catch (error) {
    return { problem: problemOf(error) }
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}

export function problemOf(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ENOENT') return 'does not exist'
  if (code === 'ELOOP') return 'its links lead in a circle'
  return code === 'ERR_ENCODING_INVALID_ENCODED_DATA'
    ? 'not UTF-8'
    : `cannot be read: ${code ?? error}`
}
