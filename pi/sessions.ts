import { mkdirSync } from 'node:fs'
import type { SessionStore } from '../actors/index.ts'
import { MailboxError, type MailboxFs } from '../mailbox/index.ts'
import { planSession } from './host.ts'

/** Sessions of agents, in the host's own folder: header first, so that the agent has an identity before it runs. */
export class PiSessionStore implements SessionStore {
  readonly #fs: MailboxFs
  readonly #parentFile: string
  readonly #headers = new Map<string, { readonly directory: string; readonly header: object }>()

  /** @param parentFile session file of the owner, written into every header */
  constructor(fs: MailboxFs, parentFile: string) {
    this.#fs = fs
    this.#parentFile = parentFile
  }

  plan(cwd: string): { readonly id: string; readonly file: string } {
    const { id, file, directory, header } = planSession(cwd)
    this.#headers.set(id, { directory, header })
    return { id, file }
  }

  async write({ id, file }: { readonly id: string; readonly file: string }): Promise<void> {
    const planned = this.#headers.get(id)
    if (planned === undefined) throw new Error(`session ${id} was not planned here`)
    const { directory, header } = planned
    mkdirSync(directory, { recursive: true })
    const line = `${JSON.stringify({ ...header, parentSession: this.#parentFile })}\n`
    await this.#fs.createSynced(file, Buffer.from(line))
    await this.#fs.syncDirectory(directory)
    this.#headers.delete(id)
  }

  remove({ id, file }: { readonly id: string; readonly file: string }): void {
    this.#headers.delete(id)
    try {
      const read = this.#fs.read(file, unspokenBytesMax)
      if ('bytes' in read && !isSpokenIn(Buffer.from(read.bytes).toString())) this.#fs.remove(file)
    } catch (error) {
      if (!(error instanceof MailboxError)) throw error // a leftover without content costs nothing
    }
  }
}

/** A session larger than this has more than its header and settings. */
const unspokenBytesMax = 65_536

/** Whether a session holds any message. 1.x notes model and thinking level before anybody has spoken. */
function isSpokenIn(session: string): boolean {
  return /"type":"(message|custom_message)"/.test(session)
}
