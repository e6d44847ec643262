import assert from 'node:assert/strict'
import {
  appendFileSync,
  closeSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import fc from 'fast-check'
import { seed, VirtualClock } from '../../../actors/testing/index.ts'
import { systemClock } from '../../../mailbox/index.ts'
import type { Item } from './entries.ts'
import { entriesMax, lineBytesMax, Transcript, tailBytesMax } from './transcript.ts'

const directory = mkdtempSync(join(tmpdir(), 'drover-transcript-'))
after(() => rmSync(directory, { recursive: true }))

let files = 0
const newFile = (text = '') => {
  const path = join(directory, `${files++}.jsonl`)
  writeFileSync(path, text)
  return path
}

const header = '{"type":"session","version":3,"id":"s"}\n'
const line = (text: string) =>
  `${JSON.stringify({ type: 'message', message: { role: 'user', content: text } })}\n`

const textOf = ({ block }: Item): string => ('text' in block ? block.text : block.kind)
const textsIn = (transcript: Transcript) => transcript.items.map(textOf)

/** A reader that looks only when it is told to: without hints, and in a time that stands still. */
async function opened(path: string): Promise<Transcript> {
  const clock = new VirtualClock().face()
  const ports = { clock: { ...systemClock, background: clock.background.bind(clock) } }
  const transcript = new Transcript(path, { ...ports, watch: () => () => {} }, () => {})
  await transcript.start()
  return transcript
}

describe('the transcript of a session file', () => {
  it('shows what is there, and then what is added', async () => {
    const path = newFile(header + line('one'))
    const transcript = await opened(path)
    assert.deepEqual(textsIn(transcript), ['one'])
    appendFileSync(path, line('two'))
    await transcript.look()
    assert.deepEqual(textsIn(transcript), ['one', 'two'])
    assert.equal(transcript.hasEarlier, false)
    await transcript.stop()
  })

  it('is the same in whatever pieces the file was written', () => {
    const texts = fc.array(fc.string({ unit: fc.constantFrom('a', '羊', '🐑', 'é') }), {
      maxLength: 8,
    })
    return fc.assert(
      fc.asyncProperty(texts, fc.array(fc.integer({ min: 1, max: 40 })), async (said, sizes) => {
        const bytes = Buffer.from(header + said.map(line).join(''))
        const path = newFile()
        const transcript = await opened(path)
        let from = 0
        for (const size of [...sizes, bytes.length]) {
          appendFileSync(path, bytes.subarray(from, from + size))
          from += size
          await transcript.look()
        }
        assert.deepEqual(textsIn(transcript), said)
        await transcript.stop()
      }),
      { seed: seed(), numRuns: 60 },
    )
  })

  it('waits for the end of a torn last line', async () => {
    const whole = line('two 🐑')
    const path = newFile(header + line('one') + whole.slice(0, 30))
    const transcript = await opened(path)
    assert.deepEqual(textsIn(transcript), ['one'])
    appendFileSync(path, whole.slice(30))
    await transcript.look()
    assert.deepEqual(textsIn(transcript), ['one', 'two 🐑'])
    await transcript.stop()
  })

  it('begins anew when the file was replaced, shortened, or written over', async () => {
    const path = newFile(header + line('one') + line('two'))
    const transcript = await opened(path)
    const other = newFile(header + line('another') + line('file') + line('that is longer'))
    renameSync(other, path)
    await transcript.look()
    assert.deepEqual(textsIn(transcript), ['another', 'file', 'that is longer'])
    truncateSync(path, header.length + line('another').length)
    await transcript.look()
    assert.deepEqual(textsIn(transcript), ['another'])
    writeFileSync(path, header + line('written over, in the same file and longer than before'))
    await transcript.look()
    assert.deepEqual(textsIn(transcript), ['written over, in the same file and longer than before'])
    await transcript.stop()
  })

  it('says that there is no file, and reads it when there is', async () => {
    const path = newFile()
    unlinkSync(path)
    const transcript = await opened(path)
    assert.equal(transcript.problem, 'It has no session file yet.')
    writeFileSync(path, header + line('one'))
    await transcript.look()
    assert.equal(transcript.problem, undefined)
    assert.deepEqual(textsIn(transcript), ['one'])
    await transcript.stop()
  })

  it('keeps the newest entries only, and says that there are earlier ones', async () => {
    const said = Array.from({ length: entriesMax + 50 }, (_, i) => `said ${i}`)
    const path = newFile(header + said.map(line).join(''))
    const transcript = await opened(path)
    assert.deepEqual(textsIn(transcript), said.slice(-entriesMax))
    assert.equal(transcript.hasEarlier, true)
    appendFileSync(path, line('new'))
    await transcript.look()
    assert.deepEqual(textsIn(transcript), [...said.slice(1 - entriesMax), 'new'])
    await transcript.stop()
  })

  it('shows the beginning of a line of 20 MB, and that it is cut', async () => {
    const path = newFile(header + line('before'))
    appendFileSync(path, line('🐑'.repeat(5 * 1024 * 1024)))
    for (const more of ['', line('after')]) {
      appendFileSync(path, more)
      const transcript = await opened(path)
      const [long = '', cut = '', ...rest] = textsIn(transcript).slice(more === '' ? -2 : -3)
      assert.ok(/^🐑+… \[cut here; \d+ characters in all\]$/u.test(long), long.slice(-60))
      assert.match(cut, /20\.0 MiB/)
      assert.deepEqual(rest, more === '' ? [] : ['after'])
      await transcript.stop()
    }
  })

  it('reads on from the end where more was added than is worth reading', async () => {
    const path = newFile(header + line('one'))
    const transcript = await opened(path)
    const said = line('x'.repeat(lineBytesMax / 2))
    appendFileSync(path, said.repeat(Math.ceil((tailBytesMax * 2) / said.length)))
    appendFileSync(path, line('last'))
    await transcript.look()
    assert.equal(textsIn(transcript).at(-1), 'last')
    assert.equal(transcript.hasEarlier, true)
    await transcript.stop()
  })

  it('is read by itself when the file is said to have changed, and when nothing says so', async () => {
    const path = newFile(header)
    const clock = new VirtualClock()
    let hint = () => {}
    let changes = 0
    const watch = (_: string, listener: () => void) => {
      hint = listener
      return () => {}
    }
    const transcript = new Transcript(path, { clock: clock.face(), watch }, () => changes++)
    await transcript.start()
    appendFileSync(path, line('one'))
    hint()
    await whilePassing(clock, () => changes < 2)
    assert.deepEqual(textsIn(transcript), ['one'])
    appendFileSync(path, line('two')) // the hint gets lost
    await whilePassing(clock, () => changes < 3)
    assert.deepEqual(textsIn(transcript), ['one', 'two'])
    const before = clock.nowMs
    await whilePassing(clock, () => clock.nowMs < before + 10_000)
    assert.equal(changes, 3) // nothing is drawn while nothing happens
    await transcript.stop()
  })

  it('holds a bounded part of a session of 100 MB, in slices that let everything else run', async () => {
    const path = newFile(header)
    const descriptor = openSync(path, 'a')
    const entries = Array.from({ length: 64 }, (_, i) => line(`${i} ${'word '.repeat(3_000)}`))
    const block = Buffer.from(entries.join(''))
    for (let bytes = 0; bytes < 100 * 1024 * 1024; bytes += block.length)
      writeSync(descriptor, block)
    closeSync(descriptor)
    const heapBefore = heapBytes()
    let [nowMs, yields] = [0, 0]
    const clock = {
      ...systemClock,
      monotonic: () => nowMs++,
      yield: () => {
        yields++
        return systemClock.yield()
      },
    }
    const transcript = new Transcript(path, { clock }, () => {})
    await transcript.start()
    const { length } = transcript.items
    assert.ok(length > 100)
    assert.ok(heapBytes() - heapBefore < 24 * 1024 * 1024)
    assert.ok(yields > length / 8, `${yields} for ${length} entries`)
    await transcript.stop()
  })
})

/** Lets time pass, and files be read in it. */
async function whilePassing(clock: VirtualClock, isTrue: () => boolean): Promise<void> {
  while (isTrue()) await clock.advance(10)
}

function heapBytes(): number {
  ;(globalThis as { gc?: () => void }).gc?.()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
