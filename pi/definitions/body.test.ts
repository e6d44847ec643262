import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { type ExpandedBody, expandBody } from './body.ts'
import { type Definition, overlay } from './overlay.ts'
import { parseDefinition } from './parse.ts'
import type { ReadText } from './read-text.ts'

function definition(body: string, directory = '/defs'): Definition {
  const parsed = parseDefinition(`---\nname: x\n---\n${body}`, `${directory}/x.md`)
  assert.ok(parsed.outcome === 'parsed')
  return overlay({ source: 'global', fragment: parsed.fragment, directory, diagnostics: [] })
}

/** Files as a table. */
const files =
  (table: Record<string, string>): ReadText =>
  (path) => {
    const text = table[path]
    return text === undefined ? { problem: 'does not exist' } : { text, realPath: path }
  }

const text = (expanded: ExpandedBody) => ('text' in expanded ? expanded.text : expanded)

describe('expandBody', () => {
  it('replaces a line that is a reference, relative to the defining file', () =>
    assert.equal(
      text(
        expandBody(
          definition('One\n@shared/my rules.md \nTwo\n@../up.md\n@/abs.md'),
          files({
            '/defs/shared/my rules.md': '\uFEFFa\r\nb\r\n',
            '/up.md': 'up',
            '/abs.md': 'abs',
          }),
        ),
      ),
      'One\na\nb\nTwo\nup\nabs',
    ))

  it('does it once: a reference that came in is text', () =>
    assert.equal(text(expandBody(definition('@a'), files({ '/defs/a': '@b' }))), '@b'))

  it('leaves everything else alone', () => {
    const body =
      'Ask @someone.\n  @indented\n@ spaced\n```ts\n@Injectable()\n````\n~~~\n@media\n```\n@in\n~~~'
    assert.equal(text(expandBody(definition(body), files({}))), body)
  })

  it('names a file that is not there, and the line that asked for it', () => {
    const refused = expandBody(definition('One\n\n@gone.md'), files({}))
    assert.ok('problem' in refused)
    assert.equal(refused.path, '/defs/gone.md')
    assert.match(refused.problem, /\/defs\/gone\.md: does not exist \(\/defs\/x\.md:6\)/)
  })

  it('is bounded', () => {
    const many = expandBody(definition('@a\n'.repeat(33)), files({ '/defs/a': 'a' }))
    assert.match('problem' in many ? many.problem : '', /more than 32 references/)
    const large = expandBody(definition('@a\n'.repeat(9)), files({ '/defs/a': 'a'.repeat(32_000) }))
    assert.match('problem' in large ? large.problem : '', /exceeds 262144 bytes/)
  })

  it('reads from the disk unless told otherwise', () => {
    const directory = mkdtempSync(join(tmpdir(), 'drover-body-'))
    try {
      writeFileSync(join(directory, 'a.md'), 'from disk\n')
      assert.equal(text(expandBody(definition('@a.md', directory))), 'from disk')
      assert.ok('problem' in expandBody(definition('@.', directory)))
      writeFileSync(join(directory, 'big.md'), 'x'.repeat(65_537))
      assert.ok('problem' in expandBody(definition('@big.md', directory)))
    } finally {
      rmSync(directory, { recursive: true })
    }
  })
})
