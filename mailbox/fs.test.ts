import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { MailboxFs } from './ports.ts'
import { bytesOf, disk, failure, memory } from './testing/file-systems.ts'

for (const backend of [memory, disk]) {
  const { open, noForeigners } = backend

  describe(`makeDirectory on ${backend.name}`, () => {
    it('makes a directory once', () => {
      const { fs, root } = open()
      assert.equal(fs.makeDirectory(`${root}/d`), 'made')
      assert.equal(fs.makeDirectory(`${root}/d`), 'exists')
      assert.equal(fs.entry(`${root}/d`), 'directory')
      fs.verifyDirectory(`${root}/d`)
    })

    it('leaves whatever has the name, a link too', () => {
      const { fs, root, plant } = open()
      for (const what of ['file', 'symlink', 'loose-directory'] as const) {
        const path = `${root}/${what}`
        plant(path, what)
        const before = fs.entry(path)
        assert.equal(fs.makeDirectory(path), 'exists')
        assert.equal(fs.entry(path), before)
      }
    })

    it('makes no parents', () => {
      const { fs, root } = open()
      const path = `${root}/absent/d`
      assert.throws(() => fs.makeDirectory(path), failure('DROVER_MAILBOX_GONE', path))
    })

    it('makes nothing below a file', () => {
      const { fs, root, plant } = open()
      plant(`${root}/f`, 'file')
      const path = `${root}/f/d`
      assert.throws(() => fs.makeDirectory(path), failure('DROVER_MAILBOX_UNSAFE', path))
    })
  })

  describe(`createSynced on ${backend.name}`, () => {
    it('makes a file with exactly these bytes, few or many', async () => {
      const { fs, root } = open()
      for (const size of [0, 1, 4_096, 131_071, 131_072, 1_000_000]) {
        const bytes = new Uint8Array(size).map((_, i) => i % 251)
        await fs.createSynced(`${root}/${size}`, bytes)
        const read = fs.read(`${root}/${size}`, size)
        assert.ok('bytes' in read && Buffer.compare(read.bytes, bytes) === 0)
      }
    })

    it('makes many files beside each other', async () => {
      const { fs, root } = open()
      const names = Array.from({ length: 40 }, (_, i) => `f${i}`)
      await Promise.all(names.map((name) => fs.createSynced(`${root}/${name}`, bytesOf(name))))
      for (const name of names) assert.equal(textAt(fs, `${root}/${name}`), name)
    })

    it('refuses a name that is taken, and leaves what has it', async () => {
      const { fs, root, plant } = open()
      for (const what of ['file', 'symlink', 'fifo', 'directory'] as const) {
        const path = `${root}/${what}`
        plant(path, what, bytesOf('old'))
        const before = fs.entry(path)
        const created = fs.createSynced(path, bytesOf('new'))
        await assert.rejects(created, failure('DROVER_MAILBOX_IO', path))
        assert.equal(fs.entry(path), before)
      }
      assert.equal(textAt(fs, `${root}/file`), 'old')
    })

    it('says so when its directory is gone', async () => {
      const { fs, root } = open()
      const path = `${root}/absent/f`
      const created = fs.createSynced(path, bytesOf('f'))
      await assert.rejects(created, failure('DROVER_MAILBOX_GONE', path))
    })
  })

  describe(`link on ${backend.name}`, () => {
    it('gives a file a second name that outlives the first', async () => {
      const { fs, root } = open()
      await fs.createSynced(`${root}/draft`, bytesOf('f'))
      assert.equal(fs.link(`${root}/draft`, `${root}/f`), 'linked')
      assert.equal(fs.remove(`${root}/draft`), 'removed')
      assert.equal(textAt(fs, `${root}/f`), 'f')
    })

    it('never replaces what has the name', async () => {
      const { fs, root, plant } = open()
      await fs.createSynced(`${root}/draft`, bytesOf('new'))
      for (const what of ['file', 'symlink', 'fifo', 'directory'] as const) {
        const path = `${root}/${what}`
        plant(path, what, bytesOf('old'))
        const before = fs.entry(path)
        assert.equal(fs.link(`${root}/draft`, path), 'exists')
        assert.equal(fs.entry(path), before)
      }
      assert.equal(textAt(fs, `${root}/file`), 'old')
    })

    it('says so when the file or the directory is gone', async () => {
      const { fs, root } = open()
      await fs.createSynced(`${root}/draft`, bytesOf('f'))
      for (const [from, to] of [
        [`${root}/absent`, `${root}/f`],
        [`${root}/draft`, `${root}/absent/f`],
      ] as const)
        assert.throws(() => fs.link(from, to), failure('DROVER_MAILBOX_GONE', to))
    })

    it('gives a directory no second name', () => {
      const { fs, root } = open()
      fs.makeDirectory(`${root}/d`)
      const path = `${root}/e`
      assert.throws(() => fs.link(`${root}/d`, path), failure('DROVER_MAILBOX_IO', path))
    })
  })

  describe(`rename on ${backend.name}`, () => {
    it('moves a whole tree', async () => {
      const { fs, root } = open()
      for (const path of ['from', 'from/tree', 'from/tree/below', 'to'])
        fs.makeDirectory(`${root}/${path}`)
      await fs.createSynced(`${root}/from/tree/below/f`, bytesOf('f'))
      fs.rename(`${root}/from/tree`, `${root}/to/moved`)
      assert.equal(textAt(fs, `${root}/to/moved/below/f`), 'f')
      assert.deepEqual(fs.list(`${root}/from`), [])
    })

    it('replaces a file', async () => {
      const { fs, root } = open()
      await fs.createSynced(`${root}/f`, bytesOf('old'))
      await fs.createSynced(`${root}/draft`, bytesOf('new'))
      fs.rename(`${root}/draft`, `${root}/f`)
      assert.equal(textAt(fs, `${root}/f`), 'new')
      assert.deepEqual(fs.list(root), ['f'])
    })

    it('moves a link or a pipe itself, wherever it leads', () => {
      const { fs, root, plant } = open()
      for (const what of ['symlink', 'fifo'] as const) {
        plant(`${root}/${what}`, what)
        fs.rename(`${root}/${what}`, `${root}/moved-${what}`)
        assert.equal(fs.entry(`${root}/${what}`), undefined)
        assert.equal(fs.entry(`${root}/moved-${what}`), 'other')
      }
    })

    it('changes nothing between two names of one file', async () => {
      const { fs, root } = open()
      await fs.createSynced(`${root}/a`, bytesOf('f'))
      fs.link(`${root}/a`, `${root}/b`)
      fs.rename(`${root}/a`, `${root}/b`)
      assert.deepEqual(fs.list(root)?.toSorted(), ['a', 'b'])
    })

    it('refuses a directory in the way that is not empty, and its own inside', () => {
      const { fs, root } = open()
      for (const path of ['a', 'a/x', 'b', 'b/y']) fs.makeDirectory(`${root}/${path}`)
      for (const to of [`${root}/b`, `${root}/a/x/z`])
        assert.throws(() => fs.rename(`${root}/a`, to), failure('DROVER_MAILBOX_IO', to))
      assert.deepEqual(fs.list(`${root}/a`), ['x'])
      assert.deepEqual(fs.list(`${root}/b`), ['y'])
    })

    it('refuses a file where a directory is, and a directory where a file is', () => {
      const { fs, root, plant } = open()
      plant(`${root}/d`, 'directory')
      plant(`${root}/f`, 'file')
      assert.throws(
        () => fs.rename(`${root}/f`, `${root}/d`),
        failure('DROVER_MAILBOX_IO', `${root}/d`),
      )
      assert.throws(
        () => fs.rename(`${root}/d`, `${root}/f`),
        failure('DROVER_MAILBOX_UNSAFE', `${root}/f`),
      )
    })

    it('says so when there is nothing to move, or nowhere to move it', () => {
      const { fs, root, plant } = open()
      plant(`${root}/f`, 'file')
      for (const [from, to] of [
        [`${root}/absent`, `${root}/g`],
        [`${root}/f`, `${root}/absent/g`],
      ] as const)
        assert.throws(() => fs.rename(from, to), failure('DROVER_MAILBOX_GONE', from))
    })
  })

  describe(`remove on ${backend.name}`, () => {
    it('removes a name once', () => {
      const { fs, root, plant } = open()
      for (const what of ['file', 'symlink', 'fifo'] as const) {
        plant(`${root}/${what}`, what)
        assert.equal(fs.remove(`${root}/${what}`), 'removed')
        assert.equal(fs.remove(`${root}/${what}`), 'absent')
      }
      assert.deepEqual(fs.list(root), [])
    })

    it('finds nothing in a directory that is gone', () => {
      const { fs, root } = open()
      assert.equal(fs.remove(`${root}/absent/f`), 'absent')
    })

    it('refuses a directory', () => {
      const { fs, root } = open()
      fs.makeDirectory(`${root}/d`)
      const path = `${root}/d`
      assert.throws(() => fs.remove(path), failure('DROVER_MAILBOX_IO', path))
      assert.equal(fs.entry(path), 'directory')
    })
  })

  describe(`removeTree on ${backend.name}`, () => {
    it('removes a directory and all below it', async () => {
      const { fs, root, plant } = open()
      for (const path of ['d', 'd/e', 'd/e/g']) fs.makeDirectory(`${root}/${path}`)
      await fs.createSynced(`${root}/d/e/f`, bytesOf('f'))
      plant(`${root}/d/fifo`, 'fifo')
      plant(`${root}/d/e/symlink`, 'symlink')
      fs.removeTree(`${root}/d`)
      assert.deepEqual(fs.list(root), [])
    })

    it('finds nothing to do where there is nothing', () => {
      const { fs, root } = open()
      fs.removeTree(`${root}/absent`)
      fs.removeTree(`${root}/absent/below`)
    })
  })

  describe(`syncDirectory on ${backend.name}`, () => {
    it('resolves for a directory, however many ask', async () => {
      const { fs, root } = open()
      await fs.createSynced(`${root}/f`, bytesOf('f'))
      await Promise.all([1, 2, 3].map(() => fs.syncDirectory(root)))
    })

    it('says so when the directory is gone', async () => {
      const { fs, root } = open()
      const path = `${root}/absent`
      await assert.rejects(fs.syncDirectory(path), failure('DROVER_MAILBOX_GONE', path))
    })

    it('refuses what is not a directory', async () => {
      const { fs, root, plant } = open()
      for (const what of ['file', 'symlink', 'fifo'] as const) {
        const path = `${root}/${what}`
        plant(path, what)
        await assert.rejects(fs.syncDirectory(path), failure('DROVER_MAILBOX_UNSAFE', path))
      }
    })
  })

  describe(`list and entry on ${backend.name}`, () => {
    it('name all that is in a directory, and what it is', () => {
      const { fs, root, plant } = open()
      const kinds = {
        file: 'file',
        directory: 'directory',
        symlink: 'other',
        fifo: 'other',
      } as const
      for (const what of Object.keys(kinds) as (keyof typeof kinds)[]) {
        plant(`${root}/${what}`, what)
        assert.equal(fs.entry(`${root}/${what}`), kinds[what])
      }
      assert.deepEqual(fs.list(root)?.toSorted(), Object.keys(kinds).toSorted())
    })

    it('answer undefined where there is nothing', () => {
      const { fs, root } = open()
      for (const path of [`${root}/absent`, `${root}/absent/below`]) {
        assert.equal(fs.list(path), undefined)
        assert.equal(fs.entry(path), undefined)
      }
    })

    it('refuse a file on the way', () => {
      const { fs, root, plant } = open()
      plant(`${root}/f`, 'file')
      assert.throws(() => fs.list(`${root}/f`), failure('DROVER_MAILBOX_UNSAFE', `${root}/f`))
      const path = `${root}/f/below`
      assert.throws(() => fs.entry(path), failure('DROVER_MAILBOX_UNSAFE', path))
    })
  })

  describe(`read on ${backend.name}`, () => {
    it('reads up to the limit and refuses one byte more', () => {
      const { fs, root, plant } = open()
      plant(`${root}/f`, 'file', bytesOf('12345'))
      const read = fs.read(`${root}/f`, 5)
      assert.ok('bytes' in read && Buffer.from(read.bytes).toString() === '12345')
      assert.deepEqual(fs.read(`${root}/f`, 4), { refusal: 'oversize' })
      assert.deepEqual(fs.read(`${root}/f`, 0), { refusal: 'oversize' })
    })

    it('finds nothing where there is nothing', () => {
      const { fs, root } = open()
      assert.deepEqual(fs.read(`${root}/absent`, 10), { refusal: 'absent' })
      assert.deepEqual(fs.read(`${root}/absent/below`, 10), { refusal: 'absent' })
    })

    it('refuses what is not a regular file, and waits for none of it', () => {
      const { fs, root, plant } = open()
      for (const what of ['symlink', 'fifo', 'directory'] as const) {
        plant(`${root}/${what}`, what)
        assert.deepEqual(fs.read(`${root}/${what}`, 10), { refusal: 'not-regular' })
      }
    })

    it('refuses a file that others may open', () => {
      const { fs, root, plant } = open()
      plant(`${root}/f`, 'loose-file', bytesOf('f'))
      assert.deepEqual(fs.read(`${root}/f`, 10), { refusal: 'not-private' })
    })

    it('refuses a file of another user', { skip: noForeigners }, () => {
      const { fs, root, plant } = open()
      plant(`${root}/f`, 'foreign-file', bytesOf('f'))
      assert.deepEqual(fs.read(`${root}/f`, 10), { refusal: 'not-ours' })
    })

    it('gives bytes that are the reader’s own', async () => {
      const { fs, root } = open()
      await fs.createSynced(`${root}/f`, bytesOf('f'))
      const read = fs.read(`${root}/f`, 10)
      assert.ok('bytes' in read)
      read.bytes.fill(0)
      assert.equal(textAt(fs, `${root}/f`), 'f')
    })
  })

  describe(`verifyDirectory on ${backend.name}`, () => {
    it('says what is wrong and what to do', () => {
      const { fs, root, plant } = open()
      for (const [what, remedy] of [
        ['file', 'Move it away.'],
        ['symlink', 'Move it away.'],
        ['fifo', 'Move it away.'],
        ['loose-directory', `Run: chmod 700 ${root}/loose-directory`],
      ] as const) {
        const path = `${root}/${what}`
        plant(path, what)
        assert.throws(() => fs.verifyDirectory(path), failure('DROVER_MAILBOX_UNSAFE', path))
        assert.throws(
          () => fs.verifyDirectory(path),
          (error: Error) => error.message.includes(remedy),
        )
      }
    })

    it('refuses a directory of another user', { skip: noForeigners }, () => {
      const { fs, root, plant } = open()
      const path = `${root}/d`
      plant(path, 'foreign-directory')
      assert.throws(() => fs.verifyDirectory(path), failure('DROVER_MAILBOX_UNSAFE', path))
    })

    it('says so when it is gone', () => {
      const { fs, root } = open()
      const path = `${root}/absent`
      assert.throws(() => fs.verifyDirectory(path), failure('DROVER_MAILBOX_GONE', path))
    })
  })

  describe(`watch on ${backend.name}`, () => {
    it('hints at names that come, move and go, and no more once stopped', async () => {
      const { fs, root } = open()
      fs.makeDirectory(`${root}/d`)
      await fs.createSynced(`${root}/draft`, bytesOf('f'))
      const stopped = fs.watch(`${root}/d`, () => assert.fail('stopped'))
      stopped()
      for (const change of [
        () => fs.link(`${root}/draft`, `${root}/d/f`),
        () => fs.rename(`${root}/d/f`, `${root}/d/g`),
        () => fs.remove(`${root}/d/g`),
        () => fs.makeDirectory(`${root}/d/e`),
      ]) {
        let stop = (): void => {}
        // A watch keeps no process alive, so the deadline does.
        let deadline: NodeJS.Timeout | undefined
        const hinted = new Promise<void>((resolve, reject) => {
          deadline = setTimeout(() => reject(new Error(`no hint of ${change}`)), 10_000)
          stop = fs.watch(`${root}/d`, resolve)
        })
        change()
        await hinted
        clearTimeout(deadline)
        stop()
        stop() // twice does no harm
      }
    })

    it('says so when there is nothing to watch', () => {
      const { fs, root } = open()
      const path = `${root}/absent`
      assert.throws(() => fs.watch(path, () => {}), failure('DROVER_MAILBOX_GONE', path))
    })
  })
}

function textAt(fs: MailboxFs, path: string): string {
  const read = fs.read(path, 1_000)
  assert.ok('bytes' in read, `${path} is unreadable: ${JSON.stringify(read)}`)
  return Buffer.from(read.bytes).toString()
}
