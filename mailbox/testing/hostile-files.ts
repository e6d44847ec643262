/** What a stranger may leave among the records of a mailbox. For tests alone. */
import { encode } from '../codec.ts'
import { recordReadBytesMax } from '../limits.ts'
import type { AskRecord, Identity } from '../record.ts'
import { ask, identity, idOf, result, task } from './builders.ts'
import { nameOf } from './journals.ts'
import type { Planted } from './memory-fs.ts'

/** Hostile files: what they are, how they get there, and the reason they are refused for. */
interface Hostile {
  readonly what: string
  readonly name?: string | Uint8Array
  readonly bytes?: Uint8Array
  readonly planted?: Planted
  readonly reason: RegExp
}

/** A record that nothing is wrong with. */
export const good: AskRecord = ask('good')

/** Bytes that would be believed under their own name in a private file. */
export const valid: Uint8Array = encode(ask('evil'))
const json = Buffer.from(valid).toString()

/** The name those bytes belong under, between two good records. */
export const evilName: string = nameOf(2, ask('evil'))

/** One hostile file of each sort. Without a name of its own it takes `evilName`. */
export const hostileFiles: readonly Hostile[] = [
  { what: 'a link to a valid record', planted: 'symlink', reason: /^not-regular$/ },
  { what: 'a pipe', planted: 'fifo', reason: /^not-regular$/ },
  { what: 'a directory', planted: 'directory', reason: /^not-regular$/ },
  { what: 'a file of another user', planted: 'foreign-file', bytes: valid, reason: /^not-ours$/ },
  { what: 'a file open to others', planted: 'loose-file', bytes: valid, reason: /^not-private$/ },
  {
    what: 'a file one byte over the ceiling',
    bytes: Buffer.concat([valid, Buffer.alloc(recordReadBytesMax + 1 - valid.length, 0x20)]),
    reason: /^oversize$/,
  },
  { what: 'an empty file', bytes: Buffer.alloc(0), reason: /^not-json: / },
  { what: 'half a record', bytes: valid.subarray(0, valid.length >> 1), reason: /^not-json: / },
  { what: 'bad UTF-8', bytes: Buffer.from([0x22, 0xff, 0x22]), reason: /^not-utf8: / },
  {
    what: 'a key that stands twice',
    bytes: Buffer.from(json.replace('{', '{"text":"x",')),
    reason: /^duplicate-key: /,
  },
  {
    what: '__proto__',
    bytes: Buffer.from(json.replace('{', '{"__proto__":{"accepted":true},')),
    reason: /^wrong-shape: .*__proto__/s,
  },
  {
    what: 'a protocol that cannot be shown',
    bytes: Buffer.from('{"protocol":{"toString":null,"valueOf":null}}'),
    reason: /^wrong-protocol: /,
  },
  {
    what: '200,000 arrays in each other',
    bytes: Buffer.from(`{"protocol":${'['.repeat(200_000)}${']'.repeat(200_000)}}`),
    reason: /^wrong-protocol: /,
  },
  { what: 'another protocol', bytes: Buffer.from(json.replace('4', '5')), reason: /protocol 5/ },
  { what: 'another id than its name', bytes: encode(ask('other')), reason: /^wrong-name$/ },
  {
    what: 'another kind than its name',
    bytes: encode(result('evil')),
    reason: /^wrong-name$/,
  },
  { what: 'an owner’s record', bytes: encode(task('evil')), reason: /^wrong-shape: / },
  ...(Object.keys(identity()) as (keyof Identity)[]).map(
    (field): Hostile => ({
      what: `another ${field}`,
      bytes: encode({
        ...ask('evil'),
        identity: identity({ [field]: field === 'generation' ? idOf('other') : 'other' }),
      }),
      reason: /^wrong-identity$/,
    }),
  ),
  ...[
    '..json',
    '...',
    '.hidden',
    'ready.json.tmp',
    `..%2f${evilName}`,
    `${evilName}\n`,
    `\u001b]0;owned\u0007${evilName}`,
    `\u202e${evilName}`,
    'x'.repeat(255),
    '__proto__',
    evilName.toUpperCase(),
    evilName.replace('evil', 'evil\u0301'),
  ].map(
    (name): Hostile => ({
      what: JSON.stringify(name).slice(0, 40),
      name,
      bytes: valid,
      reason: /^wrong-name$/,
    }),
  ),
]
