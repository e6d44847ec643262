/** JSON spoilt in every place, and what a decoder says to it. For tests alone. */
import assert from 'node:assert/strict'
import { type Decoded, decodeAgentRecord, type Refusal } from '../codec.ts'
import { refusalReasonCharsMax } from '../limits.ts'
import type { Decode } from './any-record.ts'

export const bytesOf = (text: string): Uint8Array => Buffer.from(text)
export const jsonOf = (value: unknown): string => JSON.stringify(value)

/** Why it was refused, which it must be, with a reason of a bounded length. */
export function refusalOf(decoded: Decoded<unknown>): Refusal {
  assert.ok('refusal' in decoded, `accepted: ${jsonOf(decoded)}`)
  assert.ok(decoded.why.length > 0)
  assert.ok(decoded.why.length <= refusalReasonCharsMax, `${decoded.why.length} characters of why`)
  return decoded.refusal
}

/** The same for JSON, read as a record of an agent unless a test says otherwise. */
export const refused = (json: string, decode: Decode = decodeAgentRecord): Refusal =>
  refusalOf(decode(bytesOf(json)))

/** An object as JSON has it. */
export type Json = { readonly [key: string]: unknown }

/** Every object in a value, and the JSON of the whole with other JSON in its place. */
export function* partsOf(
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

/** The value without one of its keys, for every key at every depth. */
export function* withoutOneKey(value: Json): Generator<Json> {
  for (const key of Object.keys(value)) {
    const { [key]: held, ...others } = value
    yield others
    if (typeof held === 'object' && held !== null && !Array.isArray(held))
      for (const part of withoutOneKey(held as Json)) yield { ...value, [key]: part }
  }
}

/** The value with something else in the place of one of its values, for every one at every depth. */
export function* withOneReplaced(value: Json, replacement: unknown): Generator<Json> {
  for (const [key, held] of Object.entries(value)) {
    yield { ...value, [key]: replacement }
    if (typeof held === 'object' && held !== null && !Array.isArray(held))
      for (const part of withOneReplaced(held as Json, replacement)) yield { ...value, [key]: part }
  }
}
