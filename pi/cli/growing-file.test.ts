import assert from 'node:assert/strict'
import {
  appendFileSync,
  mkdtempSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { GrowingFile, type Line } from './growing-file.ts'

const directory = mkdtempSync(join(tmpdir(), 'drover-growing-'))
after(() => rmSync(directory, { recursive: true }))

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** What buffers hold that somebody still has. */
function heldBytes(): number {
  collectGarbage()
  return process.memoryUsage().arrayBuffers
}

let files = 0
function grown(text: string | Buffer): { readonly path: string; readonly file: GrowingFile } {
  const path = join(directory, String(files++))
  writeFileSync(path, text)
  return { path, file: new GrowingFile(path) }
}

function readAll(file: GrowingFile): Line[] {
  const lines: Line[] = []
  file.read((line) => lines.push(line))
  return lines
}

const texts = (lines: readonly Line[]) =>
  lines.map((line) => ('text' in line ? line.text : line.skippedBytes))

describe('a file that grows', () => {
  it('is read from its end, each line that is added once and whole', () => {
    const { path, file } = grown('one\ntwo\nthr')
    assert.deepEqual(file.end(), ['one', 'two'])
    assert.deepEqual(readAll(file), [])
    appendFileSync(path, 'ee\nfour\n')
    assert.deepEqual(texts(readAll(file)), ['three', 'four'])
    assert.deepEqual(readAll(file), [])
  })

  it('may begin, be replaced or cut while it is followed', () => {
    const path = join(directory, 'late')
    const file = new GrowingFile(path)
    assert.equal(file.isThere, false)
    assert.deepEqual(file.end(), [])
    assert.deepEqual(readAll(file), [])
    writeFileSync(path, 'first\n')
    assert.deepEqual(texts(readAll(file)), ['first'])
    writeFileSync(`${path}.new`, 'other\nlines\n')
    renameSync(`${path}.new`, path)
    assert.deepEqual(readAll(file), [], 'what was before is not new')
    appendFileSync(path, 'more\n')
    assert.deepEqual(texts(readAll(file)), ['more'])
    truncateSync(path, 0)
    readAll(file)
    appendFileSync(path, 'again\n')
    assert.deepEqual(texts(readAll(file)), ['again'])
  })

  it('has its characters whole, however it is cut into pieces', () => {
    const { path, file } = grown('')
    file.end()
    const tree = Buffer.from('🌲\n')
    appendFileSync(path, tree.subarray(0, 1))
    assert.deepEqual(readAll(file), [])
    appendFileSync(path, tree.subarray(1))
    assert.deepEqual(texts(readAll(file)), ['🌲'])
  })

  it('keeps nothing of a line that is too long, and goes on behind it', () => {
    const { path, file } = grown('')
    file.end()
    const before = heldBytes()
    truncateSync(path, 64 << 20)
    readAll(file)
    assert.ok(heldBytes() - before < 8 << 20)
    appendFileSync(path, '\nshort\n')
    assert.deepEqual(texts(readAll(file)), [64 << 20, 'short'])
  })

  it('is not read whole for its last lines', () => {
    const line = `${'x'.repeat(1_023)}\n`
    const { path, file } = grown(line.repeat(8 << 10))
    appendFileSync(path, 'last\n')
    const lines = file.end()
    assert.equal(lines.at(-1), 'last')
    assert.ok(lines.length <= 4 << 10, String(lines.length))
    assert.ok(
      lines.slice(0, -1).every((each) => each.length === 1_023),
      'none is torn',
    )
  })
})
