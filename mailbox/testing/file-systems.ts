/** The two file systems that keep one contract, and what its tests say of both. For tests alone. */
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { diskFs } from '../disk-fs.ts'
import { MailboxError, type MailboxErrorCode } from '../errors.ts'
import type { MailboxFs } from '../ports.ts'
import { scratchDirectory } from './builders.ts'
import { MemoryFs, type Planted } from './memory-fs.ts'
import { plantOnDisk } from './plant-on-disk.ts'

interface FileSystem {
  readonly name: string
  /** Why no other user can be had here. */
  readonly noForeigners: string | false
  /** An empty private directory, and the hand that puts into it what we would not. */
  readonly open: () => {
    readonly fs: MailboxFs
    readonly root: string
    readonly plant: (path: string, what: Planted, bytes?: Uint8Array) => void
  }
}

const scratch = scratchDirectory()
let opened = 0

/** The one in memory, new each time it is opened. */
export const memory: FileSystem = {
  name: 'memory',
  noForeigners: false,
  open() {
    const fs = new MemoryFs()
    fs.makeDirectory('/m')
    return { fs, root: '/m', plant: (path, what, bytes) => fs.plant(path, what, bytes) }
  },
}

/** The real one, in a directory of its own each time it is opened. */
export const disk: FileSystem = {
  name: 'disk',
  noForeigners: process.getuid?.() === 0 ? false : 'only root can make files of another user',
  open() {
    const root = join(scratch, String(opened++))
    mkdirSync(root, { mode: 0o700 })
    function plant(path: string, what: Planted, bytes?: Uint8Array): void {
      const target = join(scratch, `target-${opened++}`)
      writeFileSync(target, 'target', { mode: 0o600 })
      plantOnDisk(path, what, target, bytes)
    }
    return { fs: diskFs, root, plant }
  },
}

/** The bytes of a text. */
export const bytesOf = (text: string): Uint8Array => Buffer.from(text)

/** A coded error that names the path. */
export const failure =
  (code: MailboxErrorCode, path: string) =>
  (error: unknown): boolean => {
    assert.ok(error instanceof MailboxError, String(error))
    assert.equal(error.code, code, error.message)
    assert.ok(error.message.includes(path), error.message)
    return true
  }
