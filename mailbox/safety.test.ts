import assert from 'node:assert/strict'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  realpathSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { describe, it } from 'node:test'
import { MailboxError } from './errors.ts'
import { trustedAgentDirectory } from './safety.ts'
import { scratchDirectory } from './testing/builders.ts'

const scratch = scratchDirectory()
const isRoot = process.getuid?.() === 0
const noForeigners = isRoot ? false : 'only root can make directories of another user'
let opened = 0

/** A new directory of ours. */
function open(mode = 0o700): string {
  const path = `${scratch}/${opened++}`
  mkdirSync(path)
  chmodSync(path, mode)
  return path
}

/** Refused with what is wrong, where, and what to do. */
function refusal(path: string, ...parts: readonly string[]) {
  return (error: unknown): boolean => {
    assert.ok(error instanceof MailboxError, String(error))
    assert.equal(error.code, 'DROVER_MAILBOX_UNSAFE')
    assert.equal(error.remedy, 'report')
    for (const part of [path, ...parts]) assert.ok(error.message.includes(part), error.message)
    return true
  }
}

describe('the agent directory', () => {
  it('is made private where it is not there, with all that leads to it', () => {
    const path = `${open()}/a/b/agent`
    const before = process.umask(0)
    try {
      assert.equal(trustedAgentDirectory(path), path)
    } finally {
      process.umask(before)
    }
    for (const made of [path, `${path}/..`, `${path}/../..`])
      assert.equal(statSync(made).mode & 0o777, 0o700)
    assert.equal(trustedAgentDirectory(path), path)
  })

  it('may be readable by others, and writable by a group', () => {
    for (const mode of [0o755, 0o750, 0o775]) {
      const path = open(mode)
      assert.equal(trustedAgentDirectory(path), path)
      assert.equal(statSync(path).mode & 0o777, mode)
    }
  })

  it('is refused where everyone may write, at any height, unless sticky', () => {
    const loose = open(0o777)
    for (const path of [loose, `${loose}/agent`, `${loose}/a/b/agent`])
      assert.throws(
        () => trustedAgentDirectory(path),
        refusal(loose, 'written by everyone', `chmod o-w ${loose}`),
      )
    const sticky = open(0o1777)
    assert.equal(trustedAgentDirectory(`${sticky}/agent`), `${sticky}/agent`)
  })

  it('is refused where another user owns it, or what leads to it', { skip: noForeigners }, () => {
    const foreign = open()
    mkdirSync(`${foreign}/agent`)
    chownSync(foreign, 65534, 65534)
    for (const path of [foreign, `${foreign}/agent`])
      assert.throws(
        () => trustedAgentDirectory(path),
        refusal(foreign, 'another user', 'PI_CODING_AGENT_DIR'),
      )
  })

  it('is known by its real path, and that is what is judged', () => {
    const real = open()
    const beside = open()
    symlinkSync(real, `${beside}/link`)
    assert.equal(trustedAgentDirectory(`${beside}/link`), realpathSync(real))
    assert.equal(trustedAgentDirectory(`${beside}/link/below`), `${real}/below`)
    const loose = open(0o777)
    symlinkSync(loose, `${beside}/loose`)
    assert.throws(() => trustedAgentDirectory(`${beside}/loose`), refusal(loose))
  })

  it('is refused where a file is in the way, or a link that leads nowhere', () => {
    const directory = open()
    writeFileSync(`${directory}/file`, '')
    symlinkSync(`${directory}/nowhere/at/all`, `${directory}/dangling`)
    for (const path of ['file', 'file/agent', 'dangling', 'dangling/agent'].map(
      (name) => `${directory}/${name}`,
    ))
      assert.throws(() => trustedAgentDirectory(path), refusal(path))
    assert.equal(existsSync(`${directory}/nowhere`), false)
  })
})
