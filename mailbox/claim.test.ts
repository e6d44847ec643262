import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type ClaimAnswer, claim, readClaim, unclaim } from './claim.ts'
import { encode } from './codec.ts'
import { MailboxError } from './errors.ts'
import { readLease, takeLease } from './lease.ts'
import type { ClaimFile } from './record.ts'
import {
  backends,
  claimFile,
  countingIds,
  everyChoice,
  idOf,
  Machine,
  type Mailbox,
  memoryMailbox,
  runtimeOf,
  Turns,
  withCalls,
} from './testing/builders.ts'
import { claimPathIn, claimPlaceOf } from './testing/claims.ts'
import { Crashed } from './testing/memory-fs.ts'

const claimed: ClaimAnswer = { outcome: 'claimed' }
const takenBy = (by: ClaimFile): ClaimAnswer => ({ outcome: 'taken', by })

for (const backend of backends) {
  describe(`a claim on ${backend.name}`, () => {
    it('is won by one of many', async () => {
      const mailbox = backend.open()
      const machine = new Machine()
      const path = claimPathIn(mailbox)
      const answers = await Promise.all(
        [2, 3, 4].map((pid) =>
          claim(claimPlaceOf(mailbox, machine, pid), path, claimFile(`g${pid}x`, runtimeOf(pid))),
        ),
      )
      const winners = answers.filter(({ outcome }) => outcome === 'claimed')
      assert.equal(winners.length, 1)
      const by = readClaim(mailbox.fs, path)
      assert.ok(typeof by === 'object')
      for (const answer of answers)
        if (answer.outcome === 'taken') assert.deepEqual(answer, takenBy(by))
      assert.equal(answers[by.claimer.process.pid - 2]?.outcome, 'claimed')
      assert.deepEqual(mailbox.fs.list(mailbox.drafts), [])
    })

    for (const presence of ['live', 'unknown', 'gone'] as const)
      for (const exists of [true, false]) {
        const isFree = presence === 'gone' && !exists
        const where = exists ? 'on disk' : 'not on disk'
        it(`is ${isFree ? 'free' : 'taken'} when its claimer is ${presence} and its generation ${where}`, async () => {
          const mailbox = backend.open()
          const machine = new Machine()
          const path = claimPathIn(mailbox)
          const old = claimFile('old', runtimeOf(2))
          assert.deepEqual(await claim(claimPlaceOf(mailbox, machine, 2), path, old), claimed)
          if (presence === 'gone') machine.end(2)
          if (presence === 'unknown') machine.hide(2)
          const existing = new Set(exists ? [idOf('old')] : [])
          const place = claimPlaceOf(mailbox, machine, 3, existing)
          const fresh = claimFile('new', runtimeOf(3))
          assert.deepEqual(await claim(place, path, fresh), isFree ? claimed : takenBy(old))
          assert.deepEqual(readClaim(mailbox.fs, path), isFree ? fresh : old)
          assert.deepEqual(mailbox.fs.list(mailbox.drafts), [])
        })
      }

    it('that cannot be read is taken, and stays', async () => {
      const plants: readonly ((m: Mailbox, path: string) => unknown)[] = [
        (m, path) => m.fs.createSynced(path, Buffer.from('{"half":')),
        (m, path) => m.fs.createSynced(path, Buffer.alloc(0)),
        (m, path) => m.fs.makeDirectory(path),
      ]
      for (const plant of plants) {
        const mailbox = backend.open()
        const path = claimPathIn(mailbox)
        await plant(mailbox, path)
        const before = mailbox.fs.entry(path)
        assert.equal(readClaim(mailbox.fs, path), 'unreadable')
        const place = claimPlaceOf(mailbox, new Machine(), 3)
        assert.deepEqual(await claim(place, path, claimFile('new', runtimeOf(3))), {
          outcome: 'taken',
        })
        unclaim(mailbox.fs, path, idOf('new'))
        assert.equal(mailbox.fs.entry(path), before)
      }
    })

    it('is given back by its own generation alone', async () => {
      const mailbox = backend.open()
      const path = claimPathIn(mailbox)
      unclaim(mailbox.fs, path, idOf('a')) // nothing there
      await claim(claimPlaceOf(mailbox, new Machine(), 2), path, claimFile('a', runtimeOf(2)))
      unclaim(mailbox.fs, path, idOf('b'))
      assert.deepEqual(readClaim(mailbox.fs, path), claimFile('a', runtimeOf(2)))
      unclaim(mailbox.fs, path, idOf('a'))
      assert.equal(readClaim(mailbox.fs, path), 'absent')
    })

    it('stays taken while another process holds the right to take stale ones away', async () => {
      const mailbox = backend.open()
      const machine = new Machine()
      const path = claimPathIn(mailbox)
      const old = claimFile('old', runtimeOf(2))
      await claim(claimPlaceOf(mailbox, machine, 2), path, old)
      machine.end(2)
      const place = claimPlaceOf(mailbox, machine, 4)
      const lease = { ...place, directory: place.takeover, subject: 'takeover' }
      assert.equal((await takeLease(lease, runtimeOf(4))).outcome, 'held')
      const mine = claimPlaceOf(mailbox, machine, 3)
      const fresh = claimFile('new', runtimeOf(3))
      assert.deepEqual(await claim(mine, path, fresh), takenBy(old))
      machine.end(4) // it died in the middle: its right is free
      assert.deepEqual(await claim(mine, path, fresh), claimed)
    })
  })
}

/** Only the holder of that lease may remove a claim that is not its own: all others may be reading it. */
function assertMayTakeAway({ fs, quarantine }: Mailbox, pid: number): void {
  const lease = readLease({ fs, directory: quarantine, subject: 'takeover' })
  assert.ok(lease !== 'unreadable')
  assert.deepEqual(lease.holder, runtimeOf(pid), `${pid} took a claim away without the lease`)
}

/** Lets processes claim a name whose claim is stale, in every order of their steps; the first may die on its way. */
async function everyTakeover(takers: number, crashPoint: number | undefined): Promise<number> {
  return everyChoice(async (choose) => {
    const mailbox = memoryMailbox()
    const { fs } = mailbox
    const machine = new Machine()
    const path = claimPathIn(mailbox)
    const existing = new Set<string>()
    await fs.createSynced(path, encode(claimFile('old', runtimeOf(2))))
    machine.end(2)
    const turns = new Turns()
    const told: string[] = []
    const life = async (pid: number): Promise<void> => {
      const process = fs.peer()
      if (pid === 3 && crashPoint !== undefined) process.crashAt(crashPoint)
      const name = `g${pid}x`
      const remove = (removed: string): 'removed' | 'absent' => {
        if (removed === path) {
          const found = readClaim(process, path)
          assert.ok(typeof found === 'object')
          const isDead = machine.seenBy(pid).presence(found.claimer.process) === 'gone'
          assert.ok(isDead && !existing.has(found.generation), `${pid} removed a fresh claim`)
          assertMayTakeAway(mailbox, pid)
        }
        return process.remove(removed)
      }
      const seen = turns.of(String(pid), withCalls(process, { remove }))
      const place = claimPlaceOf({ ...mailbox, fs: seen }, machine, pid, existing)
      try {
        const answer = await claim(place, path, claimFile(name, runtimeOf(pid)))
        if (answer.outcome !== 'claimed') return
        told.push(name)
        existing.add(idOf(name)) // as its start would make it
      } catch (error) {
        assert.ok(error instanceof Crashed)
        machine.end(pid)
      }
    }
    const pids = Array.from({ length: takers }, (_, i) => i + 3)
    await turns.run(pids.map(life), choose)
    assert.ok(told.length <= 1, `all of ${told} were told that they have it`)
    if (crashPoint === undefined) assert.equal(told.length, 1, 'nobody got it')
    if (crashPoint !== undefined) machine.end(3)
    const now = readClaim(fs, path)
    if (told[0] !== undefined)
      assert.ok(typeof now === 'object' && now.generation === idOf(told[0]), 'its claim is gone')
    // Whoever comes later gets it, unless somebody has it: nothing a dead one left is in the way.
    for (const pid of pids) machine.end(pid)
    const late = claimPlaceOf({ ...mailbox, fs: fs.peer() }, machine, 9, existing)
    const answer = await claim(late, path, claimFile('late', runtimeOf(9)))
    assert.equal(answer.outcome, told.length === 0 ? 'claimed' : 'taken')
  })
}

describe('takers of one stale claim', () => {
  it('have one winner in any order of their steps, and never remove a fresh claim', async () => {
    const two = await everyTakeover(2, undefined)
    console.log(`# claim: ${two} interleavings of two takers`)
    assert.ok(two > 50)
  })

  it('leave it to the others when one of them dies at any point', async () => {
    const alone = memoryMailbox()
    const machine = new Machine()
    await alone.fs.createSynced(claimPathIn(alone), encode(claimFile('old', runtimeOf(2))))
    machine.end(2)
    const before = alone.fs.operations
    await claim(claimPlaceOf(alone, machine, 3), claimPathIn(alone), claimFile('new', runtimeOf(3)))
    const points = alone.fs.operations - before
    assert.ok(points > 10)
    let runs = 0
    for (let point = 0; point <= points; point++) runs += await everyTakeover(2, point)
    console.log(
      `# claim: ${runs} interleavings of two takers, one of them dying at ${points} points`,
    )
  })
})

describe('a stale claim', () => {
  it('that became a fresh one at the last moment stays', async () => {
    const mailbox = memoryMailbox()
    const { fs } = mailbox
    const machine = new Machine()
    const path = claimPathIn(mailbox)
    await fs.createSynced(path, encode(claimFile('old', runtimeOf(2))))
    machine.end(2)
    const fresh = claimFile('fresh', runtimeOf(4))
    // Between the look at the claim and the look at the lease, another process took it over from end to end.
    let isFresh = false
    const list = (listed: string): readonly string[] | undefined => {
      if (listed === mailbox.quarantine && !isFresh) {
        isFresh = true
        fs.plant(path, 'file', encode(fresh))
      }
      return fs.list(listed)
    }
    const place = claimPlaceOf({ ...mailbox, fs: withCalls(fs, { list }) }, machine, 3)
    assert.deepEqual(await claim(place, path, claimFile('new', runtimeOf(3))), takenBy(fresh))
    assert.deepEqual(readClaim(fs, path), fresh)
  })

  it('is taken away under the lease alone, also when one process takes two at once', async () => {
    const runs = await everyChoice(async (choose) => {
      const mailbox = memoryMailbox()
      const { fs, records } = mailbox
      const machine = new Machine()
      const turns = new Turns()
      const paths = [`${records}/a`, `${records}/b`]
      for (const path of paths) await fs.createSynced(path, encode(claimFile('old', runtimeOf(2))))
      machine.end(2)
      const life = async (path: string, i: number): Promise<void> => {
        const process = fs.peer()
        const remove = (removed: string): 'removed' | 'absent' => {
          if (removed === path) assertMayTakeAway(mailbox, 3)
          return process.remove(removed)
        }
        const seen = turns.of(String(i), withCalls(process, { remove }))
        const ids = countingIds(`i${i}x`)
        const place = { ...claimPlaceOf({ ...mailbox, fs: seen }, machine, 3), ids }
        await claim(place, path, claimFile(`g${i}x`, runtimeOf(3)))
      }
      await turns.run(paths.map(life), choose)
    })
    console.log(`# claim: ${runs} interleavings of one process that takes two`)
  })
})

describe('a claim that fails', () => {
  it('can be given back, whatever failed, and is free then', async () => {
    for (const isStale of [false, true]) {
      const script = async (fail: number | undefined): Promise<number> => {
        const mailbox = memoryMailbox()
        const { fs } = mailbox
        const machine = new Machine()
        const path = claimPathIn(mailbox)
        if (isStale) await fs.createSynced(path, encode(claimFile('old', runtimeOf(2))))
        machine.end(2)
        const before = fs.operations
        if (fail !== undefined) fs.failAt(before + fail, 'EIO', 'once')
        const answer = claim(claimPlaceOf(mailbox, machine, 3), path, claimFile('a', runtimeOf(3)))
        if (fail === undefined) assert.deepEqual(await answer, claimed)
        else await answer.catch((error) => assert.ok(error instanceof MailboxError, String(error)))
        const points = fs.operations - before
        unclaim(fs, path, idOf('a'))
        machine.end(3)
        const next = claim(claimPlaceOf(mailbox, machine, 4), path, claimFile('b', runtimeOf(4)))
        assert.deepEqual(await next, claimed)
        return points
      }
      const points = await script(undefined)
      for (let point = 0; point < points; point++) await script(point)
    }
  })
})
