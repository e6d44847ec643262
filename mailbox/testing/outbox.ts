/** An outbox to admit with, and what there is to see afterwards. */
import { type Admission, Outbox, type OutboxOptions, parseRecordName } from '../admit.ts'
import { MailboxError } from '../errors.ts'
import type { MailboxFs } from '../ports.ts'
import type { MailboxRecord } from '../record.ts'
import type { Mailbox } from './builders.ts'

export const outboxOf = (
  { fs, records, drafts }: Mailbox,
  more: Partial<OutboxOptions> = {},
): Promise<Outbox<MailboxRecord>> => Outbox.open({ fs, directory: records, drafts, ...more })

export const outcomes = (admissions: readonly Admission[]): string[] =>
  admissions.map(({ outcome }) => outcome)

/** What a person would see of it: the outcome, and the code of what stood in the way. */
export function told(admission: Admission): string {
  if (!('error' in admission)) return admission.outcome
  const { code, cause } = admission.error
  return [admission.outcome, code, cause instanceof MailboxError ? cause.code : ''].join(' ').trim()
}

export const namesIn = (fs: MailboxFs, directory: string): string[] =>
  (fs.list(directory) ?? []).toSorted()

/** The ids in a directory, in the order of their numbers, without their padding. */
export const idsIn = ({ fs, records }: Mailbox): string[] =>
  namesIn(fs, records).map((name) => parseRecordName(name)?.id.replace(/0+$/, '') ?? name)

export const letOthersRun = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
