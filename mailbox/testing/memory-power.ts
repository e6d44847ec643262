import type { DirectoryNode, MemoryDisk } from './memory-disk.ts'

/**
 * Every state a disk may be in after a power cut now, each once, the one in which nothing is lost first.
 *
 * Computed one by one, but all from the disk as it is at this call. Remembers one line of text for each state.
 */
export function powerLosses(disk: MemoryDisk): Iterable<MemoryDisk> {
  return states(disk.copy())
}

function* states(cut: MemoryDisk): Generator<MemoryDisk> {
  const seen = new Set<string>()
  for (const outcomes of combinations(cut.powerLossChoices())) {
    const disk = cut.afterPowerLoss(outcomes)
    const state = fingerprint(disk)
    if (seen.has(state)) continue
    seen.add(state)
    yield disk
  }
}

/** Counts through all combinations, the first choice of each coming first. */
function* combinations(choices: readonly number[]): Generator<readonly number[]> {
  const digits = choices.map(() => 0)
  for (;;) {
    yield digits
    let place = 0
    while (place < digits.length && digits[place] === (choices[place] ?? 0) - 1) digits[place++] = 0
    if (place === digits.length) return
    digits[place] = (digits[place] ?? 0) + 1
  }
}

/** Equal for states with the same names, nodes and bytes. Outcomes for the bytes of one node differ in length. */
function fingerprint(disk: MemoryDisk): string {
  const lines: string[] = []
  const walk = (path: string, directory: DirectoryNode): void => {
    for (const [name, node] of directory.names) {
      const length = node.kind === 'file' ? node.bytes.length : 0
      lines.push(JSON.stringify([`${path}/${name}`, node.id, length]))
      if (node.kind === 'directory') walk(`${path}/${name}`, node)
    }
  }
  walk('', disk.root)
  return lines.sort().join('\n')
}
