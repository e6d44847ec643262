import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ballastBytes } from './limits.ts'
import { reserveAt, setReserveAside } from './reserve.ts'
import { backends, countingIds, memoryMailbox } from './testing/builders.ts'

for (const backend of backends) {
  describe(`a reserve on ${backend.name}`, () => {
    it('is set aside once, whole, and released once', async () => {
      const { fs, root } = backend.open()
      const path = `${root}/ballast`
      await setReserveAside(fs, countingIds(), path)
      const read = fs.read(path, ballastBytes)
      assert.ok('bytes' in read && read.bytes.length === ballastBytes)
      await setReserveAside(fs, countingIds(), path)
      assert.deepEqual(
        fs.list(root)?.filter((name) => name.startsWith('ballast')),
        ['ballast'],
      )
      const reserve = reserveAt(fs, path)
      assert.equal(reserve.release(), 'released')
      assert.equal(fs.entry(path), undefined)
      assert.equal(reserve.release(), 'none')
      await setReserveAside(fs, countingIds(), path, 8)
      assert.equal(reserve.release(), 'released')
    })

    it('is one, however many set it aside at once', async () => {
      const { fs, root } = backend.open()
      const path = `${root}/ballast`
      await Promise.all([1, 2, 3].map((i) => setReserveAside(fs, countingIds(`i${i}x`), path, 8)))
      assert.deepEqual(
        fs.list(root)?.filter((name) => name.startsWith('ballast')),
        ['ballast'],
      )
    })

    it('cannot be released where something else has its name', () => {
      const { fs, root } = backend.open()
      fs.makeDirectory(`${root}/ballast`)
      assert.equal(reserveAt(fs, `${root}/ballast`).release(), 'none')
      assert.equal(fs.entry(`${root}/ballast`), 'directory')
    })
  })
}

describe('setting a reserve aside', () => {
  it('fails in silence, and succeeds when the trouble is over', async () => {
    for (const code of ['ENOSPC', 'EIO', 'EMFILE'] as const)
      for (const lasts of ['once', 'forever'] as const)
        for (let point = 0; point < 5; point++) {
          const { fs } = memoryMailbox()
          fs.failAt(point, code, lasts)
          await setReserveAside(fs, countingIds(), '/m/ballast', 8)
          fs.heal()
          await setReserveAside(fs, countingIds('j'), '/m/ballast', 8)
          assert.deepEqual(
            fs.list('/m')?.filter((name) => name.startsWith('ballast')),
            ['ballast'],
          )
        }
  })

  it('takes away what an earlier life left half made', async () => {
    const complete = memoryMailbox()
    await setReserveAside(complete.fs, countingIds(), '/m/ballast', 8)
    for (let point = 0; point < complete.fs.operations; point++) {
      const { fs } = memoryMailbox()
      fs.crashAt(point)
      await setReserveAside(fs, countingIds(), '/m/ballast', 8).catch(() => {})
      const next = fs.crash()
      await setReserveAside(next, countingIds('j'), '/m/ballast', 8)
      assert.deepEqual(
        next.list('/m')?.filter((name) => name.startsWith('ballast')),
        ['ballast'],
      )
    }
  })
})
