import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { z } from 'zod'
import {
  decodeOwnerRecord,
  diskFs,
  encode,
  Journal,
  type OwnerRecord,
  systemClock,
  systemIds,
} from '../mailbox/index.ts'
import { type Effort, type Family, type Figure, interleave, median, ratioOf } from './measure.ts'
import { identity, recordName, recordOf } from './records.ts'
import type { Workspace } from './workspace.ts'

const efforts = { full: 9, quick: 2 }
const records = 10_000

/** What a restart costs that finds 10,000 records waiting. Nothing is written, so all rounds read one directory. */
export async function measureReplay(workspace: Workspace, effort: Effort): Promise<Family> {
  const root = workspace.fresh('records', 'quarantine')
  for (let number = 1; number <= records; number++) {
    const record = recordOf(1_024)
    const path = `${root}/records/${recordName(number, record)}`
    writeFileSync(path, encode(record), { flag: 'wx', mode: 0o600 })
  }
  const floor = () => timed(() => bareLoop(`${root}/records`))
  const results = await interleave(
    { floor, control: floor, journal: () => timed(() => replay(root)) },
    efforts[effort],
  )
  const figure = (name: string, ms: readonly number[]): Figure => ({
    name,
    value: median(ms),
    unit: 'ms',
    ...(ms !== results.floor && { ratio: ratioOf(ms, results.floor) }),
  })
  return {
    name: `journal replay of ${records} records of 1 KiB, warm page cache`,
    floor:
      'readdir, then readFileSync, JSON.parse and a strict zod object of this one kind, in any order; no check of owner, mode, links, duplicate keys or identity; ratio of time',
    figures: [
      figure('floor', results.floor),
      figure('floor against itself (A/A)', results.control),
      figure('Journal.scan until nothing is left', results.journal),
    ],
  }
}

async function timed(replay: () => number | Promise<number>): Promise<number> {
  const begun = performance.now()
  const count = await replay()
  const ms = performance.now() - begun
  assert.equal(count, records)
  return ms
}

/** As every reader of ours does it: between two windows the event loop goes on. */
async function replay(root: string): Promise<number> {
  const journal = new Journal<OwnerRecord>({
    fs: diskFs,
    ids: systemIds,
    directory: `${root}/records`,
    quarantine: `${root}/quarantine`,
    untrusted: 'quarantine',
    identity,
    decode: decodeOwnerRecord,
  })
  let count = 0
  for (let more = true; more; ) {
    const scan = journal.scan()
    count += scan.records.length
    more = scan.more
    if (more) await systemClock.yield()
  }
  return count
}

const id = z.string().regex(/^[0-9a-z]{26}$/)
const name = z.string().min(1)
const steer = z.strictObject({
  protocol: z.literal(4),
  kind: z.literal('steer'),
  id,
  identity: z.strictObject({
    generation: id,
    owner: name,
    session: name,
    sessionFile: name,
    label: name,
    cwd: name,
  }),
  at: z.int().min(0),
  lease: z.int().min(1),
  text: name,
})

function bareLoop(directory: string): number {
  const read: unknown[] = []
  for (const file of readdirSync(directory))
    read.push(steer.parse(JSON.parse(readFileSync(`${directory}/${file}`, 'utf8'))))
  return read.length
}
