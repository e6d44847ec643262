/** The smallest valid things of this room, and a machine to live on. For tests alone: nothing that ships imports it. */
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { diskFs } from '../disk-fs.ts'
import type { Ids, MailboxFs, Processes, ProcessIdentity } from '../ports.ts'
import type {
  AcceptedRecord,
  AskRecord,
  ClaimFile,
  ClosedRecord,
  CloseRecord,
  FailureRecord,
  GenerationFile,
  Identity,
  LeaseFile,
  PlacedRecord,
  ReadyFile,
  RejectedRecord,
  ReplyRecord,
  ResultRecord,
  Runtime,
  SteerRecord,
  TaskRecord,
} from '../record.ts'
import { protocol } from '../record.ts'
import { MemoryFs } from './memory-fs.ts'

/** For fast-check: the seed of a failed run, to run it again. */
export function seed(): { readonly seed?: number } {
  const replay = process.env['DROVER_SEED']
  return replay === undefined ? {} : { seed: Number(replay) }
}

/** A valid id that a person can tell from others: `idOf('a')` begins with `a`. */
export const idOf = (name: string): string => name.padEnd(26, '0')

/** Ids that differ, the same ones in every run. */
export function countingIds(prefix = 'id'): Ids {
  let next = 0
  return { next: () => prefix + String(next++).padStart(26 - prefix.length, '0') }
}

export const identity = (changed: Partial<Identity> = {}): Identity => ({
  generation: idOf('generation'),
  owner: 'owner-session',
  session: 'agent-session',
  sessionFile: '/sessions/agent.jsonl',
  label: 'scout',
  cwd: '/project',
  ...changed,
})

const envelope = (id: string) => ({ protocol, id: idOf(id), identity: identity(), at: 1 }) as const

const owned = (id: string) => ({ ...envelope(id), lease: 1 }) as const

export const task = (id: string, text = 'work'): TaskRecord => ({
  ...owned(id),
  kind: 'task',
  text,
})
export const placed = (id: string): PlacedRecord => ({
  ...owned(id),
  kind: 'placed',
  placement: { runner: 'headless', process: processOf(2) },
})
export const steer = (id: string, text = 'more'): SteerRecord => ({
  ...owned(id),
  kind: 'steer',
  text,
})
export const reply = (id: string): ReplyRecord => ({
  ...owned(id),
  kind: 'reply',
  ask: idOf('ask'),
  text: 'yes',
})
export const close = (id: string): CloseRecord => ({
  ...owned(id),
  kind: 'close',
  reason: 'closed',
})

const answering = (id: string) => ({ ...envelope(id), request: idOf('task') }) as const

export const accepted = (id: string): AcceptedRecord => ({
  ...answering(id),
  kind: 'ack',
  accepted: true,
})
export const rejected = (id: string): RejectedRecord => ({
  ...answering(id),
  kind: 'ack',
  accepted: false,
  code: 'busy',
  message: 'at work',
})
export const ask = (id: string): AskRecord => ({
  ...answering(id),
  kind: 'ask',
  text: 'which?',
})
export const result = (id: string, text = 'done'): ResultRecord => ({
  ...answering(id),
  kind: 'result',
  text,
})
export const failure = (id: string): FailureRecord => ({
  ...answering(id),
  kind: 'failure',
  code: 'internal',
  message: 'broken',
})
export const closed = (id: string): ClosedRecord => ({
  ...answering(id),
  kind: 'closed',
  closed: [],
  notClosed: [],
  kept: [],
})

/** A process of the one machine and boot there is, unless a test says otherwise. */
export const processOf = (
  pid: number,
  changed: Partial<ProcessIdentity> = {},
): ProcessIdentity => ({
  host: 'host',
  boot: 'boot',
  namespace: 'pid:[1]',
  pid,
  started: String(pid),
  ...changed,
})

export const runtimeOf = (pid: number): Runtime => ({
  process: processOf(pid),
  nonce: idOf(`nonce${pid}x`),
})

export const generationFile = (changed: Partial<Identity> = {}): GenerationFile => ({
  protocol,
  kind: 'generation',
  identity: identity(changed),
  root: 'owner-session',
  depth: 1,
  definition: 'scout',
  runner: 'headless',
  build: '1',
  at: 1,
  starter: runtimeOf(1),
})

export const readyFile = (pid = 2): ReadyFile => ({
  protocol,
  kind: 'ready',
  identity: identity(),
  build: '1',
  at: 1,
  runtime: runtimeOf(pid),
})

export const claimFile = (generation: string, claimer: Runtime = runtimeOf(1)): ClaimFile => ({
  protocol,
  kind: 'claim',
  subject: 'scout',
  owner: 'owner-session',
  root: 'owner-session',
  generation: idOf(generation),
  claimer,
})

export const leaseFile = (holder?: Runtime, subject = 'owner-session'): LeaseFile => ({
  protocol,
  kind: 'lease',
  subject,
  ...(holder && { holder }),
})

/** The processes of one machine: each lives until a test ends it. */
export class Machine {
  readonly #boot: string
  readonly #fates = new Map<number, 'gone' | 'unknown'>()

  constructor(boot = 'boot') {
    this.#boot = boot
  }

  end(pid: number): void {
    this.#fates.set(pid, 'gone')
  }

  /** From now on nothing about it can be proven. */
  hide(pid: number): void {
    this.#fates.set(pid, 'unknown')
  }

  /** The process table as the process `pid` has it. */
  seenBy(pid: number): Processes {
    return {
      self: () => processOf(pid, { boot: this.#boot }),
      identify: (other) => processOf(other, { boot: this.#boot }),
      presence: ({ boot, pid }) =>
        boot === this.#boot ? (this.#fates.get(pid) ?? 'live') : 'gone',
      descendants: () => [],
      command: () => undefined,
      seesMarks: true,
      marked: () => [],
      bearing: () => [],
      signal: () => 'unknown',
    }
  }
}

/** A file system with calls of the test's own in place of some. */
export function withCalls(fs: MailboxFs, calls: Partial<MailboxFs>): MailboxFs {
  return new Proxy(fs, {
    get(target, key: keyof MailboxFs) {
      const call = calls[key] ?? target[key]
      return typeof call === 'function' && !(key in calls) ? call.bind(target) : call
    },
  })
}

/** Directories of a mailbox on one of the two file systems. */
export interface Mailbox {
  readonly fs: MailboxFs
  readonly root: string
  readonly records: string
  readonly drafts: string
  readonly quarantine: string
}

export interface Backend {
  readonly name: string
  readonly open: () => Mailbox
}

const directories = ['records', 'drafts', 'quarantine'] as const

function mailboxAt(fs: MailboxFs, root: string): Mailbox {
  for (const name of directories) fs.makeDirectory(`${root}/${name}`)
  const [records, drafts, quarantine] = directories.map((name) => `${root}/${name}`)
  return { fs, root, records, drafts, quarantine } as Mailbox
}

/** The same on a memory whose directories are durable. */
export function memoryMailbox(): Mailbox & { readonly fs: MemoryFs } {
  const fs = new MemoryFs()
  fs.makeDirectory('/m')
  const mailbox = mailboxAt(fs, '/m')
  fs.syncAll()
  return { ...mailbox, fs: fs.peer() }
}

/** A private directory, removed when this test file is over. */
export function scratchDirectory(): string {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'drover-test-')))
  chmodSync(directory, 0o700)
  process.on('exit', () => rmSync(directory, { recursive: true, force: true }))
  return directory
}

let scratch: string | undefined
let opened = 0

export const backends: readonly Backend[] = [
  { name: 'memory', open: memoryMailbox },
  {
    name: 'disk',
    open() {
      scratch ??= scratchDirectory()
      const root = join(scratch, String(opened++))
      mkdirSync(root, { mode: 0o700 })
      return mailboxAt(diskFs, root)
    },
  },
]

/**
 * Processes on one machine, of which one goes on at a time: each waits before every sync until the test lets it.
 *
 * What a process does between two syncs happens at once, so the order of these steps is the whole interleaving.
 */
export class Turns {
  readonly #waiting = new Map<string, () => void>()

  /** The file system as one process has it. */
  of(name: string, fs: MailboxFs): MailboxFs {
    return withCalls(fs, {
      createSynced: async (path, bytes) => {
        await this.pause(name)
        await fs.createSynced(path, bytes)
      },
      syncDirectory: async (path) => {
        await this.pause(name)
        await fs.syncDirectory(path)
      },
    })
  }

  /** Waits until the test lets this process go on. */
  pause(name: string): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.set(name, resolve)
    })
  }

  /** Runs these processes, one at a time, as `choose` says, until all have ended. */
  async run(lives: readonly Promise<void>[], choose: (waiting: number) => number): Promise<void> {
    const ends = Promise.allSettled(lives)
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve)) // until all of them wait or have ended
      const names = [...this.#waiting.keys()].sort()
      if (names.length === 0) break
      const name = names[choose(names.length)] as string
      const goOn = this.#waiting.get(name)
      this.#waiting.delete(name)
      goOn?.()
    }
    for (const end of await ends) if (end.status === 'rejected') throw end.reason
  }
}

/** Runs a script once for every way its choices can fall. Returns how many there were. */
export async function everyChoice(
  script: (choose: (among: number) => number) => Promise<void>,
): Promise<number> {
  let made: { choice: number; among: number }[] = []
  for (let runs = 1; ; runs++) {
    let step = 0
    await script((among) => {
      const now = made[step] ?? { choice: 0, among }
      made[step++] = now
      return now.choice
    })
    made = made.slice(0, step)
    while (made.length > 0 && (made.at(-1)?.choice ?? 0) + 1 === made.at(-1)?.among) made.pop()
    const last = made.at(-1)
    if (last === undefined) return runs
    last.choice++
  }
}
