import {
  type AcceptedRecord,
  type AskRecord,
  type ClosedRecord,
  type CloseReason,
  type CloseRecord,
  type ConsumedRecord,
  type FailureRecord,
  type GenerationFile,
  type GenerationPaths,
  generationPaths,
  hashedName,
  type Identity,
  type PlacedRecord,
  type Placement,
  type ProcessIdentity,
  protocol,
  type RejectedRecord,
  type ReplyRecord,
  type ResultRecord,
  type SteerRecord,
  type TaskRecord,
} from '../../mailbox/index.ts'
import type {
  DeliveryIdentity,
  NoticeReport,
  QuestionReport,
  Report,
  ResultReport,
} from '../index.ts'

/** The smallest valid records: a test names only what it is about. Equal arguments make equal records. */

/** A name in the shape of an id. */
export const idOf = (name: string): string => hashedName(name)

export function anIdentity(label: string, more: Partial<Identity> = {}): Identity {
  return {
    generation: idOf(label),
    owner: 'lead',
    session: `session-of-${label}`,
    sessionFile: `/sessions/${label}.jsonl`,
    label,
    cwd: '/project',
    ...more,
  }
}

export function aProcess(pid: number, more: Partial<ProcessIdentity> = {}): ProcessIdentity {
  return { host: 'machine', boot: 'boot-1', namespace: 'pid:[1]', pid, started: '1', ...more }
}

export function aGeneration(label: string, more: Partial<GenerationFile> = {}): GenerationFile {
  return {
    protocol,
    kind: 'generation',
    identity: anIdentity(label),
    root: 'lead',
    depth: 1,
    definition: 'scout',
    runner: 'fake',
    build: 'test',
    at: 0,
    starter: { process: aProcess(1), nonce: idOf('starter') },
    ...more,
  }
}

export function pathsOf(label: string): GenerationPaths {
  return generationPaths('/owner', idOf(label))
}

function envelope<Kind extends string>(kind: Kind, id: string) {
  return { protocol, kind, id: idOf(id), identity: anIdentity('a'), at: 0 } as const
}

export const aTask = (text = 'work', lease = 1): TaskRecord => ({
  ...envelope('task', 'task'),
  lease,
  text,
})
export const aPlaced = (placement: Placement, lease = 1): PlacedRecord => ({
  ...envelope('placed', 'placed'),
  lease,
  placement,
})
export const aSteer = (name: string, lease = 1): SteerRecord => ({
  ...envelope('steer', name),
  lease,
  text: name,
})
export const aReply = (name: string, ask: string, lease = 1): ReplyRecord => ({
  ...envelope('reply', name),
  lease,
  ask: idOf(ask),
  text: name,
})
export const aClose = (reason: CloseReason = 'closed', lease = 1): CloseRecord => ({
  ...envelope('close', 'close'),
  lease,
  reason,
})
export const anAck = (request: string): AcceptedRecord => ({
  ...envelope('ack', `ack of ${request}`),
  request: idOf(request),
  accepted: true,
})
export const aRejection = (request: string): RejectedRecord => ({
  ...envelope('ack', `rejection of ${request}`),
  request: idOf(request),
  accepted: false,
  code: 'busy',
  message: 'not now',
})
export const aConsumed = (name: string): ConsumedRecord => ({
  ...envelope('consumed', `shown ${name}`),
  request: idOf(name),
})
export const anAsk = (name: string): AskRecord => ({
  ...envelope('ask', name),
  request: idOf('task'),
  text: name,
})
export const aResult = (text = 'done'): ResultRecord => ({
  ...envelope('result', 'result'),
  request: idOf('task'),
  text,
})
export const aFailure = (message = 'no'): FailureRecord => ({
  ...envelope('failure', 'failure'),
  request: idOf('task'),
  code: 'model_error',
  message,
})
export const aClosed = (): ClosedRecord => ({
  ...envelope('closed', 'closed'),
  request: idOf('close'),
  closed: [],
  notClosed: [],
  kept: [],
})

/** A result on its way to its owner. */
export function aReport(label: string, text = `result of ${label}`): ResultReport {
  const identity = anIdentity(label)
  return {
    generation: aGeneration(label, { identity }),
    conclusion: { ...aResult(text), id: idOf(`result of ${label}`), identity },
  }
}

/** A question of the same agent, about the same assignment, on its way to its owner. */
export function aQuestion(label: string): QuestionReport {
  const { generation } = aReport(label)
  const { identity } = generation
  return { generation, ask: { ...anAsk(`question of ${label}`), identity } }
}

/** A notice about the same agent. */
export function aNotice(label: string): NoticeReport {
  const notice = {
    condition: 'lost',
    request: idOf('task'),
    episode: 'lost::0',
    actions: [],
  } as const
  return { generation: aReport(label).generation, notice }
}

export const resultsIn = (reports: readonly Report[]): ResultReport[] =>
  reports.filter((report) => 'conclusion' in report)

/** Typed so that none can be forgotten. */
const isDeliveryField: Readonly<Record<keyof DeliveryIdentity, true>> = {
  generation: true,
  owner: true,
  session: true,
  sessionFile: true,
  label: true,
  cwd: true,
  request: true,
  ask: true,
  notice: true,
}

/** Every field that says which delivery it is. */
export const deliveryFields = Object.keys(isDeliveryField) as (keyof DeliveryIdentity)[]
