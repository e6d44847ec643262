import { z } from 'zod'
import { refusalReasonCharsMax, reportListMax, reportReasonCharsMax } from './limits.ts'
import type {
  AgentRecord,
  Attachment,
  ClaimFile,
  GenerationFile,
  Identity,
  LeaseFile,
  MailboxRecord,
  OwnerRecord,
  Placement,
  ReadyFile,
  Runtime,
  Usage,
} from './record.ts'
import { labelPattern, protocol } from './record.ts'

/** Why bytes are not a record. Refusing is normal, so it is a value: the caller quarantines the file. */
export type Refusal = 'not-utf8' | 'not-json' | 'duplicate-key' | 'wrong-protocol' | 'wrong-shape'

export type Decoded<T> = { readonly value: T } | { readonly refusal: Refusal; readonly why: string }

const id = z.string().regex(/^[0-9a-z]{26}$/)
const sessionId = z.string().min(1).max(128)
const path = z.string().min(1).max(4096)
const name = z.string().min(1).max(256)
const text = z.string().regex(/\S/)
const count = z.int().min(0)
const version = z.literal(protocol)

const identity: z.ZodType<Identity> = z.strictObject({
  generation: id,
  owner: sessionId,
  session: sessionId,
  sessionFile: path,
  label: z.string().regex(labelPattern),
  cwd: path,
})
const processIdentity = z.strictObject({
  host: name,
  boot: name,
  namespace: z.string().max(256),
  pid: z.int().min(1),
  started: name,
})
const runtime: z.ZodType<Runtime> = z.strictObject({ process: processIdentity, nonce: id })
const placement: z.ZodType<Placement> = z.strictObject({
  runner: name,
  process: processIdentity.optional(),
  pane: z
    .strictObject({ workspace: name, tab: name, pane: name, terminal: name, server: path })
    .optional(),
})
const usage: z.ZodType<Usage> = z.strictObject({
  elapsedMs: count,
  turns: count,
  tokens: count.optional(),
  contextPercent: z.number().min(0).optional(),
  costUsd: z.number().min(0).optional(),
})

const attachment: z.ZodType<Attachment> = z.strictObject({
  path,
  bytes: count,
  text: z.string().optional(),
})
const message = { text, files: z.array(attachment).max(64).optional() }

const envelope = { protocol: version, id, identity, at: count }
const owned = { ...envelope, lease: z.int().min(1) }

const ownerRecord: z.ZodType<OwnerRecord> = z.discriminatedUnion('kind', [
  z.strictObject({ ...owned, kind: z.literal('task'), ...message }),
  z.strictObject({ ...owned, kind: z.literal('placed'), placement }),
  z.strictObject({ ...owned, kind: z.literal('steer'), ...message }),
  z.strictObject({ ...owned, kind: z.literal('reply'), ask: id, ...message }),
  z.strictObject({
    ...owned,
    kind: z.literal('close'),
    reason: z.enum(['closed', 'withdrawn', 'stopped']),
  }),
])

const request = id
const agentRecord: z.ZodType<AgentRecord> = z.discriminatedUnion('kind', [
  z.discriminatedUnion('accepted', [
    z.strictObject({ ...envelope, kind: z.literal('ack'), request, accepted: z.literal(true) }),
    z.strictObject({
      ...envelope,
      kind: z.literal('ack'),
      request,
      accepted: z.literal(false),
      code: z.enum([
        'identity',
        'incompatible',
        'busy',
        'idle',
        'ambiguous',
        'delivery',
        'invalid',
      ]),
      message: text,
    }),
  ]),
  z.strictObject({ ...envelope, kind: z.literal('consumed'), request }),
  z.strictObject({
    ...envelope,
    kind: z.literal('ask'),
    request,
    ...message,
  }),
  z.strictObject({
    ...envelope,
    kind: z.literal('result'),
    request,
    text,
    whole: z.strictObject({ file: path, bytes: count }).optional(),
    usage: usage.optional(),
  }),
  z.strictObject({
    ...envelope,
    kind: z.literal('failure'),
    request,
    code: z.enum([
      'empty_result',
      'model_error',
      'session_replaced',
      'interrupted',
      'refused',
      'internal',
    ]),
    message: text,
    usage: usage.optional(),
  }),
  z.strictObject({
    ...envelope,
    kind: z.literal('closed'),
    request,
    closed: z.array(name).max(reportListMax),
    notClosed: z
      .array(z.strictObject({ label: name, why: z.string().max(reportReasonCharsMax) }))
      .max(reportListMax),
    kept: z.array(path).max(reportListMax),
  }),
])

const file = { protocol: version }
const generationFile: z.ZodType<GenerationFile> = z.strictObject({
  ...file,
  kind: z.literal('generation'),
  identity,
  root: sessionId,
  depth: z.int().min(1),
  definition: name,
  runner: name,
  build: name,
  at: count,
  starter: runtime,
})
const readyFile: z.ZodType<ReadyFile> = z.strictObject({
  ...file,
  kind: z.literal('ready'),
  identity,
  build: name,
  at: count,
  runtime,
})
const claimFile: z.ZodType<ClaimFile> = z.strictObject({
  ...file,
  kind: z.literal('claim'),
  subject: name,
  owner: sessionId,
  root: sessionId,
  generation: id,
  claimer: runtime,
})
const leaseFile: z.ZodType<LeaseFile> = z.strictObject({
  ...file,
  kind: z.literal('lease'),
  subject: name,
  holder: runtime.optional(),
})

type Writable = MailboxRecord | GenerationFile | ReadyFile | ClaimFile | LeaseFile

/** The exact bytes of a record: what is measured is what is written. */
export function encode(value: Writable): Uint8Array {
  return Buffer.from(JSON.stringify(value))
}

export const decodeOwnerRecord = (bytes: Uint8Array): Decoded<OwnerRecord> =>
  decode(ownerRecord, bytes)
export const decodeAgentRecord = (bytes: Uint8Array): Decoded<AgentRecord> =>
  decode(agentRecord, bytes)
export const decodeGeneration = (bytes: Uint8Array): Decoded<GenerationFile> =>
  decode(generationFile, bytes)
export const decodeReady = (bytes: Uint8Array): Decoded<ReadyFile> => decode(readyFile, bytes)
export const decodeClaim = (bytes: Uint8Array): Decoded<ClaimFile> => decode(claimFile, bytes)
export const decodeLease = (bytes: Uint8Array): Decoded<LeaseFile> => decode(leaseFile, bytes)

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Reads hostile bytes. Their size was checked before they were read. */
function decode<T>(schema: z.ZodType<T>, bytes: Uint8Array): Decoded<T> {
  let json: string
  try {
    json = utf8.decode(bytes)
  } catch {
    return refuse('not-utf8', 'the bytes are not UTF-8')
  }
  let value: unknown
  try {
    value = JSON.parse(json)
  } catch (error) {
    return refuse('not-json', String(error))
  }
  const parsed = schema.safeParse(value)
  if (!parsed.success) {
    const stated = (value as { protocol?: unknown } | null)?.protocol
    if (stated === protocol) return refuse('wrong-shape', z.prettifyError(parsed.error))
    // Only a number is shown: making text of anything else may throw, or never end.
    const shown = typeof stated === 'number' ? `protocol ${stated}` : 'no protocol number'
    return refuse('wrong-protocol', `${shown}, not ${protocol}`)
  }
  // Of two keys the last wins, so what a person reads in the file may not be what a program sees.
  if (writtenKeys(json) !== heldKeys(value))
    return refuse('duplicate-key', 'a key stands twice in one object')
  return { value: parsed.data }
}

function refuse(refusal: Refusal, why: string): Extract<Decoded<never>, { refusal: Refusal }> {
  return { refusal, why: why.slice(0, refusalReasonCharsMax) }
}

/** Counts the keys written in valid JSON: the strings followed by a colon. Leaps over long strings. */
function writtenKeys(json: string): number {
  let keys = 0
  let open = json.indexOf('"')
  while (open !== -1) {
    let close = json.indexOf('"', open + 1)
    while (isEscaped(json, close)) close = json.indexOf('"', close + 1)
    let next = close + 1
    while (json.charCodeAt(next) <= 0x20) next++
    if (json.charCodeAt(next) === 0x3a) keys++
    open = json.indexOf('"', next)
  }
  return keys
}

function isEscaped(json: string, quote: number): boolean {
  let backslashes = 0
  while (json.charCodeAt(quote - 1 - backslashes) === 0x5c) backslashes++
  return backslashes % 2 === 1
}

function heldKeys(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  let keys = Array.isArray(value) ? 0 : Object.keys(value).length
  for (const part of Object.values(value)) keys += heldKeys(part)
  return keys
}
