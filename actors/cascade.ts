import {
  type Clock,
  type CloseReason,
  type CloseRecord,
  finishSettled,
  generationPaths,
  type Ids,
  keepText,
  limits,
  type MailboxFs,
  type NotClosed,
  Outbox,
  type OwnerPaths,
  type OwnerRecord,
  ownerPaths,
  ownNames,
  type Processes,
  protocol,
  type Reserve,
  type RootPaths,
  type Runtime,
  readGeneration,
  readReady,
  releaseLease,
  resultPath,
  settleGeneration,
  sweepStarting,
  takeLease,
} from '../mailbox/index.ts'
import { AgentMailbox } from './agent-mailbox.ts'
import { edgesBelow } from './edges.ts'
import { contradiction } from './owner-tree.ts'
import type { AgentPlace, Runners, Stopped, StopReason } from './ports.ts'
import { lookThrough, presenceOf, until } from './presence.ts'

/** What ending agents needs, whoever's agents they are. */
export interface CascadePorts {
  readonly fs: MailboxFs
  readonly clock: Clock
  readonly ids: Ids
  readonly processes: Processes
  readonly root: RootPaths
  readonly runtime: Runtime
  readonly reserve: Reserve
  readonly runners: Runners
  /** Aborts waiting, never a step half done. */
  readonly signal: AbortSignal
}

/** One edge along which is closed: the owner's right to write, and the agent's mailbox. */
export interface OwnedEdge {
  readonly owner: OwnerPaths
  readonly lease: number
  readonly mailbox: AgentMailbox
  readonly outbox: Outbox<OwnerRecord>
}

/** What closing came to. Labels, and files of results that lost their reader. */
export interface CloseReport {
  readonly closed: readonly string[]
  readonly notClosed: readonly NotClosed[]
  readonly kept: readonly string[]
}

/** `result`: one appeared meanwhile and stands; it is to be delivered instead. `open`: see the report, try again. */
export type CloseOutcome = {
  readonly outcome: 'settled' | 'result' | 'open'
  readonly report: CloseReport
}

export const nothingClosed: CloseReport = { closed: [], notClosed: [], kept: [] }

/**
 * Closes one agent and all below it, children before parents.
 *
 * The agent is told, and closes its own children first. If it does not answer within `cascadeAnswerMs` or is gone,
 * its process is ended and its children are closed from here in its place. A start that is withdrawn is not waited
 * for. Every step may be repeated, also by another process after a crash, and two closers may meet.
 */
export async function closeAgent(
  ports: CascadePorts,
  edge: OwnedEdge,
  reason: CloseReason,
): Promise<CloseOutcome> {
  const { mailbox } = edge
  const told = await tellClose(ports, edge, reason)
  if (told !== undefined) return open(mailbox, told)
  if (reason === 'withdrawn') return endAgent(ports, edge, 'stands')
  await until(ports, mailbox, limits.cascadeAnswerMs, async () => {
    const { phase } = mailbox.assignment
    return phase === 'closed' || phase === 'concluded' || (await isLost(ports, mailbox))
  })
  const result = reason === 'stopped' ? 'kept' : 'stands'
  if (result === 'stands' && mailbox.assignment.conclusion !== undefined)
    return { outcome: 'result', report: nothingClosed }
  if (mailbox.assignment.phase === 'closed') await waitForExit(ports, mailbox)
  if (ports.signal.aborted)
    return open(mailbox, 'its session ends; closing goes on when it is opened again')
  return endAgent(ports, edge, result)
}

/** Lets an agent that has nothing left to do leave by itself. */
export function waitForExit(ports: CascadePorts, mailbox: AgentMailbox): Promise<boolean> {
  return until(ports, mailbox, limits.stopGraceMs, () => isLost(ports, mailbox))
}

/**
 * Ends one agent: its process, what is left below it, and then its mailbox.
 *
 * A generation settles only after all generations below it, and only once its process is proven gone.
 *
 * @param result what becomes of a result found in the end: it is `delivered` already, it `stands` and ends this
 * attempt, or it has lost its reader and is `kept` as a file
 */
export async function endAgent(
  ports: CascadePorts,
  edge: OwnedEdge,
  result: 'delivered' | 'stands' | 'kept',
  reason: StopReason = 'closed',
): Promise<CloseOutcome> {
  const { mailbox, owner } = edge
  const { label, generation, session } = mailbox.generation.identity
  let report = nothingClosed
  try {
    const stopped = await endProcess(ports, mailbox, reason)
    if (stopped.outcome === 'unproven') return open(mailbox, stopped.why)
    // What it wrote before it ended counts, and none found is no proof of none where it cannot be read.
    const state = await lookThrough(ports.clock, mailbox)
    if (state === 'problem' && result !== 'delivered')
      return open(mailbox, `its mailbox cannot be read now: ${mailbox.diagnostic}`)
    const { conclusion, closed: said } = mailbox.assignment
    if (conclusion !== undefined && result === 'stands')
      return { outcome: 'result', report: nothingClosed }
    const kept = result === 'kept' ? await keepResult(ports, mailbox) : []
    const own = {
      closed: said?.closed ?? [],
      notClosed: [],
      kept: [...(said?.kept ?? []), ...kept],
    }
    report = mergeReports([own, await closeBelow(ports, session)])
    const below = report.notClosed.length
    if (below > 0) return open(mailbox, `${below} agent(s) below it are still open`, report)
    const settled = settleGeneration(ports.fs, owner, generation)
    settled.catch(() => {}) // it is awaited below, unless looking fails first
    const late = lateStart(ports, edge)
    await settled
    if (late !== undefined) await stop(ports, late, 'closed')
    finishSettled(ports.fs, ports.root, owner)
    if (stopped.outcome === 'gone') removeEmptyOwner(ports, session)
    return { outcome: 'settled', report: { ...report, closed: [...report.closed, label] } }
  } catch (error) {
    return open(mailbox, (error as Error).message, report)
  }
}

/** What a settled agent needed to own agents: its process is gone and it owns none, so nobody acts for it. */
function removeEmptyOwner({ fs, root }: CascadePorts, session: string): void {
  const { directory, starting, settled } = ownerPaths(root, session)
  if (fs.entry(directory) === undefined) return
  const isEmpty = [directory, starting, settled].every((stage) => ownNames(fs, stage).length === 0)
  if (isEmpty) fs.removeTree(directory)
}

/**
 * A result nobody will read any more is kept as a file before its mailbox goes.
 *
 * The record is the agent's word; the place of whole texts is ours. What the agent put there stays, whole; that it
 * is elsewhere is not believed.
 */
async function keepResult(
  { fs, ids, root }: CascadePorts,
  mailbox: AgentMailbox,
): Promise<string[]> {
  const { conclusion } = mailbox.assignment
  if (conclusion?.kind !== 'result') return []
  const file = resultPath(root, mailbox.generation.identity.generation)
  await keepText(fs, ids, file, conclusion.text)
  return [file]
}

const isLost = async (ports: CascadePorts, mailbox: AgentMailbox): Promise<boolean> =>
  (await presenceOf(ports, mailbox)) === 'lost'

/**
 * Closes what a session owns, in its place: its process is proven gone, so its lease is free.
 *
 * A result found there has lost its reader: it is kept as a file, named in the report.
 *
 * @param only one generation, where the others are to stay
 */
export async function closeBelow(
  ports: CascadePorts,
  session: string,
  only?: string,
): Promise<CloseReport> {
  const { fs, ids, processes, root, runtime } = ports
  const owner = ownerPaths(root, session)
  // What is half started or half removed holds labels of the tree as well.
  const stages = [owner.directory, owner.starting, owner.settled]
  if (stages.every((stage) => ownNames(fs, stage).length === 0)) return nothingClosed
  const found = contradiction(session, edgesBelow(fs, root, session))
  if (found !== undefined) {
    const why = `its owner is contradicted (${found.refusal}: ${found.sessions.join(', ')}); nothing below is touched`
    return { ...nothingClosed, notClosed: labelsIn(fs, owner).map((label) => ({ label, why })) }
  }
  const place = {
    fs,
    ids,
    processes,
    directory: owner.lease,
    drafts: owner.drafts,
    subject: session,
  }
  const lease = await takeLease(place, runtime)
  if (lease.outcome !== 'held') {
    const why = 'another process acts for its owner; close it there, or try again'
    return { ...nothingClosed, notClosed: labelsIn(fs, owner).map((label) => ({ label, why })) }
  }
  try {
    sweepStarting(fs, owner)
    finishSettled(fs, root, owner)
    const reports: CloseReport[] = []
    for (const name of ownNames(fs, owner.directory).filter((each) => (only ?? each) === each))
      reports.push(await closeOrphan(ports, owner, lease.number, name))
    return mergeReports(reports)
  } finally {
    await releaseLease(place, runtime)
  }
}

async function closeOrphan(
  ports: CascadePorts,
  owner: OwnerPaths,
  lease: number,
  name: string,
): Promise<CloseReport> {
  const { fs, ids, reserve } = ports
  const paths = generationPaths(owner.directory, name)
  const generation = readGeneration(fs, paths)
  if (typeof generation !== 'object')
    return { ...nothingClosed, notClosed: [{ label: name, why: 'its mailbox cannot be read' }] }
  const mailbox = new AgentMailbox(fs, ids, paths, generation, 'quarantine')
  const outbox = await Outbox.open<OwnerRecord>({
    fs,
    directory: paths.owner,
    drafts: paths.ownerDrafts,
    reserve,
  })
  return (await closeAgent(ports, { owner, lease, mailbox, outbox }, 'stopped')).report
}

/** Why the agent could not be told to close; undefined once its mailbox holds the order. */
async function tellClose(
  { ids, clock }: CascadePorts,
  { mailbox, outbox, lease }: OwnedEdge,
  reason: CloseReason,
): Promise<string | undefined> {
  mailbox.look()
  if (mailbox.assignment.close !== undefined) return undefined
  const record: CloseRecord = {
    protocol,
    kind: 'close',
    id: ids.next(),
    identity: mailbox.generation.identity,
    at: clock.now(),
    lease,
    reason,
  }
  const admission = await outbox.admit(record)
  mailbox.look()
  return 'error' in admission ? admission.error.message : undefined
}

async function endProcess(
  ports: CascadePorts,
  mailbox: AgentMailbox,
  reason: StopReason,
): Promise<Stopped> {
  const { placement, generation, paths } = mailbox
  if (placement === 'contradictory')
    return {
      outcome: 'unproven',
      why: 'two processes claim to be this agent; end the wrong one by hand',
    }
  // Its starter may have died after its process was started, and before it could say where.
  const known = placement ?? { runner: generation.runner }
  return stop(ports, { generation, paths, placement: known }, reason)
}

async function stop(
  { runners }: CascadePorts,
  place: AgentPlace,
  reason: StopReason,
): Promise<Stopped> {
  const { runner: name } = place.placement
  const runner = runners.get(name)
  if (runner !== undefined) return runner.stop(place, reason)
  return { outcome: 'unproven', why: `no runner called ${name} here can end it` }
}

/**
 * A start whose starter died may come up between our last look and the rename. After the rename it cannot: an
 * agent writes by path. So what it wrote just before is looked for where it went.
 */
function lateStart({ fs }: CascadePorts, { owner, mailbox }: OwnedEdge): AgentPlace | undefined {
  if (mailbox.placement !== undefined) return undefined
  const { generation } = mailbox
  const paths = generationPaths(owner.settled, generation.identity.generation)
  const ready = readReady(fs, paths)
  if (typeof ready !== 'object') return undefined
  const placement = { runner: generation.runner, process: ready.runtime.process }
  return { generation, paths, placement }
}

function labelsIn(fs: MailboxFs, owner: OwnerPaths): string[] {
  return ownNames(fs, owner.directory).map((name) => {
    const file = readGeneration(fs, generationPaths(owner.directory, name))
    return typeof file === 'object' ? file.identity.label : name
  })
}

/** @param report what this attempt came to before it had to stop */
function open(
  { generation }: AgentMailbox,
  why: string,
  report: CloseReport = nothingClosed,
): CloseOutcome {
  const { label } = generation.identity
  const notClosed = [...report.notClosed, { label, why }]
  return { outcome: 'open', report: { ...report, notClosed } }
}

export function mergeReports(reports: readonly CloseReport[]): CloseReport {
  return {
    closed: reports.flatMap((report) => report.closed),
    notClosed: reports.flatMap((report) => report.notClosed),
    kept: reports.flatMap((report) => report.kept),
  }
}

/** One report of several attempts at one close: all that was closed and kept, and what is open after the last one. */
export function continued(earlier: CloseReport, latest: CloseReport): CloseReport {
  return {
    closed: [...new Set([...earlier.closed, ...latest.closed])],
    notClosed: latest.notClosed,
    kept: [...new Set([...earlier.kept, ...latest.kept])],
  }
}

/** Why something stayed open, in one line; empty where nothing did. */
export function whyOpen({ notClosed }: CloseReport): string {
  return notClosed.map(({ label, why }) => `${label}: ${why}`).join('; ')
}

/** What a close came to that is not finished: why, and what it has done all the same. */
export function notAllClosed(report: CloseReport): string {
  const { closed, kept } = report
  return [
    `Not all is closed. ${whyOpen(report)}.`,
    ...(closed.length > 0 ? [`Closed: ${closed.join(', ')}.`] : []),
    ...(kept.length > 0 ? [`Results nobody had read are kept in: ${kept.join(', ')}.`] : []),
  ].join(' ')
}
