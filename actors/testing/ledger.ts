import type { GenerationPaths } from '../../mailbox/index.ts'
import type { MemoryFs } from '../../mailbox/testing/index.ts'

/** All that was ever written about one generation, whatever has become of it since. */
export interface Written {
  readonly owner: Set<string>
  readonly agent: Set<string>
}

/** Watches mailboxes from outside, so that a test knows what was written even after it was settled. */
export class Ledger {
  readonly #written = new Map<string, Written>()

  follow(disk: MemoryFs, generation: string, paths: GenerationPaths): void {
    const written: Written = { owner: new Set(), agent: new Set() }
    this.#written.set(generation, written)
    for (const writer of ['owner', 'agent'] as const) {
      const look = () => {
        for (const name of disk.list(paths[writer]) ?? []) written[writer].add(name)
      }
      if (disk.entry(paths[writer]) === undefined) continue // a runner tried without a mailbox
      look()
      disk.watch(paths[writer], look)
    }
  }

  get generations(): readonly string[] {
    return [...this.#written.keys()]
  }

  /** How many records of these kinds a generation's writers have ever published. */
  count(generation: string, ...kinds: readonly string[]): number {
    const { owner, agent } = this.#written.get(generation) ?? { owner: [], agent: [] }
    const isOne = (name: string) => kinds.some((kind) => name.includes(`-${kind}-`))
    return [...owner, ...agent].filter(isOne).length
  }

  isReady(generation: string): boolean {
    return this.#written.get(generation)?.agent.has('ready.json') ?? false
  }
}
