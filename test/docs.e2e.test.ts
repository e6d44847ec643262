import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'

const top = dirname(import.meta.dirname)
const read = (path: string) => readFileSync(join(top, path), 'utf8')
const scripts = JSON.parse(read('package.json')).scripts as Record<string, string>

const documents = spawnSync('git', ['ls-files', '*.md'], { cwd: top, encoding: 'utf8' })
  .stdout.split('\n')
  .filter((path) => path !== '' && !path.startsWith('pi/definitions/bundled/'))

/** Runs a documented command as a reader would type it. */
function run(command: string) {
  return spawnSync('bash', ['-c', command], { cwd: top, encoding: 'utf8', timeout: 120_000 })
}

/** Titles of the tests of a file, as its source has them. */
const titlesIn = (file: string): string[] =>
  [...read(file).matchAll(/\b(?:it|test)\(\s*(['"`])((?:\\.|(?!\1)[^\\])*)\1/g)].map(
    ([, , title = '']) => title.replace(/\\(.)/g, '$1'),
  )

/** A title may have a remark in brackets behind it. */
const startsWithTitle = (written: string, title: string): boolean =>
  written === title || (written.startsWith(`${title} (`) && written.endsWith(')'))

describe('the documents', () => {
  it('are found: git lists them', () => {
    assert.ok(documents.length > 0, `${top} is a checkout`)
  })

  it('name only npm scripts that exist', () => {
    for (const path of documents)
      for (const [, script] of read(path).matchAll(/npm run ([\w:-]+)/g))
        assert.ok(script !== undefined && script in scripts, `${path}: npm run ${script}`)
  })

  it('link only to files that exist', () => {
    for (const path of documents)
      for (const [, target] of read(path).matchAll(/\]\((?!https?:)([^)#]+)\)/g))
        assert.ok(existsSync(join(top, dirname(path), target ?? '')), `${path}: ${target}`)
  })

  it('name every file of a folder in its README, and no other', () => {
    for (const folder of ['mailbox', 'actors', 'herdr', 'pi', 'demo', 'test']) {
      const listed = read(`${folder}/README.md`)
      const files = readdirSync(join(top, folder)).filter((name) => name.endsWith('.ts'))
      const own = files.filter((name) => !/\.test\.ts$|^index\.ts$/.test(name))
      for (const name of own)
        assert.ok(listed.includes(`\`${name}\``), `${folder}/README.md: ${name}`)
      for (const [, name] of listed.matchAll(/^\|[^|]*?`([\w-]+\.ts)`[^|]*\|/gm))
        assert.ok(
          files.includes(name ?? '') || folder === 'test',
          `${folder}/README.md names ${name}`,
        )
    }
  })

  it('name in every row of the known faults a test that exists', () => {
    const document = read('docs/known-faults.md')
    const rows = document.split('\n').filter((line) => /^\| (?!fault|---)/.test(line))
    assert.ok(rows.length > 50, `only ${rows.length} rows`)
    for (const row of rows) {
      const named = [...row.matchAll(/`([^`]+\.ts)` "([^"]+)"/g)]
      assert.ok(named.length > 0, `no test: ${row}`)
      for (const [, file = '', title = ''] of named) {
        assert.ok(existsSync(join(top, file)), `${file}: ${title}`)
        assert.ok(
          titlesIn(file).some((each) => startsWithTitle(each, title)),
          `${file}: ${title}`,
        )
      }
    }
  })

  it('draw the house as it is', () => {
    const drawn = [...read('docs/architecture.md').matchAll(/^(\w+)\/ {2,}\S/gm)].map(
      ([, name]) => name,
    )
    const rooms = readdirSync(top, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && !/^(\.|node_modules$|dist$)/.test(entry.name))
      .map(({ name }) => name)
    assert.deepEqual(drawn.sort(), rooms.sort())
    for (const room of rooms)
      assert.ok(room === 'scripts' || existsSync(join(top, room, 'README.md')), `${room}/README.md`)
  })

  for (const command of ['npm run demo', 'npm run demo -- --kill-lead'])
    it(`are right about: ${command}`, () => {
      const { status, stdout, stderr } = run(command)
      assert.equal(status, 0, stdout + stderr)
      assert.match(stdout, /What held\n( {2}✓ .*\n){6}/)
      assert.equal(stdout.includes('is killed with SIGKILL'), command.includes('kill-lead'))
    })

  it('are right about: npm run demo -- --herdr', () => {
    const { status, stdout, stderr } = run('npm run demo -- --herdr')
    assert.equal(status, 0, stdout + stderr)
    assert.match(stdout, /What held\n( {2}✓ .*\n){9}/)
    assert.match(stdout, /reviewer +is started in pane w1:p\d\n/)
    assert.match(stdout, /herdr +has 3 panes in 2 tabs:\n/)
    assert.match(stdout, /herdr +shows in pane w1:p\d, that of the scout:\n( +│ .+\n){7}/)
  })

  it('are right about: npm run demo -- --keep', () => {
    const { status, stdout } = run('npm run demo -- --keep')
    assert.equal(status, 0)
    const directory = /Kept: (.*)/.exec(stdout)?.[1] ?? ''
    assert.ok(existsSync(join(directory, 'agent dir/sessions')), directory)
    spawnSync('rm', ['-rf', directory])
  })
})
