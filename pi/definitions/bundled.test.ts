import assert from 'node:assert/strict'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { pathToFileURL } from 'node:url'
import { expandBody } from './body.ts'
import { bundledDirectory } from './bundled.ts'
import { builtinTools } from './fields.ts'
import { readRoster } from './roster.ts'

const nowhere = join(tmpdir(), 'drover-no-such-directory')
const { definitions, diagnostics } = readRoster({
  agentDirectory: nowhere,
  cwd: nowhere,
  projectTrusted: false,
})

describe('the bundled definitions', () => {
  it('are five, and read without a remark', () => {
    assert.deepEqual(diagnostics, [])
    assert.deepEqual(
      definitions.map(({ name, tools, agents }) => [name, tools?.join(' '), agents?.join(' ')]),
      [
        ['generalist', undefined, 'scout researcher'],
        ['implementer', undefined, undefined],
        ['researcher', 'read grep find ls bash', undefined],
        ['reviewer', 'read grep find ls bash', undefined],
        ['scout', 'read grep find ls', undefined],
      ],
    )
  })

  for (const definition of definitions)
    it(`${definition.name} inherits the model, names real tools and agents, and says what its result is`, () => {
      assert.equal(definition.model, undefined)
      assert.equal(definition.enabled, true)
      for (const tool of definition.tools ?? []) assert.ok(builtinTools.includes(tool))
      for (const agent of definition.agents ?? [])
        assert.equal(definitions.find(({ name }) => name === agent)?.agents, undefined)
      const body = expandBody(definition)
      assert.ok('text' in body)
      assert.match(body.text, /Your last message is your result/)
      assert.match(body.text, /`path:line`/)
    })
})

it('are found from the compiled file too', () => {
  const source = bundledDirectory()
  const compiled = join(source, '../../../dist/pi/definitions/bundled.js')
  assert.equal(bundledDirectory(pathToFileURL(compiled).href), source)
})
