import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { MailboxError } from './errors.ts'
import { labelClaimPath } from './generation.ts'
import {
  generationPaths,
  hashedName,
  ownerDirectory,
  ownerPaths,
  ownNames,
  prepareGeneration,
  prepareOwner,
  prepareRoot,
  resultPath,
  rootPaths,
  sessionClaimPath,
} from './layout.ts'
import { backends, generationFile, idOf, seed } from './testing/builders.ts'

const root = rootPaths('/agent')

/** What a hostile session might call itself. */
const hostileText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom(
    ...[
      '',
      '.',
      '..',
      '/',
      '../../etc/passwd',
      '/etc/passwd',
      'a/../..',
      '\0',
      'x\0y',
      '~',
      '$HOME',
    ],
    ...[
      '__proto__',
      'constructor',
      'lease',
      'sessions',
      '\u202e',
      '\u001b[2J',
      '\ud800',
      'é',
      'e\u0301',
    ],
    ...['a'.repeat(10_000), 'A', 'a'],
  ),
)

describe('a hashed name', () => {
  it('has 26 characters of 0-9a-z, whatever it stands for', () =>
    fc.assert(
      fc.property(hostileText, (text) => {
        assert.match(hashedName(text), /^[0-9a-z]{26}$/)
        assert.equal(hashedName(text), hashedName(text))
      }),
      { numRuns: 1_000, ...seed() },
    ))

  it('stays the same for ever: mailboxes on disk are found by it', () => {
    // Computed by another program.
    assert.equal(hashedName(''), '5q7qlhc63je4gw7ivixqqhkd3p')
    assert.equal(hashedName('owner-session'), '8crddmkm9h32pjjwn1k0ylcsei')
    assert.equal(hashedName('0197a3c0-0000-7000-8000-000000000000'), 'qv0gvqt4djouanaq4lk7n8s40t')
    assert.equal(hashedName('é'), 'cr5qb3qd3wybfu5h363pnmc9cc')
    assert.equal(hashedName('e\u0301'), 's2h3o5w2zkwy32z57rljikybcm')
    assert.equal(hashedName('s4461'), '00ui23k17iqb7ktfxctpnvc535')
  })

  it('is another one for each of 100,000 texts', () => {
    const names = new Set<string>()
    for (let i = 0; i < 100_000; i++) names.add(hashedName(`session-${i}`))
    assert.equal(names.size, 100_000)
  })

  it('tells apart what looks alike', () => {
    const alike = ['a', 'A', 'a ', ' a', 'a\n', 'a\0', 'é', 'e\u0301', 'а'] // the last is Cyrillic
    assert.equal(new Set(alike.map(hashedName)).size, alike.length)
  })
})

describe('a path', () => {
  /** Below `parent`, through names of ours alone. */
  function assertBelow(path: string, parent: string): void {
    assert.ok(path.startsWith(`${parent}/`), path)
    for (const name of path.slice(parent.length + 1).split('/'))
      assert.match(name, /^[a-z0-9][a-z0-9_.-]*$/, path)
    assert.ok(!path.includes('..'), path)
  }

  it('holds no string from outside, however hostile the session', () =>
    fc.assert(
      fc.property(hostileText, hostileText, (session, other) => {
        const owner = ownerPaths(root, session)
        for (const path of Object.values(owner)) assertBelow(path, root.mailboxes)
        assertBelow(sessionClaimPath(root, session), root.sessions)
        const file = { ...generationFile({ session: other }), root: session }
        assertBelow(labelClaimPath(root, file), owner.labels)
        if (session !== other) assert.notEqual(ownerPaths(root, other).directory, owner.directory)
      }),
      { numRuns: 1_000, ...seed() },
    ))

  it('of everything lies below the one directory that is ours', () => {
    for (const path of Object.values(root)) if (path !== root.drover) assertBelow(path, root.drover)
    const owner = ownerPaths(root, 'owner-session')
    const generation = generationPaths(owner.directory, idOf('g'))
    for (const path of Object.values(generation)) assertBelow(path, owner.directory)
    for (const path of Object.values(generation).slice(1)) assertBelow(path, generation.directory)
    assertBelow(resultPath(root, idOf('g')), root.results)
  })

  it('is never shared by two things', () => {
    const owner = ownerPaths(root, 'owner-session')
    const paths = [root, owner, generationPaths(owner.directory, idOf('g'))].flatMap((some) =>
      Object.values(some),
    )
    assert.equal(new Set(paths).size, paths.length)
  })

  it('of an owner can be had from its name alone', () => {
    assert.deepEqual(ownerDirectory(root, hashedName('s')), ownerPaths(root, 's'))
  })
})

for (const backend of backends) {
  describe(`preparing directories on ${backend.name}`, () => {
    const prepare = (): ReturnType<typeof backend.open> & {
      readonly all: () => void
      readonly directories: readonly string[]
    } => {
      const mailbox = backend.open()
      const { fs } = mailbox
      const paths = rootPaths(mailbox.root)
      const owner = ownerPaths(paths, 'owner-session')
      const generation = generationPaths(owner.directory, idOf('g'))
      const { file: _, ready: __, errorLog: ___, activityFile: _____, ...directories } = generation
      const { ballast: ____, editing: ______, ...rootDirectories } = paths
      return {
        ...mailbox,
        directories: [rootDirectories, owner, directories].flatMap((some) => Object.values(some)),
        all() {
          prepareRoot(fs, paths)
          prepareOwner(fs, owner)
          prepareGeneration(fs, generation)
        },
      }
    }

    it('makes all of them, private, and finds them again', () => {
      const { fs, all, directories } = prepare()
      all()
      for (const directory of directories) fs.verifyDirectory(directory)
      all()
    })

    it('refuses what is in the way of any of them', async () => {
      const { directories } = prepare()
      for (const i of directories.keys()) {
        const { fs, all, directories } = prepare()
        const path = directories[i] as string
        all()
        fs.removeTree(path)
        await fs.createSynced(path, Buffer.from('in the way'))
        assert.throws(
          all,
          (error) =>
            error instanceof MailboxError &&
            error.code === 'DROVER_MAILBOX_UNSAFE' &&
            error.remedy === 'report' &&
            error.message.includes(path),
          path,
        )
      }
    })

    it('lists names of ours alone, in order', async () => {
      const { fs, root, records } = backend.open()
      for (const name of [idOf('b'), idOf('a'), 'lease', '.x', idOf('a').toUpperCase(), 'x'])
        fs.makeDirectory(`${records}/${name}`)
      assert.deepEqual(ownNames(fs, records), [idOf('a'), idOf('b')])
      assert.deepEqual(ownNames(fs, `${root}/absent`), [])
    })
  })
}
