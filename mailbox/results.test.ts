import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { systemClock } from './clock.ts'
import { pruneResults } from './results.ts'

it('removes texts of results after 30 days, and none before', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'drover-results-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const nowS = systemClock.now() / 1_000
  for (const days of [0, 29, 31]) {
    const path = join(directory, `${days}.md`)
    writeFileSync(path, '')
    utimesSync(path, nowS, nowS - days * 86_400)
  }
  pruneResults(systemClock, directory)
  assert.deepEqual(readdirSync(directory).sort(), ['0.md', '29.md'])
  pruneResults(systemClock, join(directory, 'absent'))
})
