import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import {
  type Decoded,
  decodeAgentRecord,
  decodeClaim,
  decodeGeneration,
  decodeLease,
  decodeOwnerRecord,
  decodeReady,
  encode,
  type Refusal,
} from './codec.ts'
import { refusalReasonCharsMax } from './limits.ts'
import type { AgentRecord, OwnerRecord } from './record.ts'
import {
  accepted,
  ask,
  claimFile,
  close,
  closed,
  failure,
  generationFile,
  idOf,
  leaseFile,
  placed,
  processOf,
  readyFile,
  rejected,
  reply,
  result,
  runtimeOf,
  seed,
  steer,
  task,
} from './testing/builders.ts'

type Decode = (bytes: Uint8Array) => Decoded<unknown>
type Encodable = Parameters<typeof encode>[0]

/** One of each kind, smallest, and who reads it. */
const smallest: readonly (readonly [Encodable, Decode])[] = [
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
const decoders = [...new Set(smallest.map(([, decode]) => decode))]

const nameOf = (value: Encodable): string => value.kind
const bytesOf = (text: string): Uint8Array => Buffer.from(text)
const jsonOf = (value: unknown): string => JSON.stringify(value)

function refusalOf(decoded: Decoded<unknown>): Refusal {
  assert.ok('refusal' in decoded, `accepted: ${jsonOf(decoded)}`)
  assert.ok(decoded.why.length > 0)
  assert.ok(decoded.why.length <= refusalReasonCharsMax, `${decoded.why.length} characters of why`)
  return decoded.refusal
}

const refused = (json: string, decode: Decode = decodeAgentRecord): Refusal =>
  refusalOf(decode(bytesOf(json)))

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
const pane = record({ workspace: name, tab: name, pane: name, terminal: name })
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
const anyEncodable: fc.Arbitrary<readonly [Encodable, Decode]> = fc.oneof(
  ...anyFile.map(([value, decode]) => value.map((each) => [each as Encodable, decode] as const)),
)

describe('encode and decode', () => {
  for (const [value, decode] of smallest)
    it(`keep the smallest ${nameOf(value)}`, () => {
      assert.deepEqual(decode(encode(value)), { value })
    })

  it('keep whatever a record may say, of every kind', () =>
    fc.assert(
      fc.property(anyEncodable, ([value, decode]) => {
        assert.deepEqual(decode(encode(value)), { value })
      }),
      { numRuns: 2_000, ...seed() },
    ))

  it('leave out what is not there', () => {
    const value = { ...result('a'), usage: undefined, whole: undefined }
    assert.deepEqual(decodeAgentRecord(encode(value)), { value: result('a') })
  })

  it('never take one kind for another', () => {
    for (const [value, decode] of smallest)
      for (const other of decoders)
        if (other !== decode) assert.equal(refusalOf(other(encode(value))), 'wrong-shape')
  })
})

describe('decode refuses', () => {
  const json = jsonOf(result('a'))

  it('bytes that are not UTF-8', () => {
    for (const bytes of [
      [0xff],
      [0xc0, 0x80], // a NUL in two bytes
      [0xed, 0xa0, 0x80], // half a surrogate pair
      [0xf4, 0x90, 0x80, 0x80], // past U+10FFFF
      [0xe2, 0x82], // cut short
    ]) {
      const bad = Buffer.concat([
        Buffer.from(json.replace('done"', '')),
        Buffer.from(bytes),
        Buffer.from('"}'),
      ])
      assert.equal(refusalOf(decodeAgentRecord(bad)), 'not-utf8')
    }
  })

  it('a byte order mark', () => {
    assert.equal(refused(`\ufeff${json}`), 'not-json')
  })

  it('what is no JSON, or more than one', () => {
    for (const bad of ['', ' ', '{', json.slice(0, -1), json + json, `${json},`, `//\n${json}`])
      assert.equal(refused(bad), 'not-json', bad)
  })

  it('what is no object', () => {
    for (const bad of ['null', '1', '"x"', 'true', '[]', `[${json}]`])
      assert.equal(refused(bad), 'wrong-protocol', bad)
  })

  it('another protocol, and says which', () => {
    for (const stated of [3, 5, 4.5, -4, 1e300, '4', null, true, [4], { protocol: 4 }])
      assert.equal(refused(jsonOf({ ...result('a'), protocol: stated })), 'wrong-protocol')
    const { protocol: _, ...without } = result('a')
    assert.equal(refused(jsonOf(without)), 'wrong-protocol')
    const five = decodeAgentRecord(bytesOf(json.replace('"protocol":4', '"protocol":5')))
    assert.ok('why' in five && five.why.includes('protocol 5'))
  })

  it('a protocol made to be shown, not to be read', () => {
    for (const stated of [
      '{"toString":null,"valueOf":null}',
      '{"__proto__":null,"toString":1,"valueOf":1}',
      `${'['.repeat(200_000)}${']'.repeat(200_000)}`,
      `"${'x'.repeat(1_000_000)}"`,
    ])
      assert.equal(refused(`{"protocol":${stated}}`), 'wrong-protocol')
  })

  it('200,000 arrays in each other, wherever they stand', () => {
    const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`
    assert.equal(refused(deep), 'wrong-protocol')
    assert.equal(refused(json.replace('"done"', deep)), 'wrong-shape')
    assert.equal(refused(json.replace('{', `{"more":${deep},`)), 'wrong-shape')
    const list = jsonOf(closed('a')).replace('"closed":[]', `"closed":[${deep}]`)
    assert.equal(refused(list), 'wrong-shape')
    const objects = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`
    assert.equal(refused(json.replace('"done"', objects)), 'wrong-shape')
  })

  it('a key too many, at every depth and whatever it is called', () => {
    for (const key of ['more', '__proto__', 'constructor', 'toString', 'author', '', 'Kind'])
      for (const [value, decode] of smallest) {
        const whole = jsonOf(value)
        for (let at = whole.indexOf('{'); at !== -1; at = whole.indexOf('{', at + 1)) {
          const added = `${whole.slice(0, at + 1)}${jsonOf(key)}:{"a":1},${whole.slice(at + 1)}`
          assert.equal(refused(added, decode), 'wrong-shape', added)
        }
      }
    assert.equal(({} as { a?: number }).a, undefined)
  })

  it('a key too few, at every depth', () => {
    for (const [value, decode] of smallest)
      for (const bad of withoutOneKey(value as unknown as Json))
        if (!('refusal' in decode(bytesOf(jsonOf(bad)))))
          // Only what a type calls optional may be missing.
          assert.ok(['lease', 'placed'].includes(nameOf(value)), jsonOf(bad))
  })

  it('null and every other type in the place of each value', () => {
    for (const [value, decode] of smallest)
      for (const replacement of [null, {}, [], -1, 1.5, 'x y', '', ' \n\t', '../x', 'A'.repeat(26)])
        for (const bad of withOneReplaced(value as unknown as Json, replacement)) {
          const decoded = decode(bytesOf(jsonOf(bad)))
          if ('value' in decoded)
            assert.deepEqual(decoded.value, bad) // a text may be any text
          else refusalOf(decoded)
        }
  })

  it('numbers that are not what they say', () => {
    for (const [written, expected] of [
      ['1e400', 'wrong-shape'],
      ['-1e400', 'wrong-shape'],
      ['9007199254740993', 'wrong-shape'],
      ['9007199254740992', 'wrong-shape'],
      ['-1', 'wrong-shape'],
      ['1.5', 'wrong-shape'],
      ['"1"', 'wrong-shape'],
      ['NaN', 'not-json'],
      ['0x10', 'not-json'],
      ['01', 'not-json'],
    ] as const)
      assert.equal(refused(json.replace('"at":1', `"at":${written}`)), expected, written)
    for (const written of ['0', '-0', '9007199254740991', '1e3'])
      assert.ok('value' in decodeAgentRecord(bytesOf(json.replace('"at":1', `"at":${written}`))))
  })

  it('a blank text', () => {
    for (const blank of ['', ' ', '\n\t', '\u3000'])
      assert.equal(refused(jsonOf({ ...result('a'), text: blank })), 'wrong-shape')
  })

  it('lists and names beyond their limits, without a list of all that is wrong', () => {
    const many = jsonOf(closed('a')).replace('"closed":[]', `"closed":[${'1,'.repeat(100_000)}1]`)
    assert.equal(refused(many), 'wrong-shape')
    const keys = Array.from({ length: 50_000 }, (_, i) => `"k${i}":1,`).join('')
    assert.equal(refused(json.replace('{', `{${keys}`)), 'wrong-shape')
    for (const [field, longest] of [
      ['owner', 128],
      ['session', 128],
      ['sessionFile', 4096],
      ['cwd', 4096],
      ['label', 32],
    ] as const) {
      const sized = (length: number): Uint8Array => {
        const value = result('a')
        return encode({
          ...value,
          identity: { ...value.identity, [field]: 'x'.repeat(length) },
        })
      }
      assert.ok('value' in decodeAgentRecord(sized(longest)), field)
      assert.equal(refusalOf(decodeAgentRecord(sized(longest + 1))), 'wrong-shape', field)
    }
  })

  it('an id or a generation that could be a path', () => {
    for (const bad of ['../../../../../../../../x', idOf('a').toUpperCase(), `${idOf('a')}\n`]) {
      assert.equal(refused(jsonOf({ ...result('a'), id: bad })), 'wrong-shape')
      const { identity } = result('a')
      const elsewhere = { ...result('a'), identity: { ...identity, generation: bad } }
      assert.equal(refused(jsonOf(elsewhere)), 'wrong-shape')
    }
  })
})

describe('decode refuses a key that stands twice', () => {
  it('at every depth, with an equal value, first or last', () => {
    for (const [value, decode] of smallest)
      for (const [part, whole] of partsOf(value as unknown as Json))
        for (const [key, held] of Object.entries(part)) {
          const written = jsonOf(part)
          const again = `${jsonOf(key)}:${jsonOf(held)}`
          for (const twice of [
            `{${again},${written.slice(1)}`,
            `${written.slice(0, -1)},${again}}`,
          ])
            assert.equal(refused(whole(twice), decode), 'duplicate-key', twice)
        }
  })

  it('written with escapes, and between strings that look like keys', () => {
    const text = 'a \\" "text": \\\\'
    const whole = jsonOf({ ...result('a'), text })
    assert.deepEqual(decodeAgentRecord(bytesOf(whole)), { value: { ...result('a'), text } })
    for (const key of ['"\\u0074ext"', '"te\\u0078t"', '"text"  ', '"text"\n\t\r '])
      assert.equal(refused(whole.replace('{', `{${key}:"x",`)), 'duplicate-key', key)
  })

  it('around a long string full of quotes and backslashes', () => {
    const text = `${'\\"":"'.repeat(100_000)}\\`
    const whole = jsonOf({ ...result('a'), text })
    const started = performance.now()
    assert.ok('value' in decodeAgentRecord(bytesOf(whole)))
    assert.equal(refused(whole.replace('{', '{"text":"x",')), 'duplicate-key')
    assert.ok(performance.now() - started < 1_000)
  })

  it('and none that only looks like one', () =>
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('"', '\\', ':', '"text":', '{', '}', ',', ' '), { maxLength: 30 }),
        (parts) => {
          const value = result('a', `x${parts.join('')}`)
          assert.deepEqual(decodeAgentRecord(encode(value)), { value })
        },
      ),
      { numRuns: 1_000, ...seed() },
    ))
})

describe('decode of hostile bytes', () => {
  /** Refused, or exactly what the bytes say. Never thrown. */
  function judge(bytes: Uint8Array): void {
    for (const decode of decoders) {
      const decoded = decode(bytes)
      if ('value' in decoded)
        assert.deepEqual(
          decoded.value,
          JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)),
        )
      else refusalOf(decoded)
    }
  }

  it('never throws, whatever they are', () =>
    fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), judge), {
      numRuns: 2_000,
      ...seed(),
    }))

  it('never throws, whatever JSON they are', () =>
    fc.assert(
      fc.property(fc.json({ maxDepth: 4 }), (json) => judge(bytesOf(json))),
      { numRuns: 1_000, ...seed() },
    ))

  it('refuses a spoilt record, or reads what it says', () =>
    fc.assert(
      fc.property(
        anyEncodable,
        fc.array(
          fc.record({
            at: fc.nat(),
            remove: fc.nat(3),
            insert: fc.oneof(
              fc.uint8Array({ maxLength: 3 }),
              fc.constantFrom(
                ...['"', '\\', '{}', '[]', ',', '"at":2,', '"__proto__":1,', '9'].map(bytesOf),
              ),
            ),
          }),
          { minLength: 1, maxLength: 3 },
        ),
        ([value], edits) => {
          let bytes = Buffer.from(encode(value))
          for (const { at, remove, insert } of edits) {
            const place = at % (bytes.length + 1)
            bytes = Buffer.concat([
              bytes.subarray(0, place),
              insert,
              bytes.subarray(place + remove),
            ])
          }
          judge(bytes)
        },
      ),
      { numRuns: 3_000, ...seed() },
    ))

  it('refuses a record cut short anywhere', () => {
    for (const [value, decode] of smallest) {
      const whole = encode(value)
      for (let length = 0; length < whole.length; length++)
        assert.equal(refusalOf(decode(whole.subarray(0, length))), 'not-json')
    }
  })

  it('reads a record with anything JSON calls white space in it', () => {
    const spaced = JSON.stringify(result('a'), undefined, '\t').replaceAll('\n', ' \r\n')
    assert.deepEqual(decodeAgentRecord(bytesOf(spaced)), { value: result('a') })
  })

  it('keeps lone surrogates as they were written', () => {
    const value = result('a', 'x\ud800')
    assert.deepEqual(decodeAgentRecord(encode(value)), { value })
    assert.deepEqual(decodeAgentRecord(bytesOf(jsonOf(value))), { value })
  })

  it('never changes what it was given', () => {
    const bytes = encode(placed('a'))
    const before = Buffer.from(bytes)
    decodeOwnerRecord(bytes)
    assert.deepEqual(Buffer.from(bytes), before)
    assert.deepEqual(processOf(2), processOf(2))
  })
})

type Json = { readonly [key: string]: unknown }

/** Every object in a value, and the JSON of the whole with other JSON in its place. */
function* partsOf(
  value: Json,
  whole: (part: string) => string = (part) => part,
): Generator<readonly [Json, (part: string) => string]> {
  yield [value, whole]
  for (const [key, held] of Object.entries(value)) {
    if (typeof held !== 'object' || held === null || Array.isArray(held)) continue
    const around = (part: string): string => {
      const others = Object.entries(value)
        .filter(([other]) => other !== key)
        .map(([other, beside]) => `${jsonOf(other)}:${jsonOf(beside)}`)
      return whole(`{${[`${jsonOf(key)}:${part}`, ...others].join(',')}}`)
    }
    yield* partsOf(held as Json, around)
  }
}

function* withoutOneKey(value: Json): Generator<Json> {
  for (const key of Object.keys(value)) {
    const { [key]: held, ...others } = value
    yield others
    if (typeof held === 'object' && held !== null && !Array.isArray(held))
      for (const part of withoutOneKey(held as Json)) yield { ...value, [key]: part }
  }
}

function* withOneReplaced(value: Json, replacement: unknown): Generator<Json> {
  for (const [key, held] of Object.entries(value)) {
    yield { ...value, [key]: replacement }
    if (typeof held === 'object' && held !== null && !Array.isArray(held))
      for (const part of withOneReplaced(held as Json, replacement)) yield { ...value, [key]: part }
  }
}
