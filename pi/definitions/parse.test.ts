import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { type FieldName, type KeyName, keyTable } from './fields.ts'
import { type DefinitionFragment, type ParsedDefinition, parseDefinition } from './parse.ts'

const parse = (text: string, path = '/agents/probe.md') => parseDefinition(text, path)
const matter = (...lines: string[]) => `---\n${lines.join('\n')}\n---\nBody.\n`

function fragment(parsed: ParsedDefinition): DefinitionFragment {
  assert.equal(parsed.outcome, 'parsed', JSON.stringify(parsed.diagnostics))
  assert.ok(parsed.outcome === 'parsed')
  return parsed.fragment
}

const fields = (...lines: string[]) => fragment(parse(matter(...lines))).fields

/** Excluded, with an error at this line. */
function excludedAt(line: number, parsed: ParsedDefinition): void {
  assert.equal(parsed.outcome, 'excluded')
  const places = parsed.diagnostics
    .filter(({ severity }) => severity === 'error')
    .map((diagnostic) => diagnostic.line)
  assert.ok(places.includes(line), `errors at ${places}, not at ${line}`)
}

function warnedAt(line: number, parsed: ParsedDefinition): void {
  fragment(parsed)
  const found = parsed.diagnostics.find((diagnostic) => diagnostic.line === line)
  assert.equal(found?.severity, 'warning', JSON.stringify(parsed.diagnostics))
}

describe('lists', () => {
  it('takes a list in brackets without its brackets', () =>
    assert.deepEqual(fields('tools: [a, b]').tools, ['a', 'b']))

  it('splits a list with commas', () =>
    assert.deepEqual(fields('tools: read, bash').tools, ['read', 'bash']))

  it('reads block, bracket and comma lists alike', () => {
    for (const key of ['tools', 'excludeTools', 'skills', 'extensions', 'agents'] as const)
      for (const lines of [[`${key}: a, b`], [`${key}: [a, b]`], [`${key}:`, '  - a', '  - b']])
        assert.deepEqual(fields(...lines)[key], ['a', 'b'], lines.join())
    assert.deepEqual(fields('tools:', '- a', '- b').tools, ['a', 'b'])
  })

  it('reads a list that allows nothing, however it is written', () => {
    for (const none of ['[]', 'none', 'false', '', '""', '~'])
      for (const key of ['tools', 'skills', 'extensions', 'agents'] as const)
        assert.deepEqual(fields(`${key}: ${none}`)[key], [], `${key}: ${none}`)
  })

  it('reads "all" as no limit, and never as an own value that could lift one', () => {
    for (const all of ['all', 'true', '"*"']) {
      const parsed = parse(matter(`tools: ${all}`))
      assert.equal('tools' in fragment(parsed).fields, false)
      warnedAt(2, parsed)
    }
    excludedAt(2, parse(matter('agents: "*"')))
  })

  it('knows the tools of Pi by any capitals, so that an exclusion hits', () =>
    assert.deepEqual(fields('disallowed_tools: Bash, Edit').excludeTools, ['bash', 'edit']))
})

describe('files as people write them', () => {
  it('accepts a BOM, CRLF and a colon in a value at once', () => {
    const text =
      '\uFEFF---\r\nname: probe\r\ndescription: a: b\r\ntools: read\r\n---\r\n\r\nOne.\r\nTwo.\r\n'
    const parsed = parse(text)
    const { fields: found, body, bodyLine, lines } = fragment(parsed)
    assert.deepEqual(found, { description: 'a: b', tools: ['read'] })
    assert.equal(body, 'One.\nTwo.')
    assert.equal(bodyLine, 7)
    assert.equal(lines.tools, 4)
    warnedAt(3, parsed)
  })

  it('keeps free text that YAML rejects', () => {
    for (const text of [
      '[WIP] tries: hard',
      '*bold* claim',
      '@someone: look',
      '`x` runs',
      '"a" or b',
      '- x',
    ])
      assert.equal(fields(`description: ${text}`, 'tools: read').description, text)
    assert.equal(fields('description: one: two', '  and three').description, 'one: two and three')
  })

  it('never takes a limit for text', () => {
    for (const key of ['description', 'evidence', 'color'])
      for (const limit of [
        'tools: read',
        '"noTools": true',
        'enabled: false',
        'tols: read',
        'cli: x',
      ])
        excludedAt(3, parse(matter(`${key}: reads`, `  ${limit}`)))
    excludedAt(3, parse(matter('description: a: b', 'tools:read')))
    excludedAt(3, parse(matter('description: a: b', '? tools', ': [read]')))
  })

  it('reads folded and literal text', () => {
    assert.equal(fields('description: >', '  one', '  two').description, 'one two')
    assert.equal(fields('description: |', '  one', '  two: 2').description, 'one\ntwo: 2')
  })

  it('accepts tabs between a key and its value, and in front of items', () => {
    assert.deepEqual(fields('tools:\tread, bash').tools, ['read', 'bash'])
    const parsed = parse(matter('tools:', '\t- read', '\t- bash'))
    assert.deepEqual(fragment(parsed).fields.tools, ['read', 'bash'])
    warnedAt(2, parsed)
    assert.deepEqual(fields('tools:', '  - read', '\t- bash').tools, ['read', 'bash'])
  })

  it('reads the other keys when one is bad', () => {
    const parsed = parse(matter('evidence: {a: [}', 'description: x', 'tools: read'))
    assert.deepEqual(fragment(parsed).fields, { description: 'x', tools: ['read'] })
    warnedAt(2, parsed)
  })

  it('takes the file name where no name is given', () => {
    assert.equal(fragment(parse(matter('tools: read'))).name, 'probe')
    assert.equal(fragment(parse(matter('name: other'))).name, 'other')
    assert.equal(fragment(parse(matter('name: 123'))).name, '123')
  })

  it('refuses a name that cannot be one, and says where', () => {
    for (const name of ['Big', 'a b', 'a:b/c', '../x', '-e', '[a]', 'x'.repeat(65), '__proto__'])
      excludedAt(2, parse(matter(`name: ${name}`)))
    excludedAt(1, parse(matter('tools: read'), '/agents/README.md'))
    assert.equal(fragment(parse(matter(`name: ${'x'.repeat(64)}`))).name.length, 64)
  })

  it('refuses a file whose front matter cannot be found', () => {
    excludedAt(1, parse(''))
    excludedAt(1, parse('tools: read\n'))
    excludedAt(1, parse('---\ntools: read\n'))
    excludedAt(2, parse('---\njust words\n---\n'))
    excludedAt(3, parse('\n\nHello\n---\ntools: read\n---\n'))
    assert.deepEqual(fragment(parse('\n---\ntools: read\n---\n')).fields, { tools: ['read'] })
    assert.deepEqual(fragment(parse('---\n---\nBody')).fields, {})
  })
})

describe('typed values', () => {
  it('reads thinking: false as off', () => {
    assert.equal(fields('thinking: false').thinking, 'off')
    assert.equal(fields('thinking: off').thinking, 'off')
    assert.equal(fields('thinking-level: High').thinking, 'high')
    warnedAt(2, parse(matter('thinking: ultra')))
    warnedAt(2, parse(matter('thinking: true')))
  })

  it('keeps a model id as it is written', () => {
    assert.equal(fields('model: 4.10').model, '4.10')
    assert.equal(fields('model: lab/m1:high').model, 'lab/m1:high')
    assert.equal('model' in fields('model: inherit'), false)
  })

  it('keeps opaque values whole', () =>
    assert.deepEqual(fields('evidence: {mode: [warn, 1]}', 'blocking: true', 'output: a.md'), {
      evidence: { mode: ['warn', 1] },
      blocking: true,
      output: 'a.md',
    }))

  const permissions: readonly (readonly [string, unknown])[] = [
    ['ask', 'ask'],
    ['{bash: deny, read: allow}', { bash: 'deny', read: 'allow' }],
    ['{"*": ask, Bash: allow}', { '*': 'ask', bash: 'allow' }],
    ['{bash: {"git *": allow, "rm *": deny, "*": ask}}', { bash: 'deny' }],
    ['{bash: {"git *": allow}, Bash: ask}', { bash: 'ask' }],
  ]
  for (const [written, read] of permissions)
    it(`reads permission: ${written}`, () =>
      assert.deepEqual(fields(`permission: ${written}`).permission, read))

  for (const written of ['', '{}', 'maybe', 'true', '[ask]', '{bash: 1}', '{"mcp *": ask}'].concat([
    '{bash: {}}',
    '{bash: {"*": maybe}}',
    '{bash: {"*": {"*": ask}}}',
    '{bash: [deny]}',
  ]))
    it(`excludes a definition whose permission is ${written || 'empty'}`, () =>
      excludedAt(3, parse(matter('description: x', `permission: ${written}`))))

  it('turns a definition off when it cannot tell whether it is on', () => {
    for (const lines of [['enabled: flase'], ['enabled: true', 'enabled: false'], ['enabled:']])
      assert.equal(fields(...lines).enabled, false)
    assert.equal(fields('enabled: no').enabled, false)
  })
})

describe('limits', () => {
  const limits = (Object.keys(keyTable) as KeyName[]).filter(
    (key) => keyTable[key].unreadable === 'exclude' && key !== 'name',
  )
  it('are these', () =>
    assert.deepEqual(limits.sort(), [
      ...['agents', 'excludeTools', 'extensions', 'noBuiltinTools', 'noExtensions', 'noSkills'],
      ...['noTools', 'permission', 'skills', 'tools'],
    ]))

  for (const key of limits)
    for (const spelling of [key, key.toUpperCase(), ...keyTable[key].aliases]) {
      it(`excludes when ${spelling} cannot be read`, () => {
        for (const value of ['{a: b}', '[a', '*gone', '"x'])
          excludedAt(3, parse(matter('description: x', `${spelling}: ${value}`)))
      })
      it(`excludes when ${spelling} says ${key} twice`, () => {
        const value = keyTable[key].kind === 'switch' ? 'true' : 'a'
        excludedAt(4, parse(matter(`${key}: ${value}`, 'description: x', `${spelling}: ${value}`)))
      })
    }

  it('exclude when an item is no name', () => {
    for (const item of ['Bash(git *)', '--help', 'a b', '5', '[x]', '{x: 1}', 'true'])
      excludedAt(2, parse(matter(`tools: [read, ${item}]`)))
    excludedAt(2, parse(matter('tools: "Bash(git:*)"')))
    excludedAt(2, parse(matter('tools: [read, 5]')))
    excludedAt(2, parse(matter('tools: read,,bash')))
    excludedAt(2, parse(matter('noTools: maybe')))
  })

  it('exclude when their key is a slip of the pen', () => {
    for (const key of ['tool', 'tolos', 'exludeTools', 'noTool', 'to\u200bols', 'noExtension'])
      excludedAt(2, parse(matter(`${key}: read`)))
    excludedAt(3, parse(matter('base: &b {tools: [read]}', '<<: *b')))
  })

  it('warn about any other unknown key', () => {
    for (const key of [
      'color',
      'maxTurns',
      'permissionMode',
      'constructor',
      '__proto__',
      'toString',
    ])
      warnedAt(2, parse(matter(`${key}: red`)))
  })

  it('are not lost to a key __proto__', () => {
    const parsed = parse(matter('__proto__: {tools: [bash]}', 'tools: read'))
    assert.deepEqual(fragment(parsed).fields, { tools: ['read'] })
    excludedAt(2, parse(matter('permission: {__proto__: {a: 1}}')))
    assert.equal(({} as Record<string, unknown>)['tools'], undefined)
  })

  it('counts the later of two values of a key that limits nothing, and says so', () => {
    const parsed = parse(matter('model: a', 'model: b'))
    assert.equal(fragment(parsed).fields.model, 'b')
    warnedAt(3, parsed)
  })
})

it('lists a role for another program as unavailable, and says how to move it', () => {
  for (const line of ['cli: claude', 'cli-model: opus', 'cli_model: opus']) {
    const parsed = parse(matter('tools: read', line))
    assert.match(
      fragment(parsed).unavailable ?? '',
      /remove both keys and set model to provider\/id/,
    )
    assert.equal(parsed.diagnostics[0]?.line, 3)
  }
})

it('knows every alias, in any mix of capitals, - and _', () => {
  const sample: Partial<Record<FieldName, string>> = {
    permission: 'ask',
    thinking: 'low',
    systemPromptMode: 'replace',
  }
  for (const key of Object.keys(keyTable) as KeyName[]) {
    if (key === 'name') continue
    const value = sample[key] ?? (keyTable[key].kind === 'switch' ? 'true' : 'a')
    for (const alias of keyTable[key].aliases)
      for (const spelling of [alias, alias.toUpperCase(), alias.replaceAll(/[-_]/g, '')])
        assert.deepEqual(fields(`${spelling}: ${value}`), fields(`${key}: ${value}`), spelling)
  }
})

describe('hostile text', () => {
  it('is refused when it nests too deeply', () => {
    for (const value of [
      '['.repeat(60_000),
      '{a: '.repeat(15_000),
      'x: '.repeat(20_000),
      '- '.repeat(30_000),
    ])
      assert.equal(parse(matter(`tools: ${value}`)).outcome, 'excluded')
  })

  it('cannot grow by references', () => {
    const bomb = ['a: &a [x, x, x, x, x, x, x, x, x, x]']
    for (const [upper, lower] of ['ba', 'cb', 'dc', 'ed', 'fe', 'gf'])
      bomb.push(`${upper}: &${upper} [${`*${lower}, `.repeat(10)}]`)
    excludedAt(9, parse(matter(...bomb, 'permission: *g')))
    excludedAt(2, parse(matter('permission: &p [*p]')))
  })

  it('makes a bounded number of diagnostics', () => {
    const many = Array.from({ length: 150 }, (_, index) => `key${index}: x`)
    assert.equal(parse(matter(...many, 'tools: [')).diagnostics.length, 40)
    excludedAt(152, parse(matter(...many, 'tools: [')))
    assert.equal(parse(matter(...many, ...many.map((line) => `x${line}`))).outcome, 'excluded')
  })

  it('is answered in time', () => {
    const started = performance.now()
    for (const line of [
      ' '.repeat(60_000),
      `a${' '.repeat(60_000)}`,
      `"${'a'.repeat(60_000)}`,
      `a${':a'.repeat(30_000)}`,
    ])
      parse(matter('description: a: b', line))
    assert.ok(performance.now() - started < 2_000)
  })

  const lines = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc
      .tuple(
        fc.constantFrom(...Object.keys(keyTable), 'cli', '__proto__', '? x', '- a', '', '  tools'),
        fc.constantFrom(': ', ':', ':\t', ' : ', '\t', ''),
        fc.oneof(
          fc.string(),
          fc.constantFrom(
            '[',
            '{a: b',
            '&x [*x]',
            '*x',
            '|',
            '>',
            '"',
            'a: b',
            '!!x 1',
            '.nan',
            '~',
            'read, bash',
          ),
        ),
      )
      .map((parts) => parts.join('')),
  )
  const texts = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 400 }),
    fc
      .tuple(fc.array(lines, { maxLength: 12 }), fc.constantFrom('\n', '\r\n', '\r'))
      .map(([head, newline]) => ['---', ...head, '---', 'Body'].join(newline)),
  )

  it('never makes it throw, and every error names an existing line', () =>
    fc.assert(
      fc.property(texts, (text) => {
        const parsed = parse(text)
        const count = text.split(/\r\n|\r|\n/).length
        for (const { line } of parsed.diagnostics)
          assert.ok(line !== undefined && line >= 1 && line <= count, `line ${line} of ${count}`)
        if (parsed.outcome === 'excluded')
          assert.ok(parsed.diagnostics.some(({ severity }) => severity === 'error'))
      }),
      { numRuns: 1_000 },
    ))

  it('never loses a tool limit to what follows it', () =>
    fc.assert(
      fc.property(fc.array(lines, { maxLength: 8 }), (after) => {
        const parsed = parse(matter('tools: read', ...after))
        if (parsed.outcome === 'parsed') assert.deepEqual(parsed.fragment.fields.tools, ['read'])
      }),
      { numRuns: 1_000 },
    ))
})
