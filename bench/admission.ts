import assert from 'node:assert/strict'
import {
  closeSync,
  constants,
  fchmodSync,
  fsync,
  fsyncSync,
  linkSync,
  openSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { promisify } from 'node:util'
import { diskFs, encode, Outbox, type SteerRecord } from '../mailbox/index.ts'
import {
  type Effort,
  type Family,
  type Figure,
  interleave,
  latencyOf,
  median,
  ratioOf,
} from './measure.ts'
import { recordName, recordOf } from './records.ts'
import type { Workspace } from './workspace.ts'

const efforts = {
  full: { rounds: 20, serialRecords: 50, flightRecords: 192 },
  quick: { rounds: 6, serialRecords: 25, flightRecords: 96 },
}
const inFlight = 32

interface Round {
  readonly perSecond: number
  readonly samplesUs: readonly number[]
}

/** What it costs to make a record durable. */
export async function measureAdmission(workspace: Workspace, effort: Effort): Promise<Family> {
  return {
    name: 'durable admission',
    floor:
      'the system calls of one admission in their order, one record after the other, record encoded before, both syncs on the thread pool; ratio of records/s',
    figures: [
      ...(await measureSize(workspace, effort, '1 KiB', 1_024)),
      ...(await measureSize(workspace, effort, '8 KiB', 8_192)),
    ],
  }
}

async function measureSize(
  workspace: Workspace,
  effort: Effort,
  size: string,
  bytes: number,
): Promise<readonly Figure[]> {
  const { rounds, serialRecords, flightRecords } = efforts[effort]
  const floor = () => floorRound(workspace, bytes, serialRecords, syncOnThread)
  const results = await interleave(
    {
      floor,
      control: floor,
      synchronous: () => floorRound(workspace, bytes, serialRecords, fsyncSync),
      serial: () => droverRound(workspace, bytes, serialRecords, 1),
      flight: () => droverRound(workspace, bytes, flightRecords, inFlight),
    },
    rounds,
  )
  const figure = (name: string, of: readonly Round[], goal?: Figure['goal']): Figure => ({
    name: `${size} ${name}`,
    value: median(of.map(({ perSecond }) => perSecond)),
    unit: 'records/s',
    latency: latencyOf(of.flatMap(({ samplesUs }) => samplesUs)),
    ...(of !== results.floor && { ratio: ratioOf(...perSecondOf(of, results.floor)) }),
    ...(goal && { goal }),
  })
  return [
    figure('floor', results.floor),
    figure('floor against itself (A/A)', results.control),
    figure('floor, all synchronous', results.synchronous),
    figure('Outbox.admit, one at a time', results.serial, { atLeast: 0.8 }),
    figure(`Outbox.admit, ${inFlight} in flight`, results.flight, { atLeast: 2 }),
  ]
}

function perSecondOf(
  ...both: readonly [readonly Round[], readonly Round[]]
): [readonly number[], readonly number[]] {
  const [a, b] = both.map((rounds) => rounds.map(({ perSecond }) => perSecond))
  return [a ?? [], b ?? []]
}

async function droverRound(
  workspace: Workspace,
  bytes: number,
  count: number,
  lanes: number,
): Promise<Round> {
  const root = workspace.fresh('records', 'drafts')
  const outbox = await Outbox.open<SteerRecord>({
    fs: diskFs,
    directory: `${root}/records`,
    drafts: `${root}/drafts`,
  })
  const records = Array.from({ length: count }, () => recordOf(bytes))
  return drive(records, lanes, async (record) => {
    const { outcome } = await outbox.admit(record)
    assert.equal(outcome, 'admitted')
  })
}

const syncOnThread = promisify(fsync)
const newFile = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW
const realDirectory = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW

/** The same calls as `Outbox.admit` on `diskFs`, and nothing else: what no admission of this form can beat. */
async function floorRound(
  workspace: Workspace,
  bytes: number,
  count: number,
  sync: (fd: number) => void | Promise<void>,
): Promise<Round> {
  const root = workspace.fresh('records', 'drafts')
  const directory = `${root}/records`
  const files = Array.from({ length: count }, (_, i) => {
    const record = recordOf(bytes)
    return {
      bytes: encode(record),
      draft: `${root}/drafts/${record.id}-${i}`,
      place: `${directory}/${recordName(i + 1, record)}`,
    }
  })
  return drive(files, 1, async (file) => {
    const fd = openSync(file.draft, newFile, 0o600)
    fchmodSync(fd, 0o600)
    writeSync(fd, file.bytes)
    await sync(fd)
    closeSync(fd)
    linkSync(file.draft, file.place)
    const directoryFd = openSync(directory, realDirectory)
    await sync(directoryFd)
    closeSync(directoryFd)
    unlinkSync(file.draft)
  })
}

/** Does all pieces of work, as many at a time as there are lanes. */
async function drive<T>(
  work: readonly T[],
  lanes: number,
  act: (piece: T) => Promise<void>,
): Promise<Round> {
  const samplesUs: number[] = []
  let next = 0
  const lane = async () => {
    for (let piece = work[next++]; piece !== undefined; piece = work[next++]) {
      const begun = performance.now()
      await act(piece)
      samplesUs.push((performance.now() - begun) * 1_000)
    }
  }
  const begun = performance.now()
  await Promise.all(Array.from({ length: lanes }, lane))
  return { perSecond: (work.length * 1_000) / (performance.now() - begun), samplesUs }
}
