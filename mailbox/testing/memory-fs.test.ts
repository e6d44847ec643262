import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { MailboxError } from '../errors.ts'
import type { FaultCode } from './memory-faults.ts'
import { Crashed, type MemoryFs } from './memory-fs.ts'
import { admit, afterPowerLoss, coded, f, mailbox, shown } from './small-disk.ts'

describe('a crash in memory', () => {
  it('leaves all that was done, synced or not', () => {
    const fs = mailbox()
    void fs.createSynced('/m/in/f', f).catch(() => {})
    fs.makeDirectory('/m/in/d')
    const next = fs.crash()
    assert.equal(shown(next), 'in/f=1234')
    assert.equal(next.entry('/m/in/d'), 'directory')
    assert.equal(next.operations, 0)
  })

  it('falls at any operation point, before it takes effect', async () => {
    const complete = mailbox()
    await admit(complete)
    assert.equal(complete.operations, 6)
    const left: string[] = []
    for (let point = 0; point < complete.operations; point++) {
      const fs = mailbox()
      fs.crashAt(point)
      await assert.rejects(admit(fs), Crashed)
      assert.equal(fs.operations, point)
      left.push(shown(fs.crash()))
    }
    assert.deepEqual(left, [
      '', // create
      'drafts/f=', // write
      'drafts/f=1234', // sync the file
      'drafts/f=1234', // link
      'drafts/f=1234 in/f=1234', // sync the directory
      'drafts/f=1234 in/f=1234', // remove
    ])
  })

  it('ends every call of that process, looking too', async () => {
    const fs = mailbox()
    fs.crash()
    for (const call of [
      () => fs.makeDirectory('/m/d'),
      () => fs.link('/m/in', '/m/x'),
      () => fs.rename('/m/in', '/m/x'),
      () => fs.remove('/m/x'),
      () => fs.removeTree('/m/in'),
      () => fs.list('/m'),
      () => fs.entry('/m'),
      () => fs.read('/m/x', 1),
      () => fs.verifyDirectory('/m'),
      () => fs.watch('/m', () => {}),
    ])
      assert.throws(call, Crashed)
    await assert.rejects(fs.createSynced('/m/f', f), Crashed)
    await assert.rejects(fs.syncDirectory('/m'), Crashed)
  })

  it('ends a sync on its way: it promises nothing', async () => {
    const fs = mailbox()
    const creating = fs.createSynced('/m/in/f', f)
    const syncing = fs.syncDirectory('/m/in')
    const next = fs.crash()
    await assert.rejects(creating, Crashed)
    await assert.rejects(syncing, Crashed)
    assert.deepEqual(afterPowerLoss(next), ['', 'in/f=', 'in/f=12', 'in/f=1234'])
  })

  it('leaves other processes of that machine alone', () => {
    const fs = mailbox()
    const other = fs.peer()
    fs.crash()
    assert.equal(other.makeDirectory('/m/in/d'), 'made')
  })
})

describe('operation points in memory', () => {
  it('are passed by every call that may change something, and by no other', async () => {
    const fs = mailbox()
    const points = async (call: () => unknown): Promise<number> => {
      const before = fs.operations
      await call()
      return fs.operations - before
    }
    assert.equal(await points(() => fs.makeDirectory('/m/d')), 1)
    assert.equal(await points(() => fs.makeDirectory('/m/d')), 1)
    assert.equal(await points(() => fs.createSynced('/m/d/f', f)), 3)
    assert.equal(await points(() => fs.link('/m/d/f', '/m/d/g')), 1)
    assert.equal(await points(() => fs.rename('/m/d/g', '/m/d/h')), 1)
    assert.equal(await points(() => fs.remove('/m/d/g')), 1)
    assert.equal(await points(() => fs.syncDirectory('/m/d')), 1)
    assert.equal(await points(() => fs.removeTree('/m/d')), 3)
    assert.equal(await points(() => fs.removeTree('/m/d')), 0)
    const look = (): void => {
      fs.list('/m')
      fs.entry('/m')
      fs.read('/m/f', 1)
      fs.verifyDirectory('/m')
      fs.watch('/m', () => {})()
    }
    assert.equal(await points(look), 0)
  })
})

describe('faults in memory', () => {
  it('leave no trace of a file that could not be made', async () => {
    for (const point of [0, 1, 2]) {
      const fs = mailbox()
      fs.failAt(point, 'ENOSPC', 'once')
      await assert.rejects(fs.createSynced('/m/in/f', f), coded('DROVER_MAILBOX_FULL'))
      assert.equal(shown(fs), '')
      await fs.createSynced('/m/in/f', f)
    }
  })

  it('carry the code and the path of the system’s own error', () => {
    for (const [code, expected] of [
      ['ENOSPC', 'DROVER_MAILBOX_FULL'],
      ['EDQUOT', 'DROVER_MAILBOX_FULL'],
      ['EIO', 'DROVER_MAILBOX_IO'],
      ['EMFILE', 'DROVER_MAILBOX_IO'],
    ] as const) {
      const fs = mailbox()
      fs.failAt(0, code, 'once')
      assert.throws(
        () => fs.makeDirectory('/m/d'),
        (error: MailboxError) => error.code === expected && error.message.includes('/m/d'),
      )
      assert.equal(fs.entry('/m/d'), undefined)
      assert.equal(fs.makeDirectory('/m/d'), 'made')
    }
  })

  it('that last end only when healed', () => {
    const fs = mailbox()
    fs.failAt(fs.operations, 'EIO', 'forever')
    for (let i = 0; i < 3; i++)
      assert.throws(() => fs.makeDirectory('/m/d'), coded('DROVER_MAILBOX_IO'))
    assert.throws(() => fs.list('/m'), coded('DROVER_MAILBOX_IO'))
    fs.heal()
    assert.equal(fs.makeDirectory('/m/d'), 'made')
  })

  it('spare what still works on such a machine', async () => {
    const works = async (code: FaultCode, call: (fs: MemoryFs) => unknown): Promise<boolean> => {
      const fs = mailbox()
      fs.plant('/m/in/f', 'file', f)
      fs.failAt(0, code, 'forever')
      try {
        await call(fs)
        return true
      } catch (error) {
        assert.ok(error instanceof MailboxError)
        return false
      }
    }
    const create = (fs: MemoryFs): Promise<void> => fs.createSynced('/m/in/g', f)
    const link = (fs: MemoryFs): unknown => fs.link('/m/in/f', '/m/in/g')
    const remove = (fs: MemoryFs): unknown => fs.remove('/m/in/f')
    const sync = (fs: MemoryFs): Promise<void> => fs.syncDirectory('/m/in')
    const list = (fs: MemoryFs): unknown => fs.list('/m/in')
    const table: readonly [FaultCode, readonly boolean[]][] = [
      ['ENOSPC', [false, false, true, true, true]],
      ['EMFILE', [false, true, true, false, false]],
      ['EROFS', [false, false, false, true, true]],
      ['EIO', [false, false, false, false, false]],
    ]
    for (const [code, expected] of table) {
      const found: boolean[] = []
      for (const call of [create, link, remove, sync, list]) found.push(await works(code, call))
      assert.deepEqual(found, expected, code)
    }
  })

  it('strike one process only', () => {
    const fs = mailbox()
    fs.failAt(0, 'EMFILE', 'forever')
    assert.throws(() => fs.list('/m'), coded('DROVER_MAILBOX_IO'))
    assert.deepEqual(fs.peer().list('/m'), ['drafts', 'in'])
  })
})

describe('hints in memory', () => {
  it('come after the call that caused them, from any process of the machine', async () => {
    const fs = mailbox()
    let hints = 0
    fs.watch('/m/in', () => hints++)
    fs.peer().makeDirectory('/m/in/d')
    assert.equal(hints, 0)
    await Promise.resolve()
    assert.equal(hints, 1)
  })

  it('get lost on demand', async () => {
    const fs = mailbox()
    const stop = fs.watch('/m/in', () => assert.fail('a lost hint came'))
    fs.loseHints = true
    fs.makeDirectory('/m/in/d')
    await Promise.resolve()
    fs.loseHints = false
    fs.makeDirectory('/m/in/e')
    stop() // even on its way
    await Promise.resolve()
  })

  it('end with the process that waits for them', async () => {
    const fs = mailbox()
    fs.watch('/m/in', () => assert.fail('a dead process was called'))
    fs.makeDirectory('/m/in/d')
    fs.crash().makeDirectory('/m/in/e')
    await Promise.resolve()
  })

  it('come once when the directory itself moves, and never from the next one of that name', async () => {
    const fs = mailbox()
    let hints = 0
    fs.watch('/m/in', () => hints++)
    fs.rename('/m/in', '/m/out')
    fs.makeDirectory('/m/in')
    fs.makeDirectory('/m/in/d')
    await Promise.resolve()
    assert.equal(hints, 1)
  })
})

describe('a memory', () => {
  it('shares no bytes with those who write and read them', async () => {
    const fs = mailbox()
    const bytes = Buffer.from('1234')
    const created = fs.createSynced('/m/in/f', bytes)
    bytes.fill(0)
    await created
    for (const read of [fs.read('/m/in/f', 10), fs.read('/m/in/f', 10)]) {
      assert.ok('bytes' in read)
      assert.equal(Buffer.from(read.bytes).toString(), '1234')
      read.bytes.fill(0)
    }
    assert.equal(shown(fs), 'in/f=1234')
  })

  it('shows all its files, and what else is there', () => {
    const fs = mailbox()
    fs.plant('/m/in/f', 'file', f)
    fs.plant('/m/in/symlink', 'symlink')
    fs.plant('/m/in/fifo', 'fifo')
    assert.equal(shown(fs), 'in/f=1234 in/fifo=fifo in/symlink=symlink')
  })

  it('takes plain paths only', () => {
    const fs = mailbox()
    for (const path of ['/m/../m/d', '/m/./d'])
      assert.throws(() => fs.makeDirectory(path), assert.AssertionError)
  })
})
