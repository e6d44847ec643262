import {
  encode,
  type GenerationFile,
  type Identity,
  protocol,
  type SteerRecord,
  systemIds,
} from '../mailbox/index.ts'

/** The one agent all records of a run are about. */
export const identity: Identity = {
  generation: 'g'.repeat(26),
  owner: '0198f7a2-6f4e-7c11-9d3b-5a1e8c2f4b60',
  session: '0198f7a2-7b10-7d52-8a4c-2f6b9e0d1c73',
  sessionFile: '/home/somebody/.pi/agent/sessions/project/2026-01-01_bench.jsonl',
  label: 'bench',
  cwd: '/home/somebody/project',
}

export function generationFile(generation: string): GenerationFile {
  const process = { host: 'h', boot: 'b', namespace: 'n', pid: 1, started: '1' }
  return {
    protocol,
    kind: 'generation',
    identity: { ...identity, generation },
    root: identity.owner,
    depth: 1,
    definition: 'researcher',
    runner: 'headless',
    build: 'bench',
    at: 0,
    starter: { process, nonce: 'n'.repeat(26) },
  }
}

/** A new record whose serialized form has exactly this many bytes. */
export function recordOf(bytes: number): SteerRecord {
  const record = {
    protocol,
    kind: 'steer',
    id: systemIds.next(),
    identity,
    at: 0,
    lease: 1,
  } as const
  const envelope = encode({ ...record, text: '' }).length
  return { ...record, text: 'x'.repeat(bytes - envelope) }
}

/** The name the writer of a directory gives to its nth record. */
export function recordName(number: number, { kind, id }: SteerRecord): string {
  return `${String(number).padStart(8, '0')}-${kind}-${id}.json`
}
