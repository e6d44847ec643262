import type { Ids, Processes, ProcessIdentity } from './ports.ts'
import type { Runtime } from './record.ts'

const registryKey = Symbol.for('drover.runtimes')

/** The nonces of all runtimes this process has now, whichever copy of this module started them. */
function registry(): Set<string> {
  const global = globalThis as { [registryKey]?: Set<string> }
  global[registryKey] ??= new Set()
  return global[registryKey]
}

/** Starts a runtime of this process. Its end frees what it held, though the process goes on (`/new`, `/reload`). */
export function startRuntime(
  processes: Processes,
  ids: Ids,
): { readonly runtime: Runtime; readonly end: () => void } {
  const runtime: Runtime = { process: processes.self(), nonce: ids.next() }
  registry().add(runtime.nonce)
  return { runtime, end: () => registry().delete(runtime.nonce) }
}

/** Whether a runtime may still act. `gone` is proof. */
export function runtimePresence(
  processes: Processes,
  { process, nonce }: Runtime,
): 'live' | 'gone' | 'unknown' {
  const presence = processes.presence(process)
  if (presence !== 'live' || process.pid !== processes.self().pid) return presence
  return registry().has(nonce) ? 'live' : 'gone'
}

/** Whether two identities are of one process, in one of its lives. */
export function isSameProcess(a: ProcessIdentity, b: ProcessIdentity): boolean {
  return (
    a.host === b.host &&
    a.boot === b.boot &&
    a.namespace === b.namespace &&
    a.pid === b.pid &&
    a.started === b.started
  )
}
