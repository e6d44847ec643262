import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

/** Read at once, bytes. */
const chunkBytes = 65_536
/** Longest line handed over, bytes; of a longer one only its length is kept. */
const lineBytesMax = 1_048_576
/** Read backwards from the end for what was before, bytes. */
const beforeBytesMax = 4_194_304

/** One line of a file, without its end; or how long one was that is too long to be held. */
export type Line = { readonly text: string } | { readonly skippedBytes: number }

/**
 * The lines of a file that another process appends to, each once and whole. Holds no more than one line of it,
 * however large the file is.
 */
export class GrowingFile {
  readonly #path: string
  #inode = 0
  /** Where the next read begins. */
  #offset = 0
  #pending: Buffer[] = []
  #pendingBytes = 0
  #began = false

  constructor(path: string) {
    this.#path = path
  }

  /** Whether there is a file that can be read. */
  get isThere(): boolean {
    return this.#open((descriptor) => fstatSync(descriptor).isFile()) ?? false
  }

  /** Whole lines at the end, as far as they lie within some megabytes. What comes after is new. */
  end(): readonly string[] {
    return (
      this.#open((descriptor) => {
        const { size, ino } = fstatSync(descriptor)
        const from = Math.max(0, size - beforeBytesMax)
        const bytes = Buffer.alloc(size - from)
        const read = readSync(descriptor, bytes, 0, bytes.length, from)
        const last = bytes.lastIndexOf(0x0a, read - 1)
        const lines = bytes.subarray(0, Math.max(0, last)).toString().split('\n')
        if (from > 0) lines.shift() // its beginning was not read
        this.#startAt(ino, from + last + 1)
        return last < 0 ? [] : lines
      }) ?? []
    )
  }

  /** Calls back with every line that has been written since. A file that was replaced goes on at its end. */
  read(onLine: (line: Line) => void): void {
    this.#open((descriptor) => {
      const { size, ino } = fstatSync(descriptor)
      if (this.#began && (ino !== this.#inode || size < this.#offset)) this.#startAt(ino, size)
      if (!this.#began) this.#startAt(ino, 0)
      const chunk = Buffer.alloc(chunkBytes)
      for (;;) {
        const count = readSync(descriptor, chunk, 0, chunk.length, this.#offset)
        if (count === 0) return
        this.#offset += count
        this.#take(chunk.subarray(0, count), onLine)
      }
    })
  }

  #startAt(inode: number, offset: number): void {
    this.#began = true
    this.#inode = inode
    this.#offset = offset
    this.#pending = []
    this.#pendingBytes = 0
  }

  #take(bytes: Buffer, onLine: (line: Line) => void): void {
    let from = 0
    for (;;) {
      const end = bytes.indexOf(0x0a, from)
      const part = bytes.subarray(from, end === -1 ? bytes.length : end)
      this.#pendingBytes += part.length
      if (this.#pendingBytes > lineBytesMax) this.#pending = []
      else this.#pending.push(Buffer.from(part))
      if (end === -1) return
      if (this.#pendingBytes > lineBytesMax) onLine({ skippedBytes: this.#pendingBytes })
      else onLine({ text: Buffer.concat(this.#pending).toString() })
      this.#pending = []
      this.#pendingBytes = 0
      from = end + 1
    }
  }

  #open<T>(work: (descriptor: number) => T): T | undefined {
    let descriptor: number
    try {
      descriptor = openSync(this.#path, 'r')
    } catch {
      return undefined // not there yet, or not ours to read
    }
    try {
      return work(descriptor)
    } finally {
      closeSync(descriptor)
    }
  }
}
