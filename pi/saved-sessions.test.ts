import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { findSession, isOfAgentDirectory } from './saved-sessions.ts'
import { mendLastLine } from './session-file.ts'

const agent = mkdtempSync(join(tmpdir(), 'drover-saved-'))
after(() => rmSync(agent, { recursive: true }))
const id = (n: number) => `01a22e3f-0000-7000-8000-00000000000${n}`

function save(project: string, name: string, header: unknown, rest = ''): string {
  const directory = join(agent, 'sessions', project)
  mkdirSync(directory, { recursive: true })
  const file = join(directory, `2026-01-01_${name}.jsonl`)
  writeFileSync(file, `${typeof header === 'string' ? header : JSON.stringify(header)}\n${rest}`)
  return file
}

const header = (n: number, more: object = {}) => ({
  type: 'session',
  id: id(n),
  cwd: '/p',
  ...more,
})
const made = { definition: 'scout', owner: 'lead' }
const own = save('--p--', id(1), header(1, { drover: made }), 'x'.repeat(100_000))
save('--p--', id(2), header(2))
save('--q--', id(2), header(2))
save('--q--', id(3), '{"type":"other"}')

describe('a saved session', () => {
  it('is found by its full id and by its path, with what its header says', () => {
    const saved = { id: id(1), cwd: '/p', ...made, file: own }
    assert.deepEqual(findSession(agent, '/', id(1)), saved)
    assert.deepEqual(findSession(agent, '/', id(1).toUpperCase()), saved)
    assert.deepEqual(findSession(agent, '/', own), saved)
    assert.deepEqual(
      findSession(agent, join(agent, 'sessions'), `--p--/2026-01-01_${id(1)}.jsonl`),
      saved,
    )
  })

  for (const [what, selector, category, why = /./] of [
    ['an id nobody has', id(9), 'target_not_found', /has just begun is saved with its first/],
    ['an id two files have', id(2), 'target_ambiguous'],
    ['a file that is no session', id(3), 'target_not_found'],
    ['a path that is not there', '/no/such.jsonl', 'target_not_found', /has just begun is saved/],
    ['the beginning of an id', id(1).slice(0, 8), 'invalid_request'],
    ['a label', 'scout', 'invalid_request'],
  ] as const)
    it(`is not meant by ${what}`, () => {
      const found = findSession(agent, '/', selector)
      assert.ok('problem' in found)
      assert.equal(found.category, category)
      assert.match(found.problem, why)
    })

  it('belongs to an agent directory or not', () => {
    assert.equal(isOfAgentDirectory(agent, own), true)
    const elsewhere = join(agent, 'elsewhere.jsonl')
    writeFileSync(elsewhere, '')
    assert.equal(isOfAgentDirectory(agent, elsewhere), false)
    assert.equal(isOfAgentDirectory(agent, join(agent, 'sessions/absent')), false)
  })
})

describe('the last line of a session file', () => {
  it('gets its end where a killed process left it torn, and nothing else is touched', () => {
    const file = join(agent, 'torn.jsonl')
    for (const [text, isTorn] of [
      ['', false],
      ['a\n', false],
      ['a\n{"b', true],
    ] as const) {
      writeFileSync(file, text)
      mendLastLine(file)
      assert.equal(readFileSync(file, 'utf8'), isTorn ? `${text}\n` : text)
    }
    mendLastLine(join(agent, 'absent'))
    assert.equal(existsSync(join(agent, 'absent')), false)
  })
})
