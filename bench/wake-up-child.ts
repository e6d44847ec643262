import { watch } from 'node:fs'
import chokidar from 'chokidar'
import { Actor } from '../actors/actor.ts'
import { AgentMailbox } from '../actors/agent-mailbox.ts'
import {
  decodeOwnerRecord,
  diskFs,
  type GenerationPaths,
  generationPaths,
  Journal,
  type OwnerRecord,
  systemClock,
  systemIds,
} from '../mailbox/index.ts'
import { generationFile } from './records.ts'

/** What the receiving process can be woken by, and how it then gets at the record. */
export type Receiver = 'none' | 'scan' | 'agent' | 'chokidar'

export type ToChild =
  | {
      readonly type: 'watch'
      readonly receiver: Receiver
      readonly parent: string
      readonly generation: string
    }
  | { readonly type: 'report'; readonly expected: number }

export type FromChild =
  | { readonly type: 'watching' }
  | { readonly type: 'seen'; readonly bare: Times; readonly handled: Times }

/** By record id: nanoseconds of the monotonic clock, which all processes of one machine share. */
export type Times = ReadonlyMap<string, bigint>

interface Round {
  readonly receiver: Receiver
  readonly bare: Map<string, bigint>
  readonly handled: Map<string, bigint>
  readonly close: () => void | Promise<void>
}

let round: Round | undefined

process.on('message', async (message: ToChild) => {
  if (message.type === 'watch') {
    const paths = generationPaths(message.parent, message.generation)
    round = await begin(message.receiver, paths, message.generation)
    send({ type: 'watching' })
  } else if (round !== undefined) {
    await waitFor(round, message.expected)
    await round.close()
    send({ type: 'seen', bare: round.bare, handled: round.handled })
  }
})
process.on('disconnect', () => process.exit())

function send(message: FromChild): void {
  process.send?.(message)
}

/** The bare callback comes first in line: what it is compared with pays for it, and never the other way round. */
async function begin(
  receiver: Receiver,
  paths: GenerationPaths,
  generation: string,
): Promise<Round> {
  const bare = new Map<string, bigint>()
  const handled = new Map<string, bigint>()
  const watcher = watch(paths.owner, (_, name) => {
    const now = process.hrtime.bigint()
    const id = name?.slice(-31, -5)
    if (id !== undefined && !bare.has(id)) bare.set(id, now)
  })
  const handle = (records: readonly OwnerRecord[]) => {
    const now = process.hrtime.bigint()
    for (const { id } of records) handled.set(id, now)
  }
  const end = await receivers[receiver](paths, generation, handle)
  const close = async () => {
    watcher.close()
    await end()
  }
  return { receiver, bare, handled, close }
}

type Receive = (
  paths: GenerationPaths,
  generation: string,
  handle: (records: readonly OwnerRecord[]) => void,
) => Promise<() => void | Promise<void>>

const receivers: Readonly<Record<Receiver, Receive>> = {
  /** The bare callback has the process to itself; nobody reads the record. */
  async none() {
    return () => {}
  },

  async scan(paths, generation, handle) {
    const journal = journalOf(paths, generation)
    return diskFs.watch(paths.owner, () => handle(journal.scan().records))
  },

  /** The whole way of a managed agent: a hint is told to its actor, which looks through both directories. */
  async agent(paths, generation, handle) {
    const mailbox = new AgentMailbox(
      diskFs,
      systemIds,
      paths,
      generationFile(generation),
      'quarantine',
    )
    let known = 0
    let isLookQueued = false
    const actor = new Actor<'look'>({
      name: 'agent',
      clock: systemClock,
      handle: () => {
        isLookQueued = false
        mailbox.look()
        handle(mailbox.records.owner.slice(known))
        known = mailbox.records.owner.length
      },
    })
    return diskFs.watch(paths.owner, () => {
      if (isLookQueued) return
      isLookQueued = true
      actor.tell('look')
    })
  },

  /** chokidar at its cheapest: it may wake us, and looks at no record itself. */
  async chokidar(paths, generation, handle) {
    const journal = journalOf(paths, generation)
    const watcher = chokidar.watch(paths.owner, {
      depth: 0,
      ignoreInitial: true,
      atomic: false,
      followSymlinks: false,
      ignored: (path) => path !== paths.owner,
    })
    watcher.on('raw', () => handle(journal.scan().records))
    await new Promise<void>((resolve) => watcher.once('ready', resolve))
    return () => watcher.close()
  },
}

function journalOf(paths: GenerationPaths, generation: string): Journal<OwnerRecord> {
  return new Journal<OwnerRecord>({
    fs: diskFs,
    ids: systemIds,
    directory: paths.owner,
    quarantine: paths.quarantine,
    untrusted: 'quarantine',
    identity: generationFile(generation).identity,
    decode: decodeOwnerRecord,
  })
}

const patienceMs = 2_000

async function waitFor({ receiver, bare, handled }: Round, expected: number): Promise<void> {
  const last = receiver === 'none' ? bare : handled
  const begun = performance.now()
  while (last.size < expected && performance.now() - begun < patienceMs) await systemClock.yield()
}
