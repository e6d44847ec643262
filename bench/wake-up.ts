import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { diskFs, encode, generationPaths, limits, systemIds } from '../mailbox/index.ts'
import { prepareGeneration } from '../mailbox/layout.ts'
import {
  type Effort,
  type Family,
  type Figure,
  interleave,
  latencyOf,
  median,
  ratioOf,
} from './measure.ts'
import { generationFile, recordName, recordOf } from './records.ts'
import type { FromChild, Receiver, ToChild } from './wake-up-child.ts'
import type { Workspace } from './workspace.ts'

const efforts = { full: 36, quick: 9 }
/** As many as wait in a mailbox at most: a look costs a microsecond for each that is already there. */
const recordsPerRound = limits.unacknowledgedSteersMax
/** The first of a round finds a new directory, and does not count. */
const coldRecords = 1
const pauseMs = 3

/** Microseconds from just before the link of a durable record, in this process, to the other process. */
interface Round {
  readonly bareUs: readonly number[]
  readonly handledUs: readonly number[]
}

/** How soon another process has a record. */
export async function measureWakeUp(workspace: Workspace, effort: Effort): Promise<Family> {
  const child = fork(fileURLToPath(new URL('./wake-up-child.ts', import.meta.url)), {
    serialization: 'advanced', // keeps nanoseconds whole
  })
  try {
    const of = (receiver: Receiver) => () => publishRound(workspace, child, receiver)
    const results = await interleave(
      { none: of('none'), scan: of('scan'), agent: of('agent'), chokidar: of('chokidar') },
      efforts[effort],
    )
    return {
      name: 'wake-up: link in one process to the decoded record in another',
      floor:
        'the bare callback of raw fs.watch in the same process for the same link; 1 KiB records, 3 ms apart, 16 to a directory; ratio of p50',
      figures: [
        bareFigure('bare fs.watch callback', results.scan),
        bareFigure('the same callback, alone in its process', results.none, results.scan),
        figure('fs.watch, Journal.scan', results.scan, { atMost: 2.5 }),
        figure('fs.watch, actor, AgentMailbox.look', results.agent),
        figure("chokidar 'raw', Journal.scan", results.chokidar),
      ],
    }
  } finally {
    child.disconnect()
    await once(child, 'exit')
  }
}

const bareOf = (rounds: readonly Round[]) => rounds.map(({ bareUs }) => median(bareUs))
const handledOf = (rounds: readonly Round[]) => rounds.map(({ handledUs }) => median(handledUs))

function bareFigure(name: string, rounds: readonly Round[], against?: readonly Round[]): Figure {
  return {
    name,
    value: median(bareOf(rounds)),
    unit: 'us',
    latency: latencyOf(rounds.flatMap(({ bareUs }) => bareUs)),
    ...(against && { ratio: ratioOf(bareOf(rounds), bareOf(against)) }),
  }
}

function figure(name: string, rounds: readonly Round[], goal?: Figure['goal']): Figure {
  return {
    name,
    value: median(handledOf(rounds)),
    unit: 'us',
    latency: latencyOf(rounds.flatMap(({ handledUs }) => handledUs)),
    ratio: ratioOf(handledOf(rounds), bareOf(rounds)),
    ...(goal && { goal }),
  }
}

async function publishRound(
  workspace: Workspace,
  child: ChildProcess,
  receiver: Receiver,
): Promise<Round> {
  const parent = workspace.fresh()
  const generation = systemIds.next()
  const paths = generationPaths(parent, generation)
  prepareGeneration(diskFs, paths)
  const { identity } = generationFile(generation)
  const records = Array.from({ length: recordsPerRound }, () => ({
    ...recordOf(1_024),
    identity,
  }))
  await Promise.all(
    records.map((record) =>
      diskFs.createSynced(`${paths.ownerDrafts}/${record.id}`, encode(record)),
    ),
  )
  await ask(child, { type: 'watch', receiver, parent, generation }, 'watching')
  const published = new Map<string, bigint>()
  for (const [i, record] of records.entries()) {
    await pause(pauseMs)
    const place = `${paths.owner}/${recordName(i + 1, record)}`
    published.set(record.id, process.hrtime.bigint())
    diskFs.link(`${paths.ownerDrafts}/${record.id}`, place)
  }
  const seen = await ask(child, { type: 'report', expected: recordsPerRound }, 'seen')
  assert.equal(seen.bare.size, recordsPerRound, 'fs.watch lost an event')
  if (receiver !== 'none')
    assert.equal(seen.handled.size, recordsPerRound, `${receiver} lost a record`)
  const since = (times: ReadonlyMap<string, bigint>) =>
    records
      .slice(coldRecords)
      .map(({ id }) => Number((times.get(id) ?? 0n) - (published.get(id) ?? 0n)) / 1_000)
  return { bareUs: since(seen.bare), handledUs: since(seen.handled) }
}

async function ask<Type extends FromChild['type']>(
  child: ChildProcess,
  message: ToChild,
  answer: Type,
): Promise<Extract<FromChild, { type: Type }>> {
  const answered = once(child, 'message')
  child.send(message)
  const [got] = (await answered) as [FromChild]
  assert.equal(got.type, answer)
  return got as Extract<FromChild, { type: Type }>
}
