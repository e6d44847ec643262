import type { AgentSession } from '../index.ts'
import type { VirtualProcess } from './machine.ts'

const directory = '/agent/agent-sessions'

/** A new session of an agent, on the same disk as everything else. */
export function fakeSession({ fs }: VirtualProcess, id: string, cwd: string): AgentSession {
  const file = `${directory}/${id}.jsonl`
  return {
    id,
    file,
    async write() {
      fs.makeDirectory(directory)
      await fs.createSynced(file, Buffer.from(JSON.stringify({ type: 'session', cwd })))
    },
    remove: () => void fs.remove(file),
  }
}

/** The sessions that agents have or had. */
export function agentSessions(fs: VirtualProcess['fs']): readonly string[] {
  return fs.list(directory) ?? []
}
