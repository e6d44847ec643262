import assert from 'node:assert/strict'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { pathFrom } from './paths.ts'

for (const [given, meant] of [
  ['notes.md', '/base/notes.md'],
  ['../notes.md', '/notes.md'],
  ['/notes.md', '/notes.md'],
  ['~', homedir()],
  ['~/notes.md', join(homedir(), 'notes.md')],
  ['~notes.md', '/base/~notes.md'],
] as const)
  it(`a path given as ${given} is meant as a shell would`, () =>
    assert.equal(pathFrom('/base', given), meant))
