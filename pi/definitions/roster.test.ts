import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, it } from 'node:test'
import type { Source } from './overlay.ts'
import { fileBytesMax } from './read-text.ts'
import {
  type Roster,
  type RosterPlaces,
  readRoster,
  resolveDefinition,
  type UnresolvedDefinition,
} from './roster.ts'

let root: string
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'drover definitions ')))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const homes: Record<Source, string> = {
  bundled: 'bundled',
  global: 'agent dir/agents',
  project: 'repo/.pi/agents',
}

function put(source: Source, name: string, text: string): string {
  const path = join(root, homes[source], name)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
  return path
}

function roster(places: Partial<RosterPlaces> = {}): Roster {
  return readRoster({
    bundledDirectory: join(root, homes.bundled),
    agentDirectory: join(root, 'agent dir'),
    cwd: join(root, 'repo/deep/er'),
    projectTrusted: true,
    ...places,
  })
}

const names = ({ definitions }: Roster) => definitions.map(({ name }) => name)
const find = (from: Roster, name: string) => from.definitions.find((one) => one.name === name)

function unresolved(from: Roster, name: string): UnresolvedDefinition {
  const found = resolveDefinition(from, name)
  assert.ok('reason' in found, `${name} was resolved`)
  return found
}

describe('the roster', () => {
  it('may be empty, and says where to begin', () => {
    const empty = roster()
    assert.deepEqual(empty.definitions, [])
    assert.deepEqual(empty.diagnostics, [])
    assert.match(unresolved(empty, 'scout').message, /agent dir\/agents\/<name>\.md/)
  })

  it('reads all three places, sorted by name, with exact paths', () => {
    put('bundled', 'c.md', '---\n---\nC')
    const global = put('global', 'a.md', '---\n---\nA')
    put('project', 'b.md', '---\n---\nB')
    const all = roster()
    assert.deepEqual(names(all), ['a', 'b', 'c'])
    assert.deepEqual(find(all, 'a')?.path, global)
    assert.deepEqual(
      all.definitions.map(({ source }) => source),
      ['global', 'project', 'bundled'],
    )
    assert.deepEqual(
      all.directories.map(({ state }) => state),
      ['read', 'read', 'read'],
    )
  })

  it('keeps the good files beside a bad one', () => {
    put('global', 'a.md', '---\ntools: read\n---\nA')
    put('global', 'b.md', '---\ntools: [read\n---\nB')
    put('global', 'c.md', 'no front matter')
    put('global', 'd.md', `---\n---\n${'x'.repeat(fileBytesMax)}`)
    put('global', 'e.md', '---\n---\nE')
    put('global', 'notes.txt', 'ignored')
    put('global', '.#e.md', 'ignored')
    writeFileSync(join(root, homes.global, 'f.md'), Uint8Array.of(0x2d, 0xff))
    mkdirSync(join(root, homes.global, 'g.md'))
    symlinkSync('nowhere', join(root, homes.global, 'h.md'))
    symlinkSync('i.md', join(root, homes.global, 'i.md'))
    execFileSync('mkfifo', [join(root, homes.global, 'j.md')])
    const mixed = roster()
    assert.deepEqual(names(mixed), ['a', 'e'])
    assert.deepEqual(
      mixed.excluded.map(({ name }) => name),
      [...'bcdfghij'],
    )
    assert.deepEqual(
      mixed.diagnostics.map(({ message }) => message.replace(/[:(].*/, '').trim()).slice(1),
      [
        'no front matter',
        `larger than ${fileBytesMax} bytes`,
        'not UTF-8',
        'not a regular file',
        'does not exist',
        'its links lead in a circle',
        'not a regular file',
      ],
    )
  })

  it('follows links to directories and to files', () => {
    const elsewhere = join(root, 'dotfiles')
    mkdirSync(join(root, 'repo/.pi'), { recursive: true })
    mkdirSync(join(elsewhere, 'agents'), { recursive: true })
    writeFileSync(join(elsewhere, 'agents/linked.md'), '---\n---\nLinked')
    writeFileSync(join(elsewhere, 'one.md'), '---\n---\nOne')
    symlinkSync(join(elsewhere, 'agents'), join(root, homes.project))
    mkdirSync(join(root, homes.global), { recursive: true })
    symlinkSync(join(elsewhere, 'one.md'), join(root, homes.global, 'one.md'))
    const found = roster()
    assert.deepEqual(names(found), ['linked', 'one'])
    assert.equal(find(found, 'linked')?.path, join(root, homes.project, 'linked.md'))
    assert.equal(find(found, 'one')?.bodyDirectory, elsewhere)
  })

  it('takes the project definitions nearest to the cwd, and only those', () => {
    put('project', 'outer.md', '---\n---\nOuter')
    mkdirSync(join(root, 'repo/deep/.pi/agents'), { recursive: true })
    writeFileSync(join(root, 'repo/deep/.pi/agents/inner.md'), '---\n---\nInner')
    assert.deepEqual(names(roster()), ['inner'])
    assert.deepEqual(names(roster({ cwd: join(root, 'repo') })), ['outer'])
    assert.deepEqual(names(roster({ cwd: root })), [])
  })

  it('does not read an untrusted project, and says so', () => {
    put('bundled', 'a.md', '---\n---\nA')
    put('project', 'a.md', '---\nmodel: evil/one\n---\nB')
    const untrusted = roster({ projectTrusted: false })
    assert.equal(find(untrusted, 'a')?.model, undefined)
    assert.equal(untrusted.directories.at(-1)?.state, 'untrusted')
    assert.match(untrusted.diagnostics[0]?.message ?? '', /not trusted/)
  })

  it('takes an agent directory inside the project for what it is: the person’s own', () => {
    put('project', 'a.md', '---\n---\nA')
    const own = roster({ agentDirectory: join(root, 'repo/.pi'), projectTrusted: false })
    assert.deepEqual(
      own.definitions.map(({ name, source }) => [name, source]),
      [['a', 'global']],
    )
  })

  it('uses neither of two files of one directory with one name', () => {
    put('global', 'a.md', '---\nname: same\ntools: read\n---\nA')
    put('global', 'b.md', '---\nname: same\n---\nB')
    put('global', 'c.md', '---\n---\nC')
    const found = roster()
    assert.deepEqual(names(found), ['c'])
    assert.match(
      unresolved(found, 'same').message,
      /a\.md has the same name, same: neither is used/,
    )
  })

  it('reports a directory that cannot be read', { skip: process.getuid?.() === 0 }, () => {
    put('global', 'a.md', '---\n---\nA')
    chmodSync(join(root, homes.global), 0)
    assert.equal(roster().directories[1]?.state, 'unreadable')
  })

  it('reports what lies where a directory should be', () => {
    mkdirSync(join(root, 'agent dir'))
    writeFileSync(join(root, homes.global), '')
    const found = roster()
    assert.equal(found.directories[1]?.state, 'unreadable')
    assert.equal(found.diagnostics[0]?.severity, 'error')
  })
})

describe('overlay', () => {
  const lower = {
    description: ['description: low', 'low'],
    enabled: ['enabled: true', true],
    model: ['model: low', 'low'],
    tools: ['tools: read, ls', ['read', 'ls']],
    permission: ['permission: {a: ask, b: deny}', { a: 'ask', b: 'deny' }],
    noTools: ['noTools: true', true],
  } as const
  const higher = {
    description: ['description: high', 'high'],
    enabled: ['enabled: false', false],
    model: ['model: high', 'high'],
    tools: ['tools: bash', ['bash']],
    permission: ['permission: {a: allow}', { a: 'allow' }],
    noTools: ['noTools: false', false],
  } as const

  for (const field of Object.keys(lower) as (keyof typeof lower)[])
    for (const [low, high] of [
      ['bundled', 'global'],
      ['bundled', 'project'],
      ['global', 'project'],
    ] as const) {
      it(`${field}: ${high} replaces ${low}, and keeps it where absent`, () => {
        const [lowLine, lowValue] = lower[field]
        const [highLine, highValue] = higher[field]
        const lowPath = put(low, 'x.md', `---\n${lowLine}\n---\nLow`)
        const highPath = put(high, 'x.md', '---\nthinking: low\n---\n')
        const kept = find(roster(), 'x')
        assert.deepEqual(kept?.[field], lowValue)
        assert.deepEqual(kept?.origins[field], { source: low, path: lowPath, line: 2 })
        assert.deepEqual(kept?.origins.thinking, { source: high, path: highPath, line: 2 })

        put(high, 'x.md', `---\n\n${highLine}\n---\n`)
        const replaced = find(roster(), 'x')
        assert.deepEqual(replaced?.[field], highValue)
        assert.deepEqual(replaced?.origins[field], { source: high, path: highPath, line: 3 })
        assert.equal(replaced?.source, high)
        assert.deepEqual(
          replaced?.files.map(({ path }) => path),
          [lowPath, highPath],
        )
      })
    }

  it('keeps the lower body where the higher is empty, and replaces it where not', () => {
    const low = put('bundled', 'x.md', '---\n---\nLow')
    put('global', 'x.md', '---\nmodel: m\n---\n \n\n')
    assert.equal(find(roster(), 'x')?.body, 'Low')
    assert.deepEqual(find(roster(), 'x')?.origins.body, { source: 'bundled', path: low, line: 3 })
    assert.equal(find(roster(), 'x')?.bodyDirectory, join(root, homes.bundled))
    put('project', 'any-file.md', '---\nname: x\n---\n\nHigh')
    assert.equal(find(roster(), 'x')?.body, 'High')
    assert.equal(find(roster(), 'x')?.origins.body?.line, 5)
  })

  it('shuts a name out when any of its files cannot be read: that one may hold the limit', () => {
    for (const broken of ['bundled', 'global', 'project'] as const) {
      for (const source of ['bundled', 'global', 'project'] as const)
        put(source, 'x.md', source === broken ? '---\ntools: [read\n---\n' : '---\n---\nAll')
      assert.deepEqual(names(roster()), [], broken)
      assert.match(unresolved(roster(), 'x').message, /x\.md:2/)
    }
  })

  it('cannot make a role of another program usable by hiding its keys', () => {
    put('global', 'x.md', '---\ncli: claude\n---\nX')
    put('project', 'x.md', '---\nmodel: a/b\n---\nX')
    const found = unresolved(roster(), 'x')
    assert.equal(found.reason, 'unavailable')
    assert.match(found.message, /remove both keys and set model/)
  })
})

describe('resolveDefinition', () => {
  beforeEach(() => {
    put('bundled', 'reviewer.md', '---\n---\nR')
    put('bundled', 'scout.md', '---\n---\nS')
    put('bundled', 'off.md', '---\nenabled: false\n---\nO')
  })

  it('finds a definition by its exact name', () => {
    const found = resolveDefinition(roster(), 'scout')
    assert.ok('definition' in found)
    assert.equal(found.definition.name, 'scout')
  })

  it('lists the names and the nearest one for a name that is not known', () => {
    const found = unresolved(roster(), 'reveiwer')
    assert.equal(found.reason, 'unknown')
    assert.equal(found.near, 'reviewer')
    assert.deepEqual(found.known, ['reviewer', 'scout'])
    assert.equal(
      found.message,
      'definition "reveiwer" is not known; did you mean "reviewer"? Known definitions: reviewer, scout.',
    )
  })

  it('suggests nothing for a name that is near to none', () => {
    for (const name of ['', 'zzz', '__proto__', 'constructor', 'x'.repeat(100_000)]) {
      const found = unresolved(roster(), name)
      assert.equal(found.near, undefined)
      assert.ok(found.message.length < 200)
    }
  })

  it('refuses a disabled definition and names the line', () => {
    const found = unresolved(roster(), 'off')
    assert.equal(found.reason, 'disabled')
    assert.match(found.message, /off\.md:2/)
  })
})
