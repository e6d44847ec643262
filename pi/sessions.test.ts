import assert from 'node:assert/strict'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { isAbsolute, join, relative } from 'node:path'
import { after, describe, it } from 'node:test'
import { diskFs } from '../mailbox/index.ts'
import { findSession, isOfAgentDirectory } from './saved-sessions.ts'
import { continuedSession, forkedSession, newSession } from './sessions.ts'

const place = mkdtempSync(join(tmpdir(), 'drover-sessions-'))
const agent = join(place, 'agent dir')
const project = join(place, 'my repo; $(x)')
for (const path of [agent, project]) mkdirSync(path, { mode: 0o700 })
const { PI_CODING_AGENT_DIR: usual } = process.env
process.env['PI_CODING_AGENT_DIR'] = agent
after(() => {
  if (usual === undefined) delete process.env['PI_CODING_AGENT_DIR']
  else process.env['PI_CODING_AGENT_DIR'] = usual
  rmSync(place, { recursive: true })
})

const origin = { definition: 'scout', owner: 'the-lead' }
const parent = join(agent, 'sessions/lead.jsonl')
const linesOf = (file: string) =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))

describe('a new session of an agent', () => {
  it('says whose child it is, as what and where it works, before anything runs in it', async () => {
    const { id, file, write } = newSession(diskFs, project, parent, origin)
    assert.equal(existsSync(file), false)
    await write()
    const [header, ...rest] = linesOf(file)
    assert.deepEqual(rest, [])
    const { type, parentSession, cwd, drover } = header
    assert.deepEqual([type, header.id, cwd], ['session', id, project])
    assert.deepEqual([parentSession, drover], [parent, origin])
    assert.equal(statSync(file).mode & 0o777, 0o600)
    assert.deepEqual(findSession(agent, project, id), { id, cwd, file, ...origin })
  })

  for (const [how, directory] of [
    ['with a space in its name', agent],
    ['named from where the lead is', relative(process.cwd(), agent)],
  ] as const)
    it(`lies in the agent directory, one ${how}, under a path that is the same from anywhere`, async () => {
      process.env['PI_CODING_AGENT_DIR'] = directory
      const { file, write } = newSession(diskFs, project, relative(process.cwd(), parent), origin)
      process.env['PI_CODING_AGENT_DIR'] = agent
      await write()
      assert.ok(isAbsolute(file), file)
      assert.ok(isOfAgentDirectory(agent, file), file)
      assert.equal(linesOf(file)[0].parentSession, parent)
    })

  it('is taken back as long as nobody has spoken in it', async () => {
    for (const isSpokenIn of [false, true]) {
      const session = newSession(diskFs, project, parent, origin)
      await session.write()
      const said = { type: isSpokenIn ? 'message' : 'model_change' }
      appendFileSync(session.file, `${JSON.stringify(said)}\n`)
      session.remove()
      assert.equal(existsSync(session.file), isSpokenIn)
    }
  })
})

describe('a session that is taken up again', () => {
  const source = join(place, 'source.jsonl')
  const said = [1, 2].map((n) => ({ type: 'message', id: `m${n}` }))
  const old = { type: 'session', id: 'old', cwd: '/elsewhere' }
  // The host repeats its header, and a killed one leaves its last line torn.
  const text = `${[old, old, ...said].map((each) => JSON.stringify(each)).join('\n')}\n{"type":"mess`

  it('as a copy says what it is a copy of, holds its whole lines, and leaves it as it was', async () => {
    writeFileSync(source, text)
    const copy = forkedSession(diskFs, project, source, origin)
    await copy.write()
    const [header, ...rest] = linesOf(copy.file)
    assert.deepEqual([header.id, header.cwd], [copy.id, project])
    assert.deepEqual([header.parentSession, header.drover], [source, origin])
    assert.deepEqual(rest, said)
    assert.equal(readFileSync(source, 'utf8'), text)
  })

  it('as it is stays, whatever becomes of the start', async () => {
    writeFileSync(source, text)
    const same = continuedSession('old', source)
    await same.write()
    same.remove()
    assert.equal(readFileSync(source, 'utf8'), `${text}\n`)
  })
})
