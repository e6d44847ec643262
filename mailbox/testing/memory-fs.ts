import assert from 'node:assert/strict'
import { MailboxError, mailboxError } from '../errors.ts'
import type { Entry, MailboxFs, ReadOutcome } from '../ports.ts'
import {
  type Access,
  type DirectoryNode,
  MemoryDisk,
  type Node,
  type Place,
} from './memory-disk.ts'
import {
  type Fault,
  type FaultCode,
  type Look,
  type Operation,
  SystemError,
  strikesLook,
  strikesOperation,
} from './memory-faults.ts'
import { powerLosses } from './memory-power.ts'

/** What a hostile or careless hand may leave in a directory. Whatever had that name is gone. */
export type Planted =
  | 'file'
  | 'loose-file'
  | 'foreign-file'
  | 'directory'
  | 'loose-directory'
  | 'foreign-directory'
  | 'symlink'
  | 'fifo'

/** The process that called is dead: it does nothing any more, not even fail. Never a `MailboxError`. */
export class Crashed extends Error {
  override readonly name = 'Crashed'
}

/**
 * A file system in memory that can die, lose power and fail, at any operation and always in the same way.
 *
 * One of these is what one process sees of a disk. Paths are plain POSIX strings without `.` and `..`, and all
 * start at the root. A sync yields once before it takes effect, and covers only what was there when it was called.
 */
export class MemoryFs implements MailboxFs {
  readonly name = 'memory'
  /** Whether events of watched directories get lost on their way to this process. */
  loseHints = false
  readonly #disk: MemoryDisk
  #operations = 0
  #crashPoint = Number.POSITIVE_INFINITY
  #faults: Fault[] = []
  #dead = false

  constructor(disk: MemoryDisk = new MemoryDisk()) {
    this.#disk = disk
  }

  /**
   * Operation points passed so far, which is also the number of the next one.
   *
   * Every call that may change something is one, whether it does or not, and every sync. `createSynced` has three:
   * create, write, sync. `removeTree` has one for each name it removes.
   */
  get operations(): number {
    return this.#operations
  }

  /** Lets the process die at an operation point, before it takes effect. From then on every call throws `Crashed`. */
  crashAt(point: number): void {
    this.#crashPoint = point
  }

  /**
   * Lets operations fail without effect: the one at `point`, or from there on all that such a machine would fail
   * (a full disk still removes, a process without descriptors still links).
   */
  failAt(point: number, code: FaultCode, lasts: Fault['lasts']): void {
    this.#faults.push({ point, code, lasts })
  }

  /** Ends all faults. */
  heal(): void {
    this.#faults = []
  }

  /** Another process on the same disk: it sees the same files, and lives and fails by itself. */
  peer(): MemoryFs {
    return new MemoryFs(this.#disk)
  }

  /** Ends this process, and gives the next one. The machine goes on: all that was done is there. */
  crash(): MemoryFs {
    this.#dead = true
    return this.peer()
  }

  /** Everything so far becomes durable, as it does on a machine left alone for some seconds. */
  syncAll(): void {
    this.#disk.syncAll()
  }

  /** Outcomes a power cut now may have, equal ones counted apart. */
  get powerLossStateCount(): number {
    return this.#disk.powerLossChoices().reduce((product, choices) => product * choices, 1)
  }

  /**
   * Every state the disk may be in after a power cut now, each once; first the one in which nothing is lost.
   *
   * Each change that is not durable is kept or dropped, whatever happens to the others; unsynced bytes may also be
   * there by half. Computed as they are asked for, from the disk as it is at this call.
   */
  afterPowerLoss(): Iterable<MemoryFs> {
    return survivors(powerLosses(this.#disk))
  }

  /** One state the disk may be in after a power cut now: `pick(n)` chooses a number below n, for each thing at stake. */
  samplePowerLoss(pick: (choices: number) => number): MemoryFs {
    return new MemoryFs(this.#disk.afterPowerLoss(this.#disk.powerLossChoices().map(pick)))
  }

  /** The bytes of all regular files by path, and the kind of all else that is not a directory. */
  snapshot(): Map<string, string | Uint8Array> {
    const found = new Map<string, string | Uint8Array>()
    const walk = (path: string, directory: DirectoryNode): void => {
      for (const [name, node] of directory.names) {
        if (node.kind === 'directory') walk(`${path}/${name}`, node)
        else
          found.set(
            `${path}/${name}`,
            node.kind === 'file' ? new Uint8Array(node.bytes) : node.kind,
          )
      }
    }
    walk('', this.#disk.root)
    return found
  }

  /** Puts something there, durably and past all rules. No operation point. */
  plant(path: string, what: Planted, bytes: Uint8Array = new Uint8Array()): void {
    const place = this.#place(path)
    const change = this.#disk.name(place, this.#planted(what, new Uint8Array(bytes)))
    this.#disk.syncNames([change], place.directory)
  }

  makeDirectory(path: string): 'made' | 'exists' {
    return this.#operation('make directory', path, () => {
      if (this.#find(path) !== undefined) return 'exists'
      this.#disk.name(this.#place(path), this.#disk.newDirectory('private'))
      return 'made'
    })
  }

  async createSynced(path: string, bytes: Uint8Array): Promise<void> {
    const file = this.#operation('create', path, () => {
      const place = this.#place(path)
      if (place.directory.names.has(place.name)) throw new SystemError('EEXIST')
      const node = this.#disk.newFile('private', new Uint8Array())
      this.#disk.name(place, node)
      return node
    })
    try {
      this.#operation('write', path, () => this.#disk.write(file, new Uint8Array(bytes)))
      await Promise.resolve() // others may run while the device is busy
      this.#operation('sync file', path, () => this.#disk.syncFile(file))
    } catch (error) {
      this.#removeOwn(path)
      throw error
    }
  }

  link(from: string, to: string): 'linked' | 'exists' {
    return this.#operation('link', to, () => {
      const node = this.#existing(from)
      const place = this.#place(to)
      if (place.directory.names.has(place.name)) return 'exists'
      if (node.kind === 'directory') throw new SystemError('EPERM')
      this.#disk.name(place, node)
      return 'linked'
    })
  }

  rename(from: string, to: string): void {
    this.#operation('rename', `${from} to ${to}`, () => {
      const source = this.#place(from)
      const target = this.#place(to)
      const node = mustExist(source.directory.names.get(source.name))
      const replaced = target.directory.names.get(target.name)
      if (replaced === node) return // POSIX: two names of one file both stay
      if (contains(node, target.directory)) throw new SystemError('EINVAL')
      refuseReplacing(node, replaced)
      this.#disk.move(source, target)
    })
  }

  remove(path: string): 'removed' | 'absent' {
    return this.#operation('remove', path, () => {
      const node = this.#find(path)
      if (node === undefined) return 'absent'
      if (node.kind === 'directory') throw new SystemError('EISDIR')
      this.#disk.unname(this.#place(path))
      return 'removed'
    })
  }

  removeTree(path: string): void {
    const node = this.#look('open', 'remove', path, () => this.#find(path))
    if (node === undefined) return
    if (node.kind === 'directory')
      for (const name of [...node.names.keys()]) this.removeTree(`${path}/${name}`)
    this.#operation('remove', path, () => this.#disk.unname(this.#place(path)))
  }

  async syncDirectory(path: string): Promise<void> {
    const directory = this.#look('look', 'open directory', path, () => this.#directory(path))
    const covered = this.#disk.unsyncedIn(directory)
    await Promise.resolve()
    this.#operation('sync directory', path, () => this.#disk.syncNames(covered, directory))
  }

  list(path: string): readonly string[] | undefined {
    return this.#look('open', 'list', path, () => {
      const node = this.#find(path)
      return node && [...asDirectory(node).names.keys()]
    })
  }

  entry(path: string): Entry | undefined {
    return this.#look('look', 'look at', path, () => {
      const kind = this.#find(path)?.kind
      return kind === 'symlink' || kind === 'fifo' ? 'other' : kind
    })
  }

  read(path: string, bytesMax: number): ReadOutcome {
    return this.#look('open', 'read', path, () => {
      const node = this.#find(path)
      if (node === undefined) return { refusal: 'absent' }
      if (node.kind !== 'file') return { refusal: 'not-regular' }
      if (node.access === 'foreign') return { refusal: 'not-ours' }
      if (node.access === 'loose') return { refusal: 'not-private' }
      if (node.bytes.length > bytesMax) return { refusal: 'oversize' }
      return { bytes: new Uint8Array(node.bytes) }
    })
  }

  verifyDirectory(path: string): void {
    const { kind, access } = this.#look('look', 'look at', path, () => this.#existing(path))
    if (kind !== 'directory') throw unsafe(`${path} is not a directory. Move it away.`)
    if (access === 'foreign') throw unsafe(`${path} belongs to another user. Remove it.`)
    if (access === 'loose') throw unsafe(`${path} is open to others. Run: chmod 700 ${path}`)
  }

  watch(path: string, hint: () => void): () => void {
    const { watchers } = this.#look('open', 'watch', path, () => this.#directory(path))
    const watcher = (): void => {
      if (this.loseHints) return
      queueMicrotask(() => {
        if (!this.#dead && watchers.has(watcher)) hint()
      })
    }
    watchers.add(watcher)
    return () => watchers.delete(watcher)
  }

  /** One operation point. The process may die here, or the machine refuse; then nothing has happened. */
  #operation<T>(operation: Operation, path: string, action: () => T): T {
    if (this.#operations >= this.#crashPoint) this.#dead = true
    this.#mustLive()
    const point = this.#operations++
    return withPath(operation, path, () => {
      const fault = this.#faults.find((each) => strikesOperation(each, point, operation))
      if (fault !== undefined) throw new SystemError(fault.code)
      return action()
    })
  }

  #look<T>(look: Look, doing: string, path: string, action: () => T): T {
    this.#mustLive()
    return withPath(doing, path, () => {
      const fault = this.#faults.find((each) => strikesLook(each, this.#operations, look))
      if (fault !== undefined) throw new SystemError(fault.code)
      return action()
    })
  }

  #mustLive(): void {
    if (this.#dead) throw new Crashed(`The process died at operation ${this.#operations}.`)
  }

  /** Undoes our own creation, as the disk does: if even that fails, the first failure is the one to report. */
  #removeOwn(path: string): void {
    try {
      this.remove(path)
    } catch (error) {
      if (error instanceof Crashed) throw error
    }
  }

  #planted(what: Planted, bytes: Uint8Array): Node {
    if (what === 'symlink' || what === 'fifo') return this.#disk.newSpecial(what)
    const access: Access = what.startsWith('loose')
      ? 'loose'
      : what.startsWith('foreign')
        ? 'foreign'
        : 'private'
    return what.endsWith('file')
      ? this.#disk.newFile(access, bytes)
      : this.#disk.newDirectory(access)
  }

  #place(path: string): Place {
    const names = namesOf(path)
    const name = names.pop()
    assert.ok(name !== undefined, 'the root has no name')
    return { directory: asDirectory(mustExist(this.#walk(names))), name }
  }

  #directory(path: string): DirectoryNode {
    return asDirectory(this.#existing(path))
  }

  #existing(path: string): Node {
    return mustExist(this.#find(path))
  }

  #find(path: string): Node | undefined {
    return this.#walk(namesOf(path))
  }

  #walk(names: readonly string[]): Node | undefined {
    let node: Node | undefined = this.#disk.root
    for (const name of names) {
      if (node === undefined) return undefined
      node = asDirectory(node).names.get(name)
    }
    return node
  }
}

function* survivors(disks: Iterable<MemoryDisk>): Generator<MemoryFs> {
  for (const disk of disks) yield new MemoryFs(disk)
}

function withPath<T>(doing: string, path: string, action: () => T): T {
  try {
    return action()
  } catch (error) {
    throw error instanceof SystemError ? mailboxError(error, doing, path) : error
  }
}

function namesOf(path: string): string[] {
  const names = path.split('/').filter((name) => name !== '')
  assert.ok(!names.includes('.') && !names.includes('..'), `not a plain path: ${path}`)
  return names
}

function mustExist(node: Node | undefined): Node {
  if (node === undefined) throw new SystemError('ENOENT')
  return node
}

function asDirectory(node: Node): DirectoryNode {
  if (node.kind !== 'directory') throw new SystemError('ENOTDIR')
  return node
}

function contains(node: Node, sought: DirectoryNode): boolean {
  if (node === sought) return true
  return (
    node.kind === 'directory' && [...node.names.values()].some((each) => contains(each, sought))
  )
}

function refuseReplacing(node: Node, replaced: Node | undefined): void {
  if (replaced === undefined) return
  if (replaced.kind !== 'directory') {
    if (node.kind === 'directory') throw new SystemError('ENOTDIR')
    return
  }
  if (node.kind !== 'directory') throw new SystemError('EISDIR')
  if (replaced.names.size > 0) throw new SystemError('ENOTEMPTY')
}

function unsafe(message: string): MailboxError {
  return new MailboxError('DROVER_MAILBOX_UNSAFE', 'report', message)
}
