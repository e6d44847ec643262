import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { describe, it } from 'node:test'
import { bytesOf, disk, failure } from './testing/file-systems.ts'

describe('the disk alone', () => {
  for (const umask of [0, 0o777])
    it(`gets 0700 and 0600 under umask ${umask.toString(8)}`, async () => {
      const { fs, root } = disk.open()
      const before = process.umask(umask)
      let created: Promise<void>
      try {
        fs.makeDirectory(`${root}/d`)
        created = fs.createSynced(`${root}/f`, bytesOf('f'))
      } finally {
        process.umask(before)
      }
      await created
      assert.equal(statSync(`${root}/d`).mode & 0o7777, 0o700)
      assert.equal(statSync(`${root}/f`).mode & 0o7777, 0o600)
    })

  for (const size of [100_000, 200_000])
    it(`keeps no trace of a file of ${size} bytes that does not fit`, () => {
      const { root } = disk.open()
      // A file size limit takes part of the first write and refuses the second, as a full disk does.
      const script = `
        import { diskFs } from ${JSON.stringify(new URL('./disk-fs.ts', import.meta.url).href)}
        const refused = await diskFs
          .createSynced(process.env.FILE, new Uint8Array(${size}))
          .then(() => 'created', (error) => error.code + ' ' + error.cause.code)
        process.stdout.write(refused)`
      const outcome = execFileSync(
        'sh',
        ['-c', 'ulimit -f 64; exec "$0" "$@"', process.execPath, '--import', 'tsx'].concat(
          '--input-type=module',
          '-e',
          script,
        ),
        { env: { ...process.env, FILE: `${root}/f`, TSX_DISABLE_CACHE: '1' }, encoding: 'utf8' },
      )
      assert.equal(outcome, 'DROVER_MAILBOX_IO EFBIG')
      assert.deepEqual(readdirSync(root), [])
    })

  it('follows no link to a directory', async () => {
    const { fs, root } = disk.open()
    mkdirSync(`${root}/real`, { mode: 0o700 })
    writeFileSync(`${root}/real/f`, 'f')
    mkdirSync(`${root}/tree`, { mode: 0o700 })
    symlinkSync(`${root}/real`, `${root}/tree/link`)
    const link = `${root}/tree/link`
    assert.equal(fs.entry(link), 'other')
    assert.equal(fs.makeDirectory(link), 'exists')
    assert.throws(() => fs.verifyDirectory(link), failure('DROVER_MAILBOX_UNSAFE', link))
    await assert.rejects(fs.syncDirectory(link), failure('DROVER_MAILBOX_UNSAFE', link))
    fs.removeTree(`${root}/tree`)
    assert.equal(readFileSync(`${root}/real/f`, 'utf8'), 'f')
  })

  it('creates nothing through a link that leads nowhere', async () => {
    const { fs, root } = disk.open()
    symlinkSync(`${root}/nowhere`, `${root}/link`)
    const created = fs.createSynced(`${root}/link`, bytesOf('f'))
    await assert.rejects(created, failure('DROVER_MAILBOX_IO', `${root}/link`))
    assert.deepEqual(readdirSync(root), ['link'])
  })

  it('refuses to read a socket', async () => {
    const { fs, root } = disk.open()
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(`${root}/s`, resolve))
    assert.deepEqual(fs.read(`${root}/s`, 10), { refusal: 'not-regular' })
    await new Promise((resolve) => server.close(resolve))
  })

  it('keeps no process alive by a watch, and the clock none by what it does in the background', () => {
    const { root } = disk.open()
    const module = (name: string) => JSON.stringify(new URL(name, import.meta.url).href)
    const script = `
      import { diskFs } from ${module('./disk-fs.ts')}
      import { systemClock } from ${module('./clock.ts')}
      diskFs.watch(${JSON.stringify(root)}, () => {})
      systemClock.background(3_600_000, () => {})
      console.log('that is all')`
    const args = ['--import', 'tsx', '--input-type=module', '-e', script]
    const { status, signal, stdout } = spawnSync(process.execPath, args, {
      encoding: 'utf8',
      timeout: 30_000,
    })
    assert.deepEqual([status, signal, stdout], [0, null, 'that is all\n'])
  })

  const noDescriptors = process.platform === 'linux' ? false : 'descriptors are counted in /proc'
  it('keeps no descriptor open, whatever it refuses', { skip: noDescriptors }, async () => {
    const { fs, root, plant } = disk.open()
    plant(`${root}/loose`, 'loose-file', bytesOf('loose'))
    plant(`${root}/fifo`, 'fifo')
    const openNow = (): number => readdirSync('/proc/self/fd').length
    const before = openNow()
    for (let i = 0; i < 3; i++) {
      await fs.createSynced(`${root}/f${i}`, bytesOf('f'))
      await fs.createSynced(`${root}/f0`, bytesOf('f')).catch(() => {})
      await fs.syncDirectory(root)
      await fs.syncDirectory(`${root}/fifo`).catch(() => {})
      for (const name of ['f0', 'loose', 'fifo', 'absent']) fs.read(`${root}/${name}`, 0)
      fs.watch(root, () => {})()
    }
    assert.ok(openNow() <= before + 1) // the watcher's own queue stays with the event loop
  })
})
