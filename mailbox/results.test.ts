import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { systemClock } from './clock.ts'
import { keepText, pruneResults } from './results.ts'
import { countingIds } from './testing/builders.ts'
import { Crashed, MemoryFs } from './testing/memory-fs.ts'

const path = '/results/a.md'
const text = 'the whole of it'

function emptyDisk(): MemoryFs {
  const fs = new MemoryFs()
  fs.makeDirectory('/results')
  fs.syncAll()
  return fs.peer()
}

/** What has the name of the whole text. */
function kept(fs: MemoryFs): string | undefined {
  const found = fs.snapshot().get(path)
  return found === undefined ? undefined : Buffer.from(found).toString()
}

describe('the whole text of a long result', () => {
  it('is never there by half, wherever its writer dies and the power fails, and the next life keeps it', async () => {
    let states = 0
    for (let point = 0, isComplete = false; !isComplete; point++) {
      const fs = emptyDisk()
      fs.crashAt(point)
      isComplete = await keepText(fs, countingIds('a'), path, text).then(
        () => true,
        (error: unknown) => {
          assert.ok(error instanceof Crashed, String(error))
          return false
        },
      )
      const machines = [fs.crash(), ...fs.afterPowerLoss()]
      for (const survivor of machines) {
        states++
        const found = kept(survivor)
        assert.ok(found === text || (found === undefined && !isComplete), `${point}: ${found}`)
        await keepText(survivor, countingIds('b'), path, text)
        for (const later of survivor.afterPowerLoss()) assert.equal(kept(later), text, `${point}`)
      }
    }
    assert.ok(states >= 20, `only ${states} states were seen`)
  })

  it('is durable after a retry, whatever step of the first attempt the disk refused', async () => {
    const whole = emptyDisk()
    await keepText(whole, countingIds('a'), path, text)
    for (let point = 0; point < whole.operations; point++) {
      const fs = emptyDisk()
      fs.failAt(point, 'EIO', 'once')
      const ids = countingIds('a')
      const first = keepText(fs, ids, path, text)
      // The text is there by then: only its draft stays behind, and is removed with the results of its age.
      if (point === whole.operations - 1) await first
      else await assert.rejects(first)
      await keepText(fs, ids, path, text)
      for (const survivor of fs.afterPowerLoss())
        assert.equal(kept(survivor), text, `after a fault at ${point}`)
    }
  })

  it('leaves no draft behind', async () => {
    const fs = emptyDisk()
    await keepText(fs, countingIds('a'), path, text)
    await keepText(fs, countingIds('b'), path, text)
    assert.deepEqual(fs.list('/results'), ['a.md'])
  })
})

it('removes texts of results after 30 days, and none before', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'drover-results-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const nowS = systemClock.now() / 1_000
  for (const days of [0, 29, 31]) {
    const file = join(directory, `${days}.md`)
    writeFileSync(file, '')
    utimesSync(file, nowS, nowS - days * 86_400)
  }
  pruneResults(systemClock, directory)
  assert.deepEqual(readdirSync(directory).sort(), ['0.md', '29.md'])
  pruneResults(systemClock, join(directory, 'absent'))
})
