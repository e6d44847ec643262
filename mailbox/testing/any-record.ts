/** Every record the protocol allows: one of each kind, smallest, and any of them for fast-check. For tests alone. */
import fc from 'fast-check'
import {
  type Decoded,
  decodeAgentRecord,
  decodeClaim,
  decodeGeneration,
  decodeLease,
  decodeOwnerRecord,
  decodeReady,
  type encode,
} from '../codec.ts'
import type { AgentRecord, OwnerRecord } from '../record.ts'
import {
  accepted,
  ask,
  claimFile,
  close,
  closed,
  failure,
  generationFile,
  leaseFile,
  placed,
  readyFile,
  rejected,
  reply,
  result,
  runtimeOf,
  steer,
  task,
} from './builders.ts'

/** What reads one record or file. */
export type Decode = (bytes: Uint8Array) => Decoded<unknown>
/** What can be written. */
export type Encodable = Parameters<typeof encode>[0]

/** One of each kind, smallest, and who reads it. */
export const smallest: readonly (readonly [Encodable, Decode])[] = [
  ...[task('a'), placed('a'), steer('a'), reply('a'), close('a')].map(
    (record) => [record, decodeOwnerRecord] as const,
  ),
  ...[accepted('a'), rejected('a'), ask('a'), result('a'), failure('a'), closed('a')].map(
    (record) => [record, decodeAgentRecord] as const,
  ),
  [generationFile(), decodeGeneration],
  [readyFile(), decodeReady],
  [claimFile('a'), decodeClaim],
  [leaseFile(), decodeLease],
  [leaseFile(runtimeOf(1)), decodeLease],
]
/** Each decoder once. */
export const decoders: readonly Decode[] = [...new Set(smallest.map(([, decode]) => decode))]

const id = fc.stringMatching(/^[0-9a-z]{26}$/)
/** Any text JSON can carry, lone surrogates too. */
const character = fc.oneof(
  { weight: 8, arbitrary: fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('"', '\\', '\\"', ':', '{', '\u2028', '\ud800', '\udc00'),
  },
)
const textOf = (maxLength: number): fc.Arbitrary<string> =>
  fc
    .array(character, { minLength: 1, maxLength: Math.min(maxLength, 40) })
    .map((characters) => characters.join('').slice(0, maxLength))
const name = textOf(256)
const path = textOf(4096)
const sessionId = textOf(128)
const text = textOf(1_000).filter((found) => /\S/.test(found))
const count = fc.oneof(fc.nat(), fc.maxSafeNat())
const positive = count.map((found) => Math.max(1, found))
const amount = fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }).map((found) => found + 0)

const record = <T>(required: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<T> =>
  fc.record(required, { noNullPrototype: true }) as fc.Arbitrary<T>
/** Some keys are there or not, and never there without a value. */
const withSome = (
  required: Record<string, fc.Arbitrary<unknown>>,
  optional: Record<string, fc.Arbitrary<unknown>>,
): fc.Arbitrary<unknown> =>
  fc.record(
    { ...required, ...optional },
    { requiredKeys: Object.keys(required), noNullPrototype: true },
  )

const identity = record({
  generation: id,
  owner: sessionId,
  session: sessionId,
  sessionFile: path,
  label: fc.stringMatching(/^[a-z][a-z0-9_-]{0,31}$/),
  cwd: path,
})
const processIdentity = record({
  host: name,
  boot: name,
  namespace: fc.oneof(fc.constant(''), name),
  pid: positive,
  started: name,
})
const runtime = record({ process: processIdentity, nonce: id })
const pane = record({ workspace: name, tab: name, pane: name, terminal: name, server: path })
const placement = withSome({ runner: name }, { process: processIdentity, pane })
const usage = withSome(
  { elapsedMs: count, turns: count },
  { tokens: count, contextPercent: amount, costUsd: amount },
)
const kind = fc.constant
const envelope = { protocol: fc.constant(4), id, identity, at: count }
const owned = { ...envelope, lease: positive }
const answer = { ...envelope, request: id }

const anyOwnerRecord = fc.oneof(
  withSome({ ...owned, kind: kind('task'), text }, {}),
  withSome({ ...owned, kind: kind('placed'), placement }, {}),
  withSome({ ...owned, kind: kind('steer'), text }, {}),
  withSome({ ...owned, kind: kind('reply'), ask: id, text }, {}),
  withSome(
    { ...owned, kind: kind('close'), reason: fc.constantFrom('closed', 'withdrawn', 'stopped') },
    {},
  ),
) as fc.Arbitrary<OwnerRecord>

const rejectionCode = fc.constantFrom(
  ...['identity', 'incompatible', 'busy', 'idle', 'ambiguous', 'delivery', 'invalid'],
)
const failureCode = fc.constantFrom(
  ...['empty_result', 'model_error', 'session_replaced', 'refused', 'internal'],
)
const few = <T>(each: fc.Arbitrary<T>): fc.Arbitrary<T[]> => fc.array(each, { maxLength: 4 })
const anyAgentRecord = fc.oneof(
  withSome({ ...answer, kind: kind('ack'), accepted: kind(true) }, {}),
  withSome(
    { ...answer, kind: kind('ack'), accepted: kind(false), code: rejectionCode, message: text },
    {},
  ),
  withSome({ ...answer, kind: kind('ask'), text }, {}),
  withSome(
    { ...answer, kind: kind('result'), text },
    { whole: record({ file: path, bytes: count }), usage },
  ),
  withSome({ ...answer, kind: kind('failure'), code: failureCode, message: text }, { usage }),
  withSome(
    {
      ...answer,
      kind: kind('closed'),
      closed: few(name),
      notClosed: few(record({ label: name, why: path })),
      kept: few(path),
    },
    {},
  ),
) as fc.Arbitrary<AgentRecord>

const file = { protocol: fc.constant(4) }
const anyFile: readonly (readonly [fc.Arbitrary<unknown>, Decode])[] = [
  [anyOwnerRecord, decodeOwnerRecord],
  [anyAgentRecord, decodeAgentRecord],
  [
    record({
      ...file,
      kind: kind('generation'),
      identity,
      root: sessionId,
      depth: positive,
      definition: name,
      runner: name,
      build: name,
      at: count,
      starter: runtime,
    }),
    decodeGeneration,
  ],
  [
    record({ ...file, kind: kind('ready'), identity, build: name, at: count, runtime }),
    decodeReady,
  ],
  [
    record({
      ...file,
      kind: kind('claim'),
      subject: name,
      owner: sessionId,
      root: sessionId,
      generation: id,
      claimer: runtime,
    }),
    decodeClaim,
  ],
  [withSome({ ...file, kind: kind('lease'), subject: name }, { holder: runtime }), decodeLease],
]
/** Any record or file of the protocol, and who reads it. */
export const anyEncodable: fc.Arbitrary<readonly [Encodable, Decode]> = fc.oneof(
  ...anyFile.map(([value, decode]) => value.map((each) => [each as Encodable, decode] as const)),
)
