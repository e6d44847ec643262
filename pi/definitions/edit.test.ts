import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { seed } from '../../actors/testing/index.ts'
import { type EditableField, editableFields, editDefinition, newOverride } from './edit.ts'
import { thinkingLevels } from './fields.ts'
import { parseDefinition } from './parse.ts'

const path = '/agents/scout.md'

function edited(text: string, field: EditableField, value?: string): string {
  const edit = editDefinition(text, path, field, value)
  assert.ok('text' in edit, 'problem' in edit ? edit.problem : '')
  return edit.text
}

function fieldsOf(text: string) {
  const parsed = parseDefinition(text, path)
  assert.ok(parsed.outcome === 'parsed', JSON.stringify(parsed))
  return parsed.fragment.fields
}

/** One line per row: what is there, what becomes of it when the model is set to `b/new`, what when it is removed. */
const lines: readonly (readonly [string, string, string, string])[] = [
  ['plain', 'model: a/old', 'model: b/new', ''],
  ['with a comment', 'model: a/old  # mine', 'model: b/new  # mine', ''],
  ['oddly spaced', 'model  :    a/old', 'model  :    b/new', ''],
  ['in double quotes', 'model: "a/old" # mine', 'model: b/new # mine', ''],
  ['in single quotes', "model: 'a/o # ''ld'", 'model: b/new', ''],
  ['with a quoted key', '"model": a/old', '"model": b/new', ''],
  ['in other letters', 'MO-DEL: a/old', 'MO-DEL: b/new', ''],
  ['empty', 'model:', 'model: b/new', ''],
  ['empty with a comment', 'model: # none', 'model: b/new # none', ''],
  ['inherited', 'model: inherit', 'model: b/new', ''],
  ['unreadable', 'model: [a, b]', 'model: b/new', ''],
  ['on the next line', 'model:\n  a/old', 'model: b/new', ''],
  ['in block style', 'model: >-\n  a/old\n\n', 'model: b/new\n\n', '\n'],
  ['with a comment below', 'model: a/old\n# below', 'model: b/new\n# below', '# below'],
  ['twice', 'model: a/1\nmodel: a/2', 'model: a/1\nmodel: b/new', ''],
]

describe('an edit of a definition', () => {
  for (const [what, line, set, removed] of lines)
    it(`changes a key that is ${what}, and nothing else`, () => {
      const file = (middle: string) =>
        `---\n# first\nname: scout\n${middle === '' ? '' : `${middle}\n`}tools:  read,   grep # few\nodd: 1.0\n---\n\nBody  \n---\n`
      assert.equal(edited(file(line), 'model', 'b/new'), file(set))
      assert.equal(edited(file(line), 'model'), file(removed))
    })

  it('keeps line ends, the mark at the beginning and a last line without an end', () => {
    const file = (line: string) => `\uFEFF---\r\nname: scout\r\n${line}---\r\nBody\rmore`
    assert.equal(edited(file(''), 'enabled', 'false'), file('enabled: false\r\n'))
    assert.equal(edited(file('enabled: yes\r\n'), 'enabled', 'false'), file('enabled: false\r\n'))
    assert.equal(edited(file('enabled: yes\r\n'), 'enabled'), file(''))
  })

  it('adds a key that is not there as the last one, as the others are indented', () => {
    assert.equal(
      edited('---\n  name: scout\n# end\n---\nBody', 'thinking', 'high'),
      '---\n  name: scout\n# end\n  thinking: high\n---\nBody',
    )
  })

  it('finds a key under its other name', () => {
    const file = (level: string) => `---\nthinking-level: ${level}\n---\n`
    assert.equal(edited(file('low'), 'thinking', 'xhigh'), file('xhigh'))
  })

  it('ends the contradiction of a switch that is set twice', () => {
    const twice = '---\nenabled: true\n# a\nenabled: true\n---\n'
    assert.equal(fieldsOf(twice).enabled, false)
    assert.equal(edited(twice, 'enabled', 'true'), '---\n# a\nenabled: true\n---\n')
  })

  it('leaves out what belongs to a value it takes away, and keeps what stands after it', () => {
    const file = '---\nmodel: |\n  a/b\n  # inside\n\n# after\nname: scout\n---\n'
    assert.equal(
      edited(file, 'model', 'b/new'),
      '---\nmodel: b/new\n  # inside\n\n# after\nname: scout\n---\n',
    )
  })

  for (const [what, text, why] of [
    ['has no front matter', 'You are a scout.\n', /no front matter/],
    ['is empty', '', /empty/],
    ['never ends its front matter', '---\nmodel: a/b\n', /no closing line/],
    ['cannot be read for another key', '---\ntools: {a: 1}\n---\n', /line 2: tools/],
    ['is one value of its own', '---\n{model: a/b, name: scout}\n---\n', /by hand/],
    ['names the value elsewhere', '---\nmodel: &m a/b\ndescription: *m\n---\n', /by hand/],
    ['writes the key the long way', '---\n? model\n: a/b\n---\n', /by hand/],
  ] as const)
    it(`is refused where the file ${what}`, () => {
      const edit = editDefinition(text, path, 'model', 'b/new')
      assert.ok('problem' in edit)
      assert.match(edit.problem, why)
    })

  for (const [field, value] of [
    ['model', ''],
    ['model', 'a b'],
    ['model', 'a/b\ntools: all'],
    ['model', 'a/b\u2028tools: all'],
    ['model', 'a/b\u202e'],
    ['model', `a/${'b'.repeat(300)}`],
    ['model', 'inherit'],
    ['model', '\ud800'],
    ['thinking', 'HIGH'],
    ['thinking', 'low # x'],
    ['enabled', 'yes\n---'],
    ['enabled', ''],
  ] as const)
    it(`refuses ${JSON.stringify(value.slice(0, 20))} as ${field}`, () => {
      assert.ok('problem' in editDefinition('---\nname: scout\n---\n', path, field, value))
      assert.ok('problem' in newOverride(path, field, value))
    })

  it('of a file that is not there yet says this one thing', () => {
    assert.deepEqual(newOverride(path, 'model', 'a/b'), { text: '---\nmodel: a/b\n---\n' })
  })

  it('leaves every other line of any file as it is, and is read back as it was meant', () => {
    let done = 0
    fc.assert(
      fc.property(anyFile, anyEdit, ({ text, own }, { field, value }) => {
        const before = parseDefinition(text, path)
        const edit = editDefinition(text, path, field, value)
        if (before.outcome === 'excluded') return assert.ok('problem' in edit)
        if ('problem' in edit) return
        done++
        const wanted = field === 'enabled' && value !== undefined ? value === 'true' : value
        const { [field]: now, ...rest } = fieldsOf(edit.text)
        const { [field]: _, ...old } = before.fragment.fields
        assert.deepEqual([now, rest], [wanted, old])
        const kept = (file: string) =>
          pieces(file).filter((line) => !own[field].some((mine) => line.startsWith(mine)))
        assert.deepEqual(kept(edit.text), kept(text))
      }),
      { seed: seed(), numRuns: 2_000 },
    )
    assert.ok(done > 500, `only ${done} files could be edited`)
  })

  it('takes any value back that it accepts, in a file that says nothing else', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 40 }), (value) => {
        const edit = newOverride(path, 'model', value)
        if ('text' in edit) assert.equal(fieldsOf(edit.text).model, value)
      }),
      { seed: seed() },
    )
  })
})

const pieces = (text: string): string[] => text.match(/[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$/g) ?? []

/** A value that a key may have in some file, on one line or on several. */
const anyValue = fc.constantFrom(
  ...[
    ' a/b',
    '  "a/b"',
    " 'x'",
    '',
    ' # none',
    ' true',
    ' no',
    ' low # why',
    ' >-\n  a/b',
    '\n  a/b',
  ],
  ...[' [a, b]', ' inherit', '   off   ', ' "low"', ' |\n  a\n  b', ' "open', ' a: b', ' 1.0'],
)
/** Lines between keys, and keys of others. */
const anyBetween = fc.constantFrom(
  ...[
    '# a comment',
    '',
    '   ',
    '  # indented',
    'odd: 1.0',
    'description: a, b',
    'tools: read',
    '#model: x',
  ],
  ...[
    'output: {a: [1, 2]}',
    'description: >\n  long\n  text',
    'evidence:\n- a\n- b',
    'description: |+\n  x\n',
  ],
)
const anyKey = fc.constantFrom('model', 'Model', '"model"', 'thinking', 'thinking-level', 'enabled')

const anyFile = fc
  .record({
    mark: fc.constantFrom('', '\uFEFF'),
    end: fc.constantFrom('\n', '\r\n', '\r'),
    head: fc.array(
      fc.oneof(
        anyBetween.map((line) => ({ line })),
        fc.record({ key: anyKey, value: anyValue }),
      ),
      { maxLength: 7 },
    ),
    body: fc.constantFrom('', 'Body', '\n\nmodel: not me\n---\nmore\n', '  \n'),
  })
  .map(({ mark, end, head, body }) => {
    const own: Record<EditableField, string[]> = { model: [], thinking: [], enabled: [] }
    const text = [
      '---',
      ...head.map((each) => ('line' in each ? each.line : `${each.key}:${each.value}`)),
      '---',
      body,
    ]
    for (const field of editableFields) {
      // What an edit may touch: the lines of the key, and what continues its value.
      const spelt = {
        model: ['model', 'Model', '"model"'],
        thinking: ['thinking'],
        enabled: ['enabled'],
      }
      own[field].push(...spelt[field])
      for (const each of head)
        if ('key' in each && spelt[field].some((key) => each.key.startsWith(key)))
          own[field].push(
            ...each.value
              .split('\n')
              .slice(1)
              .filter((line) => line.trim() !== ''),
          )
    }
    return { text: mark + text.join('\n').replaceAll('\n', end), own }
  })

const anyEdit = fc.constantFrom(...editableFields).chain((field) =>
  fc.record({
    field: fc.constant(field),
    value: fc.option(
      {
        model: fc.constantFrom(
          'a/b',
          'true',
          'x',
          '1.5',
          'a/b:c',
          'c/d#e',
          '#x',
          '*m',
          'null',
          'a:',
          '"',
        ),
        thinking: fc.constantFrom(...thinkingLevels),
        enabled: fc.constantFrom('true', 'false'),
      }[field],
      { nil: undefined },
    ),
  }),
)
