import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

const shareVariable = 'DROVER_TEST_SHARE'

/**
 * Runs a long test in processes beside the test runner, one for each share: they use all cores, and the runner's
 * hooks on every promise, which double the time, do not reach them.
 */
export async function runBeside(file: string, shares: readonly unknown[]): Promise<void> {
  const complaints = await Promise.all(shares.map((share) => complaintOf(file, share)))
  for (const complaint of complaints) if (complaint !== '') assert.fail(complaint)
}

/** The share this process was started for; undefined in the test runner. */
export function ownShare<Share>(): Share | undefined {
  const share = process.env[shareVariable]
  return share === undefined ? undefined : JSON.parse(share)
}

async function complaintOf(file: string, share: unknown): Promise<string> {
  const { execPath, execArgv, env } = process
  const child = spawn(execPath, [...execArgv, fileURLToPath(file)], {
    env: { ...env, [shareVariable]: JSON.stringify(share) },
    stdio: ['ignore', 'inherit', 'pipe'],
  })
  const [complaint, code] = await Promise.all([
    text(child.stderr),
    new Promise<number | null>((resolve) => child.once('exit', resolve)),
  ])
  return complaint.trim() || (code === 0 ? '' : `it ended with ${code}`)
}
