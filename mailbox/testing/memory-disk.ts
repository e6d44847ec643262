/**
 * A disk in memory, with what an operating system keeps of it in its cache.
 *
 * Every node and every directory has two contents: the one a process sees, and the one that is durable. A change
 * reaches the first at once and the second when its sync comes, or by luck: until then a power cut may keep or drop it.
 */

import assert from 'node:assert/strict'

/** Whose a node is: our own and private, ours but open to others, or another user's. */
export type Access = 'private' | 'loose' | 'foreign'

interface Common {
  /** Two names with one id are one node. Stays the same across power cuts. */
  readonly id: number
  readonly access: Access
}

export interface FileNode extends Common {
  readonly kind: 'file'
  bytes: Uint8Array
  durableBytes: Uint8Array
}

export interface DirectoryNode extends Common {
  readonly kind: 'directory'
  names: Map<string, Node>
  durableNames: Map<string, Node>
  /** Like the kernel's, a watch is on the node: it does not move to the next directory of that name. */
  readonly watchers: Set<() => void>
}

/** A link leads nowhere here: that no one follows it is what tests are about. */
export interface SpecialNode extends Common {
  readonly kind: 'symlink' | 'fifo'
}

export type Node = FileNode | DirectoryNode | SpecialNode

/** A name in a directory. */
export interface Place {
  readonly directory: DirectoryNode
  readonly name: string
}

/** What one name comes to stand for; nothing, if it is taken away. */
interface Naming extends Place {
  readonly node: Node | undefined
}

/** One operation on names, kept or dropped as a whole. */
export interface Change {
  readonly namings: readonly Naming[]
  /** The directories whose sync it waits for; durable once empty. */
  readonly unsynced: Set<DirectoryNode>
  /** The change that made the name this one moves: a kept move implies what it moved. */
  readonly builtOn: Change | undefined
  /** The directory this change removed. */
  readonly unmade: DirectoryNode | undefined
}

export class MemoryDisk {
  #root: DirectoryNode
  /** Oldest first. A durable change stays in line until all before it are durable, so that order is kept. */
  #changes: Change[] = []
  #unsyncedFiles = new Set<FileNode>()
  #nodes = 0

  constructor() {
    this.#root = this.newDirectory('private')
  }

  get root(): DirectoryNode {
    return this.#root
  }

  newFile(access: Access, bytes: Uint8Array): FileNode {
    return { id: this.#nodes++, kind: 'file', access, bytes, durableBytes: bytes }
  }

  newDirectory(access: Access): DirectoryNode {
    return {
      id: this.#nodes++,
      kind: 'directory',
      access,
      names: new Map(),
      durableNames: new Map(),
      watchers: new Set(),
    }
  }

  newSpecial(kind: SpecialNode['kind']): SpecialNode {
    return { id: this.#nodes++, kind, access: 'private' }
  }

  /** Gives `node` a name. */
  name({ directory, name }: Place, node: Node): Change {
    return this.#change([{ directory, name, node }])
  }

  /** Takes a name away. */
  unname({ directory, name }: Place): Change {
    const node = directory.names.get(name)
    const unmade = node?.kind === 'directory' ? node : undefined
    return this.#change([{ directory, name, node: undefined }], undefined, unmade)
  }

  /**
   * Moves a node from one name to another.
   *
   * Across directories the move is durable only once both are synced. Journaling file systems promise more, but
   * POSIX does not, and a protocol that needs no more is right on all of them.
   */
  move(from: Place, to: Place): Change {
    const node = from.directory.names.get(from.name)
    assert.ok(node !== undefined)
    const builtOn = this.#changes.findLast(
      ({ unsynced, namings }) =>
        unsynced.size > 0 &&
        namings.some(({ directory, name }) => directory === from.directory && name === from.name),
    )
    return this.#change(
      [
        { ...from, node: undefined },
        { ...to, node },
      ],
      builtOn,
    )
  }

  write(file: FileNode, bytes: Uint8Array): void {
    file.bytes = bytes
    this.#unsyncedFiles.add(file)
  }

  syncFile(file: FileNode): void {
    file.durableBytes = file.bytes
    this.#unsyncedFiles.delete(file)
  }

  /** The changes that a sync of `directory` covers if it starts now. */
  unsyncedIn(directory: DirectoryNode): readonly Change[] {
    return this.#changes.filter(({ unsynced }) => unsynced.has(directory))
  }

  /** A sync of `directory` that covers these changes has ended. */
  syncNames(changes: readonly Change[], directory: DirectoryNode): void {
    for (const change of changes) this.#synced(change, directory)
    this.#advance()
  }

  /** Everything reaches the disk, as it does in time without anyone asking. */
  syncAll(): void {
    for (const file of this.#unsyncedFiles) this.syncFile(file)
    for (const { unsynced } of this.#changes) unsynced.clear()
    this.#advance()
  }

  /**
   * For each thing that is not durable, the number of outcomes a power cut leaves it: a change is kept (0) or
   * dropped (1), the bytes of a file are whole (0), none (1), or half (2).
   */
  powerLossChoices(): readonly number[] {
    const changes = this.#changes.filter(({ unsynced }) => unsynced.size > 0).map(() => 2)
    return [
      ...changes,
      ...[...this.#unsyncedFiles].map(({ bytes }) => Math.min(bytes.length + 1, 3)),
    ]
  }

  /** This disk after a power cut with these outcomes, in the order of `powerLossChoices`. This one stays as it is. */
  afterPowerLoss(outcomes: readonly number[]): MemoryDisk {
    const disk = this.copy()
    disk.#losePower(outcomes)
    return disk
  }

  /** A second disk in the same state, watched by no one. Shares no node with this one. */
  copy(): MemoryDisk {
    const copies = new Map<Node, Node>()
    const twin = <N extends Node>(node: N): N => (copies.get(node) ?? duplicate(node)) as N
    const twins = (names: Map<string, Node>): Map<string, Node> =>
      new Map([...names].map(([name, node]) => [name, twin(node)]))
    const duplicate = (node: Node): Node => {
      if (node.kind !== 'directory') {
        const copy = { ...node }
        copies.set(node, copy)
        return copy
      }
      const copy: DirectoryNode = { ...node, watchers: new Set() }
      copies.set(node, copy) // before its names: they may lead back here
      copy.names = twins(node.names)
      copy.durableNames = twins(node.durableNames)
      return copy
    }
    const changes = new Map<Change, Change>()
    for (const change of this.#changes) {
      const { namings, unsynced, builtOn, unmade } = change
      changes.set(change, {
        namings: namings.map(({ directory, name, node }) => ({
          directory: twin(directory),
          name,
          node: node && twin(node),
        })),
        unsynced: new Set([...unsynced].map(twin)),
        builtOn: builtOn && changes.get(builtOn), // one that has left the line is durable
        unmade: unmade && twin(unmade),
      })
    }
    const disk = new MemoryDisk()
    disk.#root = twin(this.#root)
    disk.#changes = [...changes.values()]
    disk.#unsyncedFiles = new Set([...this.#unsyncedFiles].map(twin))
    disk.#nodes = this.#nodes
    return disk
  }

  #change(namings: readonly Naming[], builtOn?: Change, unmade?: DirectoryNode): Change {
    const touched = new Set<DirectoryNode>()
    for (const { directory, name, node } of namings) {
      for (const each of [directory, directory.names.get(name), node])
        if (each?.kind === 'directory') touched.add(each)
      setName(directory.names, name, node)
    }
    const unsynced = new Set(namings.map(({ directory }) => directory))
    const change: Change = { namings, unsynced, builtOn, unmade }
    this.#changes.push(change)
    for (const { watchers } of touched) for (const watcher of [...watchers]) watcher()
    return change
  }

  #synced(change: Change, directory: DirectoryNode): void {
    if (!change.unsynced.delete(directory) || change.unsynced.size > 0) return
    const { builtOn, unmade } = change
    if (builtOn !== undefined) for (const each of [...builtOn.unsynced]) this.#synced(builtOn, each)
    // A directory that is gone for good cannot give back a name.
    if (unmade !== undefined) for (const each of this.#changes) this.#synced(each, unmade)
  }

  #advance(): void {
    const waiting = this.#changes.findIndex(({ unsynced }) => unsynced.size > 0)
    const durable = this.#changes.splice(0, waiting === -1 ? this.#changes.length : waiting)
    for (const change of durable) applyToDisk(change)
  }

  #losePower(outcomes: readonly number[]): void {
    let next = 0
    const dropped = new Set<Change>()
    for (const change of this.#changes) {
      if (change.unsynced.size > 0 && outcomes[next++] !== 0) dropped.add(change)
      else if (change.builtOn !== undefined && dropped.has(change.builtOn)) dropped.add(change)
      else applyToDisk(change)
    }
    for (const file of this.#unsyncedFiles) {
      const { bytes } = file
      const length = [bytes.length, 0, bytes.length >> 1][outcomes[next++] ?? 0]
      file.durableBytes = bytes.subarray(0, length)
    }
    this.#changes = []
    this.#unsyncedFiles.clear()
    this.#forgetCache(this.#root, new Set())
  }

  #forgetCache(node: Node, seen: Set<Node>): void {
    if (seen.has(node)) return
    seen.add(node)
    if (node.kind === 'file') node.bytes = node.durableBytes
    if (node.kind !== 'directory') return
    node.names = new Map(node.durableNames)
    for (const below of node.names.values()) this.#forgetCache(below, seen)
  }
}

function applyToDisk({ namings }: Change): void {
  for (const { directory, name, node } of namings) setName(directory.durableNames, name, node)
}

function setName(names: Map<string, Node>, name: string, node: Node | undefined): void {
  if (node === undefined) names.delete(name)
  else names.set(name, node)
}
