/** A journal over a mailbox of a test, and records put before it by hand. For tests alone. */
import { decodeAgentRecord, encode } from '../codec.ts'
import { Journal, type JournalOptions, type Scan } from '../journal.ts'
import type { AgentRecord, MailboxRecord } from '../record.ts'
import { countingIds, identity, type Mailbox } from './builders.ts'

/** The journal of an owner, on what an agent wrote into this mailbox. */
export function journalOf(
  { fs, records, quarantine }: Mailbox,
  more: Partial<JournalOptions<AgentRecord>> = {},
): Journal<AgentRecord> {
  return new Journal<AgentRecord>({
    fs,
    ids: countingIds('q'),
    directory: records,
    quarantine,
    untrusted: 'quarantine',
    identity: identity(),
    decode: decodeAgentRecord,
    ...more,
  })
}

/** The file name of a record, spelled out: what tests expect is not asked of the code they test. */
export const nameOf = (number: number, { kind, id }: MailboxRecord): string =>
  `${String(number).padStart(8, '0')}-${kind}-${id}.json`

/** Writes a record as its writer would, under a number of the test's choice. */
export async function put(
  { fs, records }: Mailbox,
  number: number,
  record: AgentRecord,
): Promise<void> {
  await fs.createSynced(`${records}/${nameOf(number, record)}`, encode(record))
}

/** The ids of the records handed over, without their padding. */
export const idsOf = ({ records }: Scan<AgentRecord>): string[] =>
  records.map(({ id }) => id.replace(/0+$/, ''))

/** Looks until nothing is left, as its owner does. */
export function scanAll(journal: Journal<AgentRecord>): Scan<AgentRecord> {
  const scans = [journal.scan()]
  while (scans.at(-1)?.more) scans.push(journal.scan())
  return {
    ...(scans.at(-1) as Scan<AgentRecord>),
    records: scans.flatMap(({ records }) => records),
    quarantined: scans.flatMap(({ quarantined }) => quarantined),
  }
}
