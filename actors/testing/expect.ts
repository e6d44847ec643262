import assert from 'node:assert/strict'
import { OperationError, type OperationFailure } from '../operation-error.ts'
import type { Lead, World } from './world.ts'

/** All agents are settled: neither mailboxes nor claims nor processes are left of them. */
export function assertNothingIsLeft(of: World, when?: string): void {
  assert.deepEqual(of.remains(), [], when)
  const living = of.livingAgents().map(({ identity }) => identity.pid)
  assert.deepEqual(living, [], when)
}

/** Lets time pass until an operation has been refused, and says how. */
export async function refusal(of: World, operation: Promise<unknown>): Promise<OperationFailure> {
  const outcome = await of.run(operation.catch((error: unknown) => error))
  assert.ok(outcome instanceof OperationError, `not refused: ${outcome}`)
  return outcome.failure
}

/** The agent asks its owner, and the question is durable. */
export async function asks({ world: w }: Lead, text: string): Promise<void> {
  const { managed } = w.agent('scout')
  assert.ok(managed)
  const answer = await w.run(managed.ask({ text }))
  assert.equal(answer.outcome, 'asked')
}
