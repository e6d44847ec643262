import type { SessionStore } from '../index.ts'
import type { VirtualProcess } from './machine.ts'

const directory = '/agent/agent-sessions'

/** Where agents' sessions lie, on the same disk as everything else. */
export class FakeSessionStore implements SessionStore {
  readonly #process: VirtualProcess
  readonly #next: () => string

  constructor(process: VirtualProcess, next: () => string) {
    this.#process = process
    this.#next = next
  }

  plan(_cwd: string): { readonly id: string; readonly file: string } {
    const id = `session-${this.#next()}`
    return { id, file: `${directory}/${id}.jsonl` }
  }

  async write({ file }: { readonly file: string }, cwd: string): Promise<void> {
    const { fs } = this.#process
    fs.makeDirectory(directory)
    await fs.createSynced(file, Buffer.from(JSON.stringify({ type: 'session', cwd })))
  }

  remove({ file }: { readonly file: string }): void {
    this.#process.fs.remove(file)
  }
}

/** The sessions that agents have or had. */
export function agentSessions(fs: VirtualProcess['fs']): readonly string[] {
  return fs.list(directory) ?? []
}
