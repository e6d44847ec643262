import assert from 'node:assert/strict'
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import {
  diskFs,
  rootPaths,
  startRuntime,
  systemClock,
  systemIds,
  systemProcesses,
  takeLease,
} from '../mailbox/index.ts'
import { editorFor } from './testing/editor-for.ts'

function place(t: TestContext) {
  const directory = mkdtempSync(join(tmpdir(), 'drover-edit-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const path = join(directory, 'agents/scout.md')
  mkdirSync(join(directory, 'agents'), { mode: 0o755 })
  return { directory, path, editor: editorFor(t, directory) }
}

const append = (text: string | undefined): string => `${text ?? ''}+`

/** Another window that is in the middle of a change. */
async function otherWindow(directory: string) {
  const root = rootPaths(directory)
  const processes = systemProcesses()
  const { runtime, end } = startRuntime(processes, systemIds)
  const drafts = `${root.editing}/drafts`
  for (const path of [root.drover, root.editing, drafts]) diskFs.makeDirectory(path)
  const ports = { fs: diskFs, ids: systemIds, processes }
  const lease = { ...ports, directory: root.editing, drafts, subject: 'editing' }
  assert.equal((await takeLease(lease, runtime)).outcome, 'held')
  return { dies: end }
}

describe('a file of the person', () => {
  it('is changed with its mode, and with nothing left beside it', async (t) => {
    const { path, editor } = place(t)
    writeFileSync(path, '\uFEFFa\r\n')
    chmodSync(path, 0o640)
    await editor.change(path, append)
    assert.equal(readFileSync(path, 'utf8'), '\uFEFFa\r\n+')
    assert.equal(statSync(path).mode & 0o777, 0o640)
    assert.deepEqual(readdirSync(join(path, '..')), ['scout.md'])
  })

  it('is made where there is none, and its directory too', async (t) => {
    const { directory, editor } = place(t)
    const path = join(directory, 'other/new.md')
    await editor.change(path, append)
    assert.equal(readFileSync(path, 'utf8'), '+')
  })

  it('that is a link, or in a linked directory, is changed where it is', async (t) => {
    const { directory, path, editor } = place(t)
    mkdirSync(join(directory, 'dotfiles'))
    writeFileSync(join(directory, 'dotfiles/s.md'), 'a')
    symlinkSync('../dotfiles/s.md', path)
    await editor.change(path, append)
    assert.ok(lstatSync(path).isSymbolicLink())
    assert.equal(readFileSync(join(directory, 'dotfiles/s.md'), 'utf8'), 'a+')
    symlinkSync('dotfiles', join(directory, 'linked'))
    await editor.change(join(directory, 'linked/new.md'), append)
    assert.equal(readFileSync(join(directory, 'dotfiles/new.md'), 'utf8'), '+')
  })

  it('that was changed meanwhile by an editor is not overwritten', async (t) => {
    const { path, editor } = place(t)
    writeFileSync(path, 'a')
    const change = editor.change(path, (text) => {
      writeFileSync(path, 'theirs')
      return append(text)
    })
    await assert.rejects(change, /changed meanwhile/)
    assert.equal(readFileSync(path, 'utf8'), 'theirs')
    assert.deepEqual(readdirSync(join(path, '..')), ['scout.md'])
  })

  it('that appeared meanwhile is not overwritten, nor is a link that leads nowhere', async (t) => {
    const { path, editor } = place(t)
    const change = editor.change(path, (text) => {
      writeFileSync(path, 'theirs')
      return append(text)
    })
    await assert.rejects(change, /changed meanwhile/)
    assert.equal(readFileSync(path, 'utf8'), 'theirs')
    rmSync(path)
    symlinkSync('nowhere', path)
    await assert.rejects(editor.change(path, append), /changed meanwhile/)
    assert.ok(lstatSync(path).isSymbolicLink())
  })

  it('is not written where the change says no, and the next change goes on', async (t) => {
    const { path, editor } = place(t)
    const no = editor.change(path, () => {
      throw new Error('no')
    })
    const next = editor.change(path, append)
    await assert.rejects(no, /^Error: no$/)
    await next
    assert.equal(readFileSync(path, 'utf8'), '+')
  })

  for (const [what, bytes] of [
    ['not UTF-8', Buffer.from([0x61, 0xff])],
    ['far too large', Buffer.alloc(2_000_000, 'a')],
  ] as const)
    it(`that is ${what} is refused`, async (t) => {
      const { path, editor } = place(t)
      writeFileSync(path, bytes)
      await assert.rejects(editor.change(path, append), /Mend or remove/)
      assert.deepEqual(readFileSync(path), bytes)
    })

  it('waits for another window, and goes on once that is proven dead', async (t) => {
    const { directory, path } = place(t)
    const other = await otherWindow(directory)
    const change = await new Promise<{ done: Promise<void> }>((waits) => {
      const editor = editorFor(t, directory, {
        ...systemClock,
        after(delayMs, callback) {
          waits({ done })
          return systemClock.after(delayMs, callback)
        },
      })
      const done = editor.change(path, append)
    })
    assert.deepEqual(readdirSync(join(path, '..')), [])
    other.dies()
    await change.done
    assert.equal(readFileSync(path, 'utf8'), '+')
  })

  it('is left alone where another window does not come to an end', async (t) => {
    const { directory, path } = place(t)
    const other = await otherWindow(directory)
    t.after(other.dies)
    let now = 0
    const monotonic = () => {
      now += 6_000
      return now
    }
    const hasty = editorFor(t, directory, { ...systemClock, monotonic })
    await assert.rejects(hasty.change(path, append), /another window/)
    assert.deepEqual(readdirSync(join(path, '..')), [])
  })
})
