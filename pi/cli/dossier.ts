import {
  AgentProcesses,
  type Dossier,
  openQuestion,
  type Row,
  surveyedWhole,
} from '../../actors/index.ts'
import {
  type AgentRecord,
  type GenerationPaths,
  generationPaths,
  type OwnerRecord,
  ownerPaths,
} from '../../mailbox/index.ts'
import { listedAgent } from '../lead/rows.ts'
import type { OwnerView } from './agents.ts'
import type { CliWorld } from './compose.ts'

/** One request of its owner, and what became of it. */
export interface RequestView {
  readonly id: string
  readonly kind: OwnerRecord['kind']
  readonly at: number
  readonly outcome: string
  readonly text?: string
  readonly files?: readonly string[]
  /** Why the agent did not take it. */
  readonly reason?: string
}

export interface AgentDossier extends Dossier {
  readonly paths: GenerationPaths
  readonly requests: readonly RequestView[]
  readonly processes: ReturnType<AgentProcesses['of']>
}

export const pathsOf = ({ root }: CliWorld, { facts }: Row): GenerationPaths => {
  const { owner, generation } = facts.generation.identity
  return generationPaths(ownerPaths(root, owner).directory, generation)
}

/** All that is known of one agent, looked at now; undefined once it is settled. Changes nothing. */
export function dossierOf(world: CliWorld, row: Row): AgentDossier | undefined {
  const paths = pathsOf(world, row)
  const { generation } = row.facts
  const whole = surveyedWhole(world, paths, generation)
  if (whole === undefined) return undefined
  const { placement } = whole
  const processes =
    typeof placement === 'object'
      ? new AgentProcesses(world.processes, world.clock).of({ generation, paths, placement })
      : []
  return { ...whole, paths, processes, requests: requestsOf(whole) }
}

function requestsOf({ row, records }: Dossier): readonly RequestView[] {
  const { requests, reasons } = row.facts.assignment
  return records.owner
    .filter(({ kind }) => kind !== 'placed')
    .map((record) => {
      const reason = reasons.get(record.id)
      return {
        id: record.id,
        kind: record.kind,
        at: record.at,
        // What was written under a lease that had been taken over by then has no effect.
        outcome: requests.get(record.id) ?? 'ignored',
        ...('text' in record && { text: record.text }),
        ...('files' in record && record.files && { files: record.files.map(({ path }) => path) }),
        ...(record.kind === 'close' && { text: record.reason }),
        ...(reason !== undefined && { reason }),
      }
    })
}

/** Questions it asked, in order. */
const asksIn = (records: readonly AgentRecord[]) =>
  records.flatMap((record) => (record.kind === 'ask' ? [record] : []))

/** For programs: what was found, as it is. */
export function dossierData(
  { row, records, placement, paths, requests, processes }: AgentDossier,
  owner: OwnerView | undefined,
  now: number,
): Record<string, unknown> {
  const { generation, ready, assignment, activity } = row.facts
  const { conclusion, close, closed } = assignment
  const open = openQuestion(row.facts)
  return {
    ...listedAgent(row, now),
    generation: generation.identity.generation,
    root_session_id: generation.root,
    depth: generation.depth,
    build: generation.build,
    created_at: time(generation.at),
    ...(ready && { ready_at: time(ready.at), agent_build: ready.build }),
    phase: assignment.phase,
    presence: row.facts.presence,
    owner: {
      session: generation.identity.owner,
      acting: owner?.acting ?? 'nobody',
      ...(owner?.holder && { process: owner.holder.process }),
    },
    ...(placement !== undefined && { placement }),
    requests: requests.map(({ at, ...request }) => ({ ...request, at: time(at) })),
    questions: asksIn(records.agent).map(({ id, at, text }) => ({
      id,
      text,
      at: time(at),
      open: id === open?.id,
    })),
    ...(conclusion && {
      result: {
        kind: conclusion.kind,
        at: time(conclusion.at),
        ...(conclusion.kind === 'result'
          ? { text: conclusion.text, ...(conclusion.whole && { whole: conclusion.whole }) }
          : { code: conclusion.code, message: conclusion.message }),
        ...(conclusion.usage && { usage: conclusion.usage }),
      },
    }),
    ...(close && { close: { reason: close.reason, at: time(close.at) } }),
    ...(closed && {
      closed: { closed: closed.closed, notClosed: closed.notClosed, kept: closed.kept },
    }),
    ...(activity && { activity }),
    processes: processes.map(({ pid, started, command }) => ({ pid, started, command })),
    files: {
      mailbox: paths.directory,
      session: generation.identity.sessionFile,
      activity: paths.activityFile,
      error_log: paths.errorLog,
    },
  }
}

const time = (at: number): string => new Date(at).toISOString()
