import { watch } from 'node:fs'
import { constants, type FileHandle, open } from 'node:fs/promises'
import type { Clock } from '../../../mailbox/index.ts'
import { conversation, type Entry, entryOf, type Item } from './entries.ts'
import { type Line, LineSplitter } from './lines.ts'

/** Entries kept, and their text, characters: the newest; older ones are let go. */
export const entriesMax = 400
const charsMax = 4_194_304
/** As much of a file is kept of its end when it is opened, bytes. */
export const tailBytesMax = 4_194_304
/** As far back it is looked through for that, bytes; farther only to find where its last line begins. */
const scanBytesMax = 67_108_864
/** As much of one line is read, bytes. */
export const lineBytesMax = 262_144
/** One read, bytes. */
const pieceBytes = 65_536
/** What is compared to see that a file goes on where it was left, bytes. */
const seamBytes = 64
/** Between two looks at a file that grows, ms. */
const lookMs = 250
/** Between two looks when nothing hints that it grew, ms. */
const rescanMs = 2_000
/** How long lines are read before everything else may run, ms. */
const sliceMs = 4

/** Says when a file may have changed. Hints may get lost. Throws where none can be had. */
export type WatchFile = (path: string, hint: () => void) => () => void

export interface TranscriptPorts {
  readonly clock: Clock
  readonly watch?: WatchFile
}

/** Where the reading of a file has come to. */
interface Place {
  /** Which file it is: a name can be given to another one. */
  readonly file: string
  offset: number
  /** The last bytes before `offset`. */
  seam: Buffer
  readonly splitter: LineSplitter
}

/**
 * The newest part of a session file, and what is added to it. Memory is bounded whatever the file holds: it is read from
 * its end, piece by piece, beside all other work.
 */
export class Transcript {
  readonly #path: string
  readonly #clock: Clock
  readonly #watch: WatchFile
  readonly #changed: () => void
  #entries: Entry[] = []
  #chars = 0
  #items: readonly Item[] | undefined
  #hasEarlier = false
  #problem: string | undefined
  #place: Place | undefined
  #looking: Promise<void> | undefined
  #lookedMs = Number.NEGATIVE_INFINITY
  #cancel: () => void = () => {}
  #unwatch: (() => void) | undefined
  #watched: string | undefined
  #isHinted = false
  #isOver = false

  /** @param changed called back when there is something else to show */
  constructor(path: string, { clock, watch = watchFile }: TranscriptPorts, changed: () => void) {
    this.#path = path
    this.#clock = clock
    this.#watch = watch
    this.#changed = changed
  }

  get items(): readonly Item[] {
    this.#items ??= conversation(this.#entries)
    return this.#items
  }

  /** Whether the file holds more than what is kept of it. */
  get hasEarlier(): boolean {
    return this.#hasEarlier
  }

  /** Why nothing can be read, where that is so. */
  get problem(): string | undefined {
    return this.#problem
  }

  /** Reads what is there now, then goes on by itself. */
  async start(): Promise<void> {
    await this.look()
  }

  async stop(): Promise<void> {
    this.#isOver = true
    this.#cancel()
    this.#unwatch?.()
    await this.#looking
  }

  /** Looks at the file now, or as soon as the look that goes on is over. */
  async look(): Promise<void> {
    await this.#looking
    if (this.#isOver) return
    this.#looking ??= this.#lookOnce()
    await this.#looking
  }

  async #lookOnce(): Promise<void> {
    this.#cancel()
    this.#isHinted = false
    let isNew = false
    try {
      isNew = await this.#read()
    } catch (error) {
      isNew = this.#failed(error as NodeJS.ErrnoException)
    }
    this.#lookedMs = this.#clock.monotonic()
    this.#looking = undefined
    if (this.#isOver) return
    this.#lookIn(this.#isHinted ? lookMs : rescanMs)
    if (isNew) this.#changed()
  }

  #failed({ code, message }: NodeJS.ErrnoException): boolean {
    const problem = code === 'ENOENT' ? 'It has no session file yet.' : message
    const isNew = problem !== this.#problem
    this.#problem = problem
    return isNew
  }

  #hint(): void {
    if (this.#isOver || this.#isHinted) return
    this.#isHinted = true
    if (this.#looking === undefined)
      this.#lookIn(Math.max(0, this.#lookedMs + lookMs - this.#clock.monotonic()))
  }

  #lookIn(delayMs: number): void {
    this.#cancel()
    this.#cancel = this.#clock.background(delayMs, () => void this.look())
  }

  /** @returns whether something else is to be shown */
  async #read(): Promise<boolean> {
    const handle = await open(this.#path, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      const stat = await handle.stat()
      if (!stat.isFile()) throw new Error('Its session file is not a file.')
      const { size } = stat
      const file = `${stat.dev}:${stat.ino}`
      this.#watchNow(file)
      const hadProblem = this.#problem !== undefined
      this.#problem = undefined
      if (await this.#goesOn(handle, file, size)) {
        const from = this.#place?.offset ?? 0
        return (await this.#readTo(handle, from, size)) || hadProblem
      }
      await this.#readTail(handle, file, size)
      return true
    } finally {
      await handle.close()
    }
  }

  #watchNow(file: string): void {
    if (this.#isOver || this.#watched === file) return
    this.#unwatch?.()
    this.#unwatch = undefined
    this.#watched = undefined
    try {
      this.#unwatch = this.#watch(this.#path, () => this.#hint())
      this.#watched = file
    } catch {
      // Without a watch the rescan finds what is new.
    }
  }

  /** Whether what was read is still there and a bounded part is new; otherwise it is read anew, from the end. */
  async #goesOn(handle: FileHandle, file: string, size: number): Promise<boolean> {
    const place = this.#place
    if (place?.file !== file || size < place.offset || size - place.offset > tailBytesMax)
      return false
    const { seam, offset } = place
    const there = Buffer.alloc(seam.length)
    await handle.read(there, 0, seam.length, offset - seam.length)
    return there.equals(seam)
  }

  async #readTail(handle: FileHandle, file: string, size: number): Promise<void> {
    const start = await tailStart(handle, size)
    this.#entries = []
    this.#chars = 0
    this.#items = undefined
    this.#hasEarlier = start > 0
    const splitter = new LineSplitter(lineBytesMax)
    this.#place = { file, offset: start, seam: Buffer.alloc(0), splitter }
    await this.#readTo(handle, start, size)
  }

  /** @returns whether a line came to its end */
  async #readTo(handle: FileHandle, from: number, size: number): Promise<boolean> {
    const place = this.#place
    const buffer = Buffer.alloc(Math.min(pieceBytes, Math.max(0, size - from)))
    let isNew = false
    let sinceMs = this.#clock.monotonic()
    while (place !== undefined && place.offset < size && !this.#isOver) {
      const wanted = Math.min(buffer.length, size - place.offset)
      const { bytesRead } = await handle.read(buffer, 0, wanted, place.offset)
      if (bytesRead === 0) break // it has become shorter; the next look sees that
      const piece = buffer.subarray(0, bytesRead)
      place.offset += bytesRead
      place.seam = Buffer.concat([place.seam, piece.subarray(-seamBytes)]).subarray(-seamBytes)
      for (const line of place.splitter.push(piece)) {
        this.#add(line)
        isNew = true
        if (this.#clock.monotonic() - sinceMs < sliceMs) continue
        await this.#clock.yield()
        sinceMs = this.#clock.monotonic()
      }
    }
    return isNew
  }

  #add(line: Line): void {
    if (line.bytes === 0) return
    const entry = entryOf(line)
    this.#items = undefined
    this.#entries.push(entry)
    this.#chars += entry.chars
    while (
      this.#entries.length > entriesMax ||
      (this.#chars > charsMax && this.#entries.length > 1)
    ) {
      this.#chars -= this.#entries.shift()?.chars ?? 0
      this.#hasEarlier = true
    }
  }
}

/**
 * Where the last lines of a file begin: so many of them, or so many bytes of what is kept of them, but always one. Long
 * lines are passed over, up to a limit.
 */
async function tailStart(handle: FileHandle, size: number): Promise<number> {
  const buffer = Buffer.alloc(Math.min(pieceBytes, size))
  let start = size
  let lines = 0
  let keptBytes = 0
  for (let end = size; end > 0; ) {
    if (start < size && size - end >= scanBytesMax) return start
    const from = Math.max(0, end - buffer.length)
    const { bytesRead } = await handle.read(buffer, 0, end - from, from)
    const piece = buffer.subarray(0, bytesRead)
    for (let at = piece.lastIndexOf(newline); at !== -1; at = lastNewline(piece, at)) {
      const begins = from + at + 1
      if (begins === size) continue // the end of the last line begins no other
      keptBytes += Math.min(start - begins, lineBytesMax)
      start = begins
      if (++lines >= entriesMax || keptBytes >= tailBytesMax) return start
    }
    end = from
  }
  return 0
}

const newline = 0x0a

const lastNewline = (piece: Buffer, before: number): number =>
  before === 0 ? -1 : piece.lastIndexOf(newline, before - 1)

const watchFile: WatchFile = (path, hint) => {
  const watcher = watch(path, { persistent: false }, () => hint())
  watcher.on('error', () => watcher.close()) // from here on hints are lost
  return () => watcher.close()
}
