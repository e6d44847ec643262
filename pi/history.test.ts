import assert from 'node:assert/strict'
import {
  appendFileSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import type { DeliveryIdentity } from '../actors/index.ts'
import { History } from './history.ts'
import { mailMessageType } from './messages.ts'

const directory = mkdtempSync(join(tmpdir(), 'drover-history-'))
after(() => rmSync(directory, { recursive: true }))

let files = 0
const newFile = () => join(directory, `${files++}.jsonl`)

const identity = (more: Partial<DeliveryIdentity> = {}): DeliveryIdentity => ({
  generation: 'g'.repeat(26),
  owner: 'owner',
  session: 'session',
  sessionFile: '/sessions/a.jsonl',
  label: 'scout',
  cwd: '/project',
  request: 'r'.repeat(26),
  ...more,
})

const entry = (...identities: DeliveryIdentity[]) => ({
  type: 'custom_message',
  customType: mailMessageType,
  content: 'told 🐑',
  details: { results: identities.map((one) => ({ identity: one })) },
})
const line = (value: unknown) => `${JSON.stringify(value)}\n`

describe('the history of an owner', () => {
  it('holds nothing while its file does not exist', async () => {
    const file = newFile()
    const history = new History(() => file)
    assert.deepEqual(await history.seen([identity()]), [])
    assert.deepEqual(await new History(() => undefined).seen([identity()]), [])
    writeFileSync(file, line(entry(identity())))
    assert.deepEqual(await history.seen([identity()]), [identity()])
  })

  it('holds each of several results that came in one message', async () => {
    const file = newFile()
    const other = identity({ generation: 'h'.repeat(26), label: 'scout-2' })
    writeFileSync(file, line({ type: 'session' }) + line(entry(identity(), other)))
    assert.deepEqual(await new History(() => file).seen([other, identity()]), [other, identity()])
  })

  it('takes a line without its end for not there yet', async () => {
    const file = newFile()
    const whole = line(entry(identity()))
    const history = new History(() => file)
    for (const cut of [1, whole.length - 20, whole.length - 1]) {
      writeFileSync(file, Buffer.from(whole).subarray(0, cut))
      assert.deepEqual(await history.seen([identity()]), [])
    }
    writeFileSync(file, whole)
    assert.deepEqual(await history.seen([identity()]), [identity()])
  })

  it('reads on from where it was, and a file that shrank or was replaced as a new one', async () => {
    const file = newFile()
    const [first, second, third] = ['a', 'b', 'c'].map((name) => identity({ label: name }))
    assert.ok(first && second && third)
    const history = new History(() => file)
    writeFileSync(file, line(entry(first)))
    assert.deepEqual(await history.seen([first, second]), [first])
    appendFileSync(file, line(entry(second)))
    assert.deepEqual(await history.seen([first, second]), [first, second])
    truncateSync(file, 0)
    assert.deepEqual(await history.seen([first, second]), [])
    const replacement = newFile()
    writeFileSync(replacement, line(entry(third)) + line(entry(second)))
    renameSync(replacement, file)
    assert.deepEqual(await history.seen([first, second, third]), [second, third])
  })

  for (const field of Object.keys(identity()) as (keyof DeliveryIdentity)[])
    it(`does not take a result for told when ${field} differs`, async () => {
      const file = newFile()
      writeFileSync(file, line(entry(identity({ [field]: 'another' }))))
      assert.deepEqual(await new History(() => file).seen([identity()]), [])
    })

  it('believes no other entry that looks like one', async () => {
    const file = newFile()
    const forged = [
      { ...entry(identity()), type: 'message' },
      { ...entry(identity()), customType: 'other', note: mailMessageType },
      { type: 'message', message: { role: 'user', content: JSON.stringify(entry(identity())) } },
      { ...entry(), details: { results: { identity: identity() } } },
      { ...entry(), details: { results: [null, {}, 7] } },
      { ...entry(), details: null },
      null,
    ]
    writeFileSync(file, [...forged.map(line), `{"broken ${mailMessageType}\n`].join(''))
    assert.deepEqual(await new History(() => file).seen([identity()]), [])
  })

  for (const wrong of [
    null,
    'told',
    7,
    [],
    {},
    { ...identity(), request: null },
    { ...identity(), generation: 7 },
    { ...identity(), cwd: { path: '/project' } },
    { ...identity(), ask: 7 },
    { ...identity(), label: undefined },
  ])
    it(`takes ${JSON.stringify(wrong).slice(0, 60)} for no identity, and finds what stands beside and behind it`, async () => {
      const file = newFile()
      const [beside, behind] = [identity({ label: 'beside' }), identity({ label: 'behind' })]
      const mixed = { results: [{ identity: wrong }, { identity: beside }], questions: wrong }
      writeFileSync(file, line({ ...entry(), details: mixed }) + line(entry(behind)))
      const history = new History(() => file)
      assert.deepEqual(await history.seen([identity(), beside, behind]), [beside, behind])
    })

  it('holds a question as what it is: no result of that request', async () => {
    const file = newFile()
    const asked = identity({ ask: 'q'.repeat(26) })
    const details = { results: [], questions: [{ identity: asked }] }
    writeFileSync(file, line({ ...entry(), details }))
    assert.deepEqual(await new History(() => file).seen([identity(), asked]), [asked])
  })

  it('finds a result behind a line of many megabytes', async () => {
    const file = newFile()
    const long = { type: 'message', message: { role: 'user', content: '🐑'.repeat(1_500_000) } }
    writeFileSync(file, line(long) + line(entry(identity())))
    assert.deepEqual(await new History(() => file).seen([identity()]), [identity()])
  })
})

describe('mending a history', () => {
  it('ends a last line that has no end, so that what follows is a line of its own', async () => {
    for (const torn of ['{', '{"type":"message","id":"abc', line(entry(identity())).trimEnd()]) {
      const file = newFile()
      writeFileSync(file, line({ type: 'session' }) + torn)
      const history = new History(() => file)
      await history.seen([identity()])
      history.mend()
      assert.equal(readFileSync(file, 'utf8'), `${line({ type: 'session' })}${torn}\n`)
      const next = identity({ label: 'next' })
      appendFileSync(file, line(entry(next)))
      assert.deepEqual(await history.seen([next]), [next])
    }
  })

  for (const [what, text] of [
    ['whole', line({ type: 'session' }) + line(entry(identity()))],
    ['empty', ''],
  ] as const)
    it(`leaves a file that is ${what} as it is, down to its time`, () => {
      const file = newFile()
      writeFileSync(file, text)
      const { ino, mtimeNs } = statSync(file, { bigint: true })
      new History(() => file).mend()
      assert.equal(readFileSync(file, 'utf8'), text)
      const after = statSync(file, { bigint: true })
      assert.deepEqual([after.ino, after.mtimeNs], [ino, mtimeNs])
    })

  it('makes no file where there is none', () => {
    const file = newFile()
    new History(() => file).mend()
    new History(() => undefined).mend()
    assert.equal(statSync(file, { throwIfNoEntry: false }), undefined)
  })
})
