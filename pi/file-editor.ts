import { chmodSync, closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import {
  type Clock,
  holdsLease,
  type Ids,
  type LeasePlace,
  type MailboxFs,
  type Processes,
  type RootPaths,
  type Runtime,
  releaseLease,
  takeLease,
} from '../mailbox/index.ts'
import { real } from './definitions/index.ts'

export interface FileEditorPorts {
  readonly fs: MailboxFs
  readonly clock: Clock
  readonly ids: Ids
  readonly processes: Processes
  readonly root: RootPaths
  readonly runtime: Runtime
}

/** Largest file that is changed, bytes: settings and definitions are far smaller. */
const fileBytesMax = 1_048_576
/** A change takes some milliseconds; one that waits longer than this waits for somebody who hangs, ms. */
const turnWaitMs = 10_000
const turnLookMs = 20

/**
 * Changes small files of the person: settings and definitions.
 *
 * Read, change and write are one step among all windows of this user, under a lease that only proof of death frees,
 * so two windows lose nothing of each other. An editor that knows no lease is not overwritten either: a file that is
 * not what was read is refused. What is written is whole or not there, and durable; a link stays a link, a mode stays.
 */
export class FileEditor {
  readonly #ports: FileEditorPorts
  /** Changes of this process: to the lease they are one holder. */
  #last: Promise<unknown> = Promise.resolve()

  constructor(ports: FileEditorPorts) {
    this.#ports = ports
  }

  /**
   * @param edit makes the new text of the present one, undefined where there is no file; what it throws is thrown on
   * @throws Error - nothing was changed; the message says why and what to do
   */
  change(path: string, edit: (text: string | undefined) => string): Promise<void> {
    const done = this.#last.then(() => this.#inTurn(path, edit))
    this.#last = done.catch(() => {})
    return done
  }

  async #inTurn(path: string, edit: (text: string | undefined) => string): Promise<void> {
    const { fs, ids, processes, root, runtime } = this.#ports
    const drafts = `${root.editing}/drafts`
    for (const directory of [root.drover, root.editing, drafts])
      if (fs.makeDirectory(directory) === 'exists') fs.verifyDirectory(directory)
    const place = { fs, ids, processes, directory: root.editing, drafts, subject: 'editing' }
    const number = await this.#takeTurn(place)
    try {
      await this.#replace(path, edit, () => holdsLease(place, runtime, number))
    } finally {
      await releaseLease(place, runtime)
    }
  }

  async #takeTurn(place: LeasePlace): Promise<number> {
    const { clock, runtime } = this.#ports
    const deadline = clock.monotonic() + turnWaitMs
    for (;;) {
      const answer = await takeLease(place, runtime)
      if (answer.outcome === 'held') return answer.number
      const isOver = answer.outcome === 'unreadable' || clock.monotonic() > deadline
      if (isOver)
        throw new Error(
          `It cannot be told whether another window is changing files now. Try again; if it stays so, close the other windows and remove ${place.directory}.`,
        )
      await new Promise<void>((resolve) => clock.after(turnLookMs, resolve))
    }
  }

  async #replace(
    path: string,
    edit: (text: string | undefined) => string,
    isOurTurn: () => boolean,
  ): Promise<void> {
    const { fs, ids } = this.#ports
    const before = readWhole(path)
    const text = before && decoded(path, before.bytes)
    const next = edit(text)
    if (next === text) return
    if (before === undefined) fs.makeDirectory(dirname(path))
    const target = before === undefined ? join(real(dirname(path)), basename(path)) : real(path)
    const draft = `${target}.${ids.next()}`
    await fs.createSynced(draft, Buffer.from(next))
    try {
      if (before !== undefined) chmodSync(draft, before.mode)
      // From here to the end nothing is awaited: what is read now is what is replaced.
      if (!isOurTurn() || !isSame(before?.bytes, readWhole(path)?.bytes))
        throw changedMeanwhile(path)
      if (before !== undefined) fs.rename(draft, target)
      else if (fs.link(draft, target) === 'exists') throw changedMeanwhile(path)
    } finally {
      fs.remove(draft)
    }
    await fs.syncDirectory(dirname(target))
  }
}

const changedMeanwhile = (path: string): Error =>
  new Error(`${path} was changed meanwhile by somebody else; nothing was written. Try again.`)

function isSame(a: Buffer | undefined, b: Buffer | undefined): boolean {
  return a === undefined || b === undefined ? a === b : a.equals(b)
}

/** Never waits on a pipe. */
function readWhole(path: string): { readonly bytes: Buffer; readonly mode: number } | undefined {
  let descriptor: number
  try {
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  try {
    const found = fstatSync(descriptor)
    if (!found.isFile()) throw new Error(`${path} is not a regular file. Mend or remove it first.`)
    if (found.size > fileBytesMax)
      throw new Error(`${path} is larger than ${fileBytesMax} bytes. Mend or remove it first.`)
    return { bytes: readFileSync(descriptor), mode: found.mode & 0o777 }
  } finally {
    closeSync(descriptor)
  }
}

/** With its byte order mark: it is a part of the file. */
function decoded(path: string, bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new Error(`${path} is not UTF-8 text. Mend or remove it first.`)
  }
}
