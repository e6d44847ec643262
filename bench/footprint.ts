import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import {
  createGeneration,
  diskFs,
  limits,
  ownerPaths,
  prepareOwner,
  prepareRoot,
  protocol,
  rootPaths,
  systemIds,
} from '../mailbox/index.ts'
import type { Footprint } from './footprint-child.ts'
import { type Effort, type Family, interleave, median } from './measure.ts'
import { generationFile } from './records.ts'
import type { Workspace } from './workspace.ts'

const efforts = { full: 3, quick: 1 }
const mailboxes = 200
const megabyte = 1_000_000

/** What it costs to hold agents: memory of a process with 200 of them open over one without. */
export async function measureFootprint(workspace: Workspace, effort: Effort): Promise<Family> {
  const owner = await createOwner(workspace)
  const of = (footprint: Footprint) => () => rssOf(footprint, owner)
  const rss = await interleave(
    { bare: of('bare'), loaded: of('loaded'), open: of('open') },
    efforts[effort],
  )
  const over = (more: readonly number[], less: readonly number[]) =>
    median(more.map((bytes, round) => (bytes - (less[round] ?? Number.NaN)) / megabyte))
  const unit = 'MB'
  return {
    name: `memory of ${mailboxes} open mailboxes, each with task, outbox, watch and actor`,
    floor: 'resident memory of a bare Node process, after garbage collection; difference',
    figures: [
      { name: 'bare process', value: median(rss.bare) / megabyte, unit },
      { name: 'code loaded (with tsx), over bare', value: over(rss.loaded, rss.bare), unit },
      {
        name: `${mailboxes} open, over loaded`,
        value: over(rss.open, rss.loaded),
        unit,
        goal: { atMost: 30 },
      },
      {
        name: `${mailboxes} open, over bare`,
        value: over(rss.open, rss.bare),
        unit,
        goal: { atMost: 30 },
      },
    ],
  }
}

async function createOwner(workspace: Workspace): Promise<string> {
  const root = rootPaths(workspace.fresh())
  prepareRoot(diskFs, root)
  const owner = ownerPaths(root, 'bench')
  prepareOwner(diskFs, owner)
  const text = 'x'.repeat(limits.recordBytesLowest)
  await Promise.all(
    Array.from({ length: mailboxes }, () => {
      const file = generationFile(systemIds.next())
      const { identity } = file
      const id = systemIds.next()
      const task = { protocol, kind: 'task', id, identity, at: 0, lease: 1, text } as const
      return createGeneration(diskFs, owner, file, task)
    }),
  )
  return owner.directory
}

async function rssOf(footprint: Footprint, owner: string): Promise<number> {
  const child = fork(
    fileURLToPath(new URL('./footprint-child.ts', import.meta.url)),
    [footprint, owner],
    { execArgv: [...process.execArgv, '--expose-gc'] },
  )
  const exited = once(child, 'exit')
  const [rss] = (await Promise.race([once(child, 'message'), exited.then(() => [undefined])])) as [
    number | undefined,
  ]
  child.kill()
  await exited
  if (rss === undefined) throw new Error(`the ${footprint} process ended without an answer`)
  return rss
}
