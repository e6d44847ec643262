import type {
  AgentRecord,
  AskRecord,
  ClosedRecord,
  CloseRecord,
  FailureRecord,
  OwnerRecord,
  Placement,
  RejectedRecord,
  ResultRecord,
  TaskRecord,
} from '../mailbox/index.ts'

/**
 * Where an assignment is.
 *
 * `offered`: not answered yet. `rejected`: the agent did not take it. `active`: accepted, not concluded.
 * `concluded`: a result or failure exists; nothing undoes that. `closing`: the owner ended it first.
 * `closed`: the agent said so too.
 */
export type Phase = 'offered' | 'rejected' | 'active' | 'concluded' | 'closing' | 'closed'

/**
 * `consumed`: the model has been shown it. `superseded`: it was accepted, and the assignment came to its end before
 * the model was shown it. `too_late`: that end came before the request was answered.
 */
export type RequestOutcome =
  | 'pending'
  | 'accepted'
  | 'consumed'
  | 'superseded'
  | 'rejected'
  | 'too_late'

export interface Assignment {
  readonly phase: Phase
  readonly task?: TaskRecord
  readonly placement?: Placement
  readonly rejection?: RejectedRecord
  readonly conclusion?: ResultRecord | FailureRecord
  /** The question that waits for an answer. */
  readonly ask?: AskRecord
  readonly close?: CloseRecord
  readonly closed?: ClosedRecord
  /** When the oldest request was written that is not answered yet, milliseconds since the epoch. Advice. */
  readonly pendingSince?: number
  /** Why the agent did not take a request, in its words, by the request's id. */
  readonly reasons: ReadonlyMap<string, string>
  /** What became of every request, by its id. */
  readonly requests: ReadonlyMap<string, RequestOutcome>
}

/**
 * Says what an assignment is, from what its two writers wrote. Touches nothing.
 *
 * Needs no order between the two lists, so owner, agent, a second window and a restarted process agree on it
 * whatever they have read so far: more records only ever add to what is known. A result that exists wins over a
 * close. What an agent acknowledged after a close has no effect, and neither has what was written under a lease
 * that had been taken over.
 */
export function fold(
  ownerRecords: readonly OwnerRecord[],
  agentRecords: readonly AgentRecord[],
): Assignment {
  const owner = underRisingLease(ownerRecords)
  const task = first(owner, 'task')
  const close = first(owner, 'close')
  const placement = first(owner, 'placed')?.placement
  const conclusion = agentRecords.find(isConclusion)
  const closed = first(agentRecords, 'closed')
  const effective = beforeTheEnd(agentRecords, close)
  // Backwards, so that the first answer stands: a second one takes nothing back.
  const answers = new Map(
    effective
      .toReversed()
      .flatMap((record) => (record.kind === 'ack' ? [[record.request, record]] : [])),
  )
  // A close that is not answered leaves open what the agent had answered before it read it.
  const isOver = conclusion ?? closed ?? (close && answers.get(close.id))
  const consumed = new Set(
    agentRecords.flatMap((record) => (record.kind === 'consumed' ? [record.request] : [])),
  )
  const fate = (id: string): RequestOutcome =>
    consumed.has(id) ? 'consumed' : isOver ? 'superseded' : 'accepted'
  const reasons = new Map<string, string>()
  const requests = new Map<string, RequestOutcome>()
  for (const { kind, id } of owner) {
    if (kind === 'placed') continue
    const answer = answers.get(id)
    if (answer?.accepted === false) {
      requests.set(id, 'rejected')
      reasons.set(id, answer.message)
    } else if (answer !== undefined) requests.set(id, kind === 'steer' ? fate(id) : 'accepted')
    else if (kind !== 'close' && isOver) requests.set(id, 'too_late')
    else requests.set(id, 'pending')
  }
  const verdict = task && answers.get(task.id)
  const waiting = owner.find(({ id }) => requests.get(id) === 'pending')
  const ask = openAsk(task, owner, effective, requests)
  return {
    phase: phaseOf(),
    ...(task && { task }),
    ...(placement && { placement }),
    ...(verdict?.accepted === false && { rejection: verdict }),
    ...(conclusion && { conclusion }),
    ...(ask && !conclusion && !close && { ask }),
    ...(close && { close }),
    ...(closed && { closed }),
    ...(waiting && { pendingSince: waiting.at }),
    reasons,
    requests,
  }

  function phaseOf(): Phase {
    if (conclusion) return 'concluded'
    if (close) return closed ? 'closed' : 'closing'
    if (verdict === undefined) return 'offered'
    return verdict.accepted ? 'active' : 'rejected'
  }
}

function underRisingLease(records: readonly OwnerRecord[]): readonly OwnerRecord[] {
  let highest = 0
  return records.filter(({ lease }) => {
    highest = Math.max(highest, lease)
    return lease === highest
  })
}

/** The agent's records up to its conclusion, or up to the first word on its own end. */
function beforeTheEnd(
  records: readonly AgentRecord[],
  close: CloseRecord | undefined,
): readonly AgentRecord[] {
  const end = records.findIndex(
    (record) =>
      isConclusion(record) ||
      record.kind === 'closed' ||
      (record.kind === 'ack' && record.request === close?.id),
  )
  return end === -1 ? records : records.slice(0, end + 1)
}

function openAsk(
  task: TaskRecord | undefined,
  owner: readonly OwnerRecord[],
  agent: readonly AgentRecord[],
  requests: ReadonlyMap<string, RequestOutcome>,
): AskRecord | undefined {
  const answered = new Set(
    owner.flatMap((record) =>
      record.kind === 'reply' && requests.get(record.id) === 'accepted' ? [record.ask] : [],
    ),
  )
  return agent.find(
    (record): record is AskRecord =>
      record.kind === 'ask' && record.request === task?.id && !answered.has(record.id),
  )
}

function isConclusion(record: AgentRecord): record is ResultRecord | FailureRecord {
  return record.kind === 'result' || record.kind === 'failure'
}

function first<R extends OwnerRecord | AgentRecord, K extends R['kind']>(
  records: readonly R[],
  kind: K,
): Extract<R, { kind: K }> | undefined {
  return records.find((record): record is Extract<R, { kind: K }> => record.kind === kind)
}
