import { mkdirSync, readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { AgentSession } from '../actors/index.ts'
import { MailboxError, type MailboxFs } from '../mailbox/index.ts'
import { planSession } from './host.ts'
import { mendLastLine } from './session-file.ts'

/** What a session of an agent says of itself in its header, beside what the host writes there. */
export interface SessionOrigin {
  readonly definition: string
  /** Session id of the owner that had it made. */
  readonly owner: string
}

/** A new session: its header alone, so that the agent has an identity before it runs. */
export function newSession(
  fs: MailboxFs,
  cwd: string,
  parentFile: string,
  drover: SessionOrigin,
): AgentSession {
  const { id, file, header } = planSession(cwd)
  const parentSession = resolve(parentFile) // the same wherever it is read
  return made(fs, id, file, () => lineOf({ ...header, parentSession, drover }))
}

/** A copy of a saved session under an id of its own: its whole lines, with a header that says what it comes from. */
export function forkedSession(
  fs: MailboxFs,
  cwd: string,
  sourceFile: string,
  drover: SessionOrigin,
): AgentSession {
  const { id, file, header } = planSession(cwd)
  return made(fs, id, file, () => {
    const whole = readFileSync(sourceFile, 'utf8')
    const lines = whole.slice(0, whole.lastIndexOf('\n') + 1).split('\n')
    const entries = lines.slice(1).filter((line) => !line.startsWith('{"type":"session"'))
    return lineOf({ ...header, parentSession: sourceFile, drover }) + entries.join('\n')
  })
}

/** A saved session that is taken up again as it is. */
export function continuedSession(id: string, file: string): AgentSession {
  return {
    id,
    file,
    async write() {
      mendLastLine(file)
    },
    remove() {}, // it was there before
  }
}

function made(fs: MailboxFs, id: string, file: string, text: () => string): AgentSession {
  return {
    id,
    file,
    async write() {
      const directory = dirname(file)
      mkdirSync(directory, { recursive: true })
      await fs.createSynced(file, Buffer.from(text()))
      await fs.syncDirectory(directory)
    },
    remove() {
      try {
        const read = fs.read(file, unspokenBytesMax)
        if ('bytes' in read && !isSpokenIn(Buffer.from(read.bytes).toString())) fs.remove(file)
      } catch (error) {
        if (!(error instanceof MailboxError)) throw error // a leftover without content costs nothing
      }
    },
  }
}

const lineOf = (value: object): string => `${JSON.stringify(value)}\n`

/** A session larger than this has more than its header and settings. */
const unspokenBytesMax = 65_536

/** Whether a session holds any message. 1.x notes model and thinking level before anybody has spoken. */
function isSpokenIn(session: string): boolean {
  return /"type":"(message|custom_message)"/.test(session)
}
