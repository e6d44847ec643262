import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { after, describe, it } from 'node:test'
import { systemIds } from './clock.ts'
import { encode } from './codec.ts'
import { MailboxError } from './errors.ts'
import { hashedName } from './layout.ts'
import {
  holdsLease,
  type LeaseAnswer,
  type LeasePlace,
  leaseIn,
  readLease,
  releaseLease,
  takeLease,
} from './lease.ts'
import type { MailboxFs } from './ports.ts'
import type { LeaseFile, Runtime } from './record.ts'
import { startRuntime } from './runtime.ts'
import {
  backends,
  countingIds,
  everyChoice,
  leaseFile,
  Machine,
  type Mailbox,
  memoryMailbox,
  processOf,
  runtimeOf,
  Turns,
  withCalls,
} from './testing/builders.ts'
import { Crashed } from './testing/memory-fs.ts'

/** The lease of one mailbox as the process `pid` sees it. */
const placeOf = (
  { fs, records, drafts }: Mailbox,
  machine: Machine,
  pid: number,
  more: Partial<LeasePlace> = {},
): LeasePlace => ({
  fs,
  ids: countingIds(`p${pid}x`),
  processes: machine.seenBy(pid),
  directory: records,
  drafts,
  subject: 'owner-session',
  ...more,
})

const held = (number: number): LeaseAnswer => ({ outcome: 'held', number })
const elsewhere = (holder: Runtime): LeaseAnswer => ({ outcome: 'elsewhere', holder })

async function publish({ fs, records }: Mailbox, number: number, file: LeaseFile): Promise<void> {
  await fs.createSynced(`${records}/${number}`, encode(file))
}

for (const backend of backends) {
  describe(`a lease on ${backend.name}`, () => {
    it('goes to whoever comes first, and stays there', async () => {
      const mailbox = backend.open()
      const machine = new Machine()
      const [a, b] = [placeOf(mailbox, machine, 2), placeOf(mailbox, machine, 3)]
      assert.deepEqual(readLease(a), { number: 0 })
      assert.deepEqual(await takeLease(a, runtimeOf(2)), held(1))
      assert.deepEqual(await takeLease(b, runtimeOf(3)), elsewhere(runtimeOf(2)))
      assert.deepEqual(await takeLease(a, runtimeOf(2)), held(1)) // it has it already
      assert.deepEqual(readLease(b), { number: 1, holder: runtimeOf(2) })
      assert.equal(holdsLease(a, runtimeOf(2), 1), true)
      assert.equal(holdsLease(a, runtimeOf(2), 2), false)
      assert.equal(holdsLease(b, runtimeOf(3), 1), false)
      assert.deepEqual(mailbox.fs.list(mailbox.drafts), [])
    })

    it('is given back by its holder alone, and its number only rises', async () => {
      const mailbox = backend.open()
      const machine = new Machine()
      const [a, b] = [placeOf(mailbox, machine, 2), placeOf(mailbox, machine, 3)]
      let highest = 0
      for (const [place, runtime, other] of [
        [a, runtimeOf(2), runtimeOf(3)],
        [b, runtimeOf(3), runtimeOf(2)],
        [a, runtimeOf(2), runtimeOf(3)],
      ] as const) {
        const answer = await takeLease(place, runtime)
        assert.ok(answer.outcome === 'held' && answer.number > highest)
        highest = answer.number
        await releaseLease(place, other)
        assert.equal(holdsLease(place, runtime, highest), true)
        await releaseLease(place, runtime)
        assert.equal(holdsLease(place, runtime, highest), false)
        assert.ok(mailbox.fs.list(mailbox.records)?.length === 1, 'old numbers are pruned')
        await releaseLease(place, runtime) // twice does no harm
      }
    })

    it('is taken from a holder that is proven dead, and from no other', async () => {
      const mailbox = backend.open()
      const machine = new Machine()
      const [a, b] = [placeOf(mailbox, machine, 2), placeOf(mailbox, machine, 3)]
      await takeLease(a, runtimeOf(2))
      assert.deepEqual(await takeLease(b, runtimeOf(3)), elsewhere(runtimeOf(2)))
      machine.hide(2)
      assert.deepEqual(await takeLease(b, runtimeOf(3)), elsewhere(runtimeOf(2)))
      machine.end(2)
      assert.deepEqual(await takeLease(b, runtimeOf(3)), held(2))
      assert.equal(holdsLease(a, runtimeOf(2), 1), false)
      await releaseLease(a, runtimeOf(2)) // it wakes up: too late
      assert.equal(holdsLease(b, runtimeOf(3), 2), true)
    })

    it('is taken from a holder of another boot', async () => {
      const mailbox = backend.open()
      await takeLease(placeOf(mailbox, new Machine('before'), 2), {
        process: processOf(2, { boot: 'before' }),
        nonce: runtimeOf(2).nonce,
      })
      assert.deepEqual(await takeLease(placeOf(mailbox, new Machine(), 2), runtimeOf(4)), held(2))
    })

    it('is taken from a runtime of this very process that has ended', async () => {
      const mailbox = backend.open()
      const place = placeOf(mailbox, new Machine(), 2)
      const first = startRuntime(place.processes, systemIds)
      const second = startRuntime(place.processes, systemIds)
      assert.deepEqual(await takeLease(place, first.runtime), held(1))
      assert.deepEqual(await takeLease(place, second.runtime), elsewhere(first.runtime))
      first.end()
      assert.deepEqual(await takeLease(place, second.runtime), held(2))
      second.end()
    })

    it("is nobody's to take when its evidence cannot be read", async () => {
      const { name: _, open } = backend
      const hostile: readonly ((mailbox: Mailbox) => unknown)[] = [
        (m) => m.fs.createSynced(`${m.records}/7`, Buffer.from('{"half":')),
        (m) => m.fs.createSynced(`${m.records}/7`, Buffer.alloc(0)),
        (m) => m.fs.makeDirectory(`${m.records}/7`),
        (m) => publish(m, 7, leaseFile(undefined, 'another-session')),
        (m) => m.fs.createSynced(`${m.records}/99999999999999999999`, encode(leaseFile())),
        (m) => m.fs.createSynced(`${m.records}/${'9'.repeat(200)}`, encode(leaseFile())),
      ]
      for (const plant of hostile) {
        const mailbox = open()
        const machine = new Machine()
        const place = placeOf(mailbox, machine, 2)
        await takeLease(place, runtimeOf(2))
        await plant(mailbox)
        const before = mailbox.fs.list(mailbox.records)?.toSorted()
        machine.end(2)
        assert.equal(readLease(place), 'unreadable')
        assert.deepEqual(await takeLease(placeOf(mailbox, machine, 3), runtimeOf(3)), {
          outcome: 'unreadable',
        })
        assert.equal(holdsLease(place, runtimeOf(2), 1), false)
        await releaseLease(place, runtimeOf(2))
        assert.deepEqual(mailbox.fs.list(mailbox.records)?.toSorted(), before)
      }
    })

    it('takes no notice of names that are no numbers', async () => {
      const mailbox = backend.open()
      for (const name of ['01', '-1', '1e3', '1.5', '0', 'x', '1 ', ' 2'])
        await mailbox.fs.createSynced(`${mailbox.records}/${name}`, Buffer.from('?'))
      const place = placeOf(mailbox, new Machine(), 2)
      assert.deepEqual(readLease(place), { number: 0 })
      assert.deepEqual(await takeLease(place, runtimeOf(2)), held(1))
      assert.equal(mailbox.fs.list(mailbox.records)?.length, 9)
    })

    it("is read by its owner's directory alone, if that is the directory of the session it names", async () => {
      const mailbox = backend.open()
      const place = placeOf(mailbox, new Machine(), 2)
      const at = (session: string) => ({
        directory: `/mailboxes/${hashedName(session)}`,
        lease: mailbox.records,
      })
      assert.deepEqual(leaseIn(mailbox.fs, at('anybody')), { number: 0 })
      await takeLease(place, runtimeOf(2))
      const { subject } = place
      assert.deepEqual(leaseIn(mailbox.fs, at(subject)), {
        number: 1,
        subject,
        holder: runtimeOf(2),
      })
      assert.equal(leaseIn(mailbox.fs, at('another')), 'unreadable')
    })

    it('never reads a pruned number as free', async () => {
      const mailbox = backend.open()
      const machine = new Machine()
      const { fs, records } = mailbox
      await publish(mailbox, 1, leaseFile(runtimeOf(2)))
      let prunedNow = 0
      // Between the look into the directory and the look at the file, the next number came and this one went.
      const list = (path: string): readonly string[] | undefined => {
        const names = fs.list(path)
        if (prunedNow < 2) {
          prunedNow++
          fs.rename(`${records}/${prunedNow}`, `${records}/${prunedNow + 1}`)
        }
        return names
      }
      const place = placeOf({ ...mailbox, fs: withCalls(fs, { list }) }, machine, 3)
      assert.deepEqual(readLease(place), { number: 3, holder: runtimeOf(2) })
      prunedNow = -10
      const always: MailboxFs['read'] = () => ({ refusal: 'absent' })
      assert.equal(readLease({ ...place, fs: withCalls(fs, { read: always }) }), 'unreadable')
    })
  })
}

describe('a race for a lease in memory', () => {
  it('never has two holders, and its numbers only rise, in any order of their steps', async () => {
    const runs = await everyChoice(async (choose) => {
      const mailbox = memoryMailbox()
      const machine = new Machine()
      const turns = new Turns()
      const holders = new Set<number>()
      let highest = 0
      let takes = 0
      const life = async (pid: number, rounds: number): Promise<void> => {
        const runtime = runtimeOf(pid)
        const place = placeOf(mailbox, machine, pid, {
          fs: turns.of(String(pid), mailbox.fs.peer()),
        })
        for (let round = 0; round < rounds; round++) {
          const answer = await takeLease(place, runtime)
          if (answer.outcome !== 'held') continue
          takes++
          assert.deepEqual([...holders], [], `${pid} got what another one has`)
          assert.ok(answer.number > highest, `${answer.number} after ${highest}`)
          highest = answer.number
          holders.add(pid)
          await turns.pause(String(pid))
          assert.ok(holdsLease(place, runtime, answer.number))
          holders.delete(pid)
          await releaseLease(place, runtime)
        }
      }
      await turns.run([life(2, 2), life(3, 2)], choose)
      assert.ok(takes > 0)
    })
    console.log(`# lease: ${runs} interleavings of two runtimes`)
    assert.ok(runs > 100)
  })

  it('has one winner when its holder died, and a slow one cannot take an old number', async () => {
    const runs = await everyChoice(async (choose) => {
      const mailbox = memoryMailbox()
      const machine = new Machine()
      await takeLease(placeOf(mailbox, machine, 2), runtimeOf(2))
      machine.end(2)
      const turns = new Turns()
      const held: number[] = []
      const life = async (pid: number): Promise<void> => {
        const place = placeOf(mailbox, machine, pid, {
          fs: turns.of(String(pid), mailbox.fs.peer()),
        })
        const answer = await takeLease(place, runtimeOf(pid))
        if (answer.outcome !== 'held') return
        held.push(answer.number)
        if (pid === 3) await releaseLease(place, runtimeOf(pid)) // and its numbers are pruned
      }
      await turns.run([life(3), life(4), life(5)], choose)
      assert.deepEqual(held, [...new Set(held)].sort(), 'a number was taken twice, or fell')
      const now = readLease(placeOf(mailbox, machine, 9))
      assert.ok(now !== 'unreadable')
      assert.ok(held.every((number) => number <= now.number))
      assert.ok(held.filter((number) => number === now.number).length <= 1)
    })
    console.log(`# lease: ${runs} interleavings of three takers after a death`)
  })
})

describe('a lease whose taker dies or whose disk fails', () => {
  it('is free for the next one after a crash at any point, under a higher number', async () => {
    const script = async (place: LeasePlace, told: number[]): Promise<void> => {
      for (let round = 0; round < 2; round++) {
        const answer = await takeLease(place, runtimeOf(2))
        if (answer.outcome === 'held') told.push(answer.number)
        await releaseLease(place, runtimeOf(2))
      }
    }
    const complete = memoryMailbox()
    await script(placeOf(complete, new Machine(), 2), [])
    for (let point = 0; point <= complete.fs.operations; point++) {
      const mailbox = memoryMailbox()
      const machine = new Machine()
      const told: number[] = []
      mailbox.fs.crashAt(point)
      await script(placeOf(mailbox, machine, 2), told).catch(onlyCrashes)
      machine.end(2)
      const next = placeOf({ ...mailbox, fs: mailbox.fs.crash() }, machine, 3)
      const answer = await takeLease(next, runtimeOf(3))
      assert.ok(answer.outcome === 'held', `nobody can take it after a crash at ${point}`)
      assert.ok(told.every((number) => number < answer.number))
    }
    console.log(`# lease: crashed at ${complete.fs.operations} points of taking and giving back`)
  })

  it('is held in the end, after a fault at any point and a second try', async () => {
    const complete = memoryMailbox()
    await takeLease(placeOf(complete, new Machine(), 2), runtimeOf(2))
    for (let point = 0; point < complete.fs.operations; point++) {
      const mailbox = memoryMailbox()
      const place = placeOf(mailbox, new Machine(), 2)
      mailbox.fs.failAt(point, 'EIO', 'once')
      await takeLease(place, runtimeOf(2)).catch((error) => {
        assert.ok(error instanceof MailboxError, String(error))
      })
      const answer = await takeLease(place, runtimeOf(2))
      assert.ok(answer.outcome === 'held')
      assert.ok(holdsLease(place, runtimeOf(2), answer.number))
      // Held means durable, also when an earlier attempt made the link and failed to sync it.
      for (const survivor of mailbox.fs.afterPowerLoss())
        assert.deepEqual(readLease({ ...place, fs: survivor }), {
          number: answer.number,
          holder: runtimeOf(2),
        })
    }
  })
})

describe('a race for a lease on disk', () => {
  const children: ChildProcess[] = []
  after(() => {
    for (const child of children) child.kill('SIGKILL')
  })

  it('has exactly one winner of four processes, 50 times, and again when the winner is killed', async () => {
    const disk = backends.find(({ name }) => name === 'disk')
    assert.ok(disk)
    const { fs, root, drafts } = disk.open()
    const url = (file: string): string => JSON.stringify(new URL(file, import.meta.url).href)
    const script = `
      import { diskFs } from ${url('./disk-fs.ts')}
      import { systemIds } from ${url('./clock.ts')}
      import { takeLease } from ${url('./lease.ts')}
      import { systemProcesses } from ${url('./process-identity.ts')}
      import { startRuntime } from ${url('./runtime.ts')}
      const processes = systemProcesses()
      const { runtime } = startRuntime(processes, systemIds)
      const common = { fs: diskFs, ids: systemIds, processes, subject: 'race' }
      process.on('message', async (place) => process.send(await takeLease({ ...common, ...place }, runtime)))
      process.send('ready')`
    for (let i = 0; i < 4; i++)
      children.push(
        spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script], {
          stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
        }),
      )
    await Promise.all(children.map((child) => once(child, 'message')))

    const race = async (directory: string): Promise<readonly LeaseAnswer[]> => {
      const racing = children.map(async (child) => {
        const [answer] = await once(child, 'message')
        return answer as LeaseAnswer
      })
      for (const child of children) child.send({ directory, drafts })
      return Promise.all(racing)
    }
    const holders = new Map<string, ChildProcess>()
    for (let round = 0; round < 50; round++) {
      const directory = `${root}/lease-${round}`
      fs.makeDirectory(directory)
      const answers = await race(directory)
      const winners = children.filter((_, i) => answers[i]?.outcome === 'held')
      assert.equal(winners.length, 1, JSON.stringify(answers))
      holders.set(directory, winners[0] as ChildProcess)
    }
    const [dead] = children.splice(0, 1)
    assert.ok(dead)
    dead.kill('SIGKILL')
    await once(dead, 'exit')
    for (const [directory, holder] of holders) {
      const answers = await race(directory)
      const winners = children.filter((_, i) => answers[i]?.outcome === 'held')
      assert.equal(winners.length, 1, JSON.stringify(answers))
      if (holder !== dead) assert.equal(winners[0], holder)
      const [name] = fs.list(directory) ?? []
      assert.equal(name, holder === dead ? '2' : '1')
    }
  })
})

function onlyCrashes(error: unknown): void {
  if (!(error instanceof Crashed)) throw error
}
