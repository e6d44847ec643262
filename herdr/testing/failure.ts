import assert from 'node:assert/strict'
import { HerdrError } from '../index.ts'

/** What a call was refused with. */
export async function failure(call: Promise<unknown>): Promise<HerdrError> {
  const error = await call.then(
    () => assert.fail('it was answered'),
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof HerdrError, String(error))
  return error
}

/** Its code and outcome, in a line. */
export async function verdict(call: Promise<unknown>): Promise<string> {
  const { code, outcome } = await failure(call)
  return `${code}, ${outcome}`
}
