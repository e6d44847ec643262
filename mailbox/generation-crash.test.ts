import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { claim, readClaim } from './claim.ts'
import { MailboxError } from './errors.ts'
import {
  finishSettled,
  generationExists,
  labelClaimPath,
  publishReady,
  readReady,
  settleGeneration,
  sweepStarting,
} from './generation.ts'
import { sessionClaimPath } from './layout.ts'
import type { MailboxFs } from './ports.ts'
import {
  claimFile,
  countingIds,
  Machine,
  processOf,
  readyFile,
  runtimeOf,
  withCalls,
} from './testing/builders.ts'
import {
  claimBoth,
  claimPlace,
  coded,
  file,
  generation,
  type House,
  houseAt,
  judge,
  start,
} from './testing/generation-house.ts'
import { Crashed, MemoryFs } from './testing/memory-fs.ts'

/** A house in memory, all of it durable. */
function memoryHouse(): House & { readonly fs: MemoryFs } {
  const fs = new MemoryFs()
  fs.makeDirectory('/agent')
  const house = houseAt(fs, '/agent')
  fs.syncAll()
  return { ...house, fs: fs.peer() }
}

describe('a start that is cut short', () => {
  it('is all or nothing after a crash at any point', async () => {
    const complete = memoryHouse()
    await start(complete)
    const outcomes = new Set<string>()
    for (let point = 0; point < complete.fs.operations; point++) {
      const house = memoryHouse()
      house.fs.crashAt(point)
      await assert.rejects(start(house)) // a dead process tells nobody why
      const next = { ...house, fs: house.fs.crash() }
      outcomes.add(judge(next))
      sweepStarting(next.fs, next.owner)
      assert.deepEqual(next.fs.list(next.owner.starting), [])
      if (judge(next) === 'none') await start(next)
      assert.equal(judge(next), 'whole')
    }
    assert.deepEqual(outcomes, new Set(['none', 'whole']))
    console.log(`# generation: crashed at ${complete.fs.operations} points of a start`)
  })

  it('is nothing when it was refused, and may be whole only when its outcome is unknown', async () => {
    const complete = memoryHouse()
    await start(complete)
    for (const code of ['ENOSPC', 'EIO', 'EMFILE'] as const)
      for (const lasts of ['once', 'forever'] as const)
        for (let point = 0; point < complete.fs.operations; point++) {
          const house = memoryHouse()
          house.fs.failAt(point, code, lasts)
          const outcome = await start(house).then(
            () => 'started',
            (error: unknown) => {
              assert.ok(error instanceof MailboxError, String(error))
              return error.code
            },
          )
          house.fs.heal()
          if (outcome === 'started') assert.equal(judge(house), 'whole')
          else if (outcome !== 'DROVER_OUTCOME_UNKNOWN') assert.equal(judge(house), 'none')
          if (lasts === 'once') assert.deepEqual(house.fs.list(house.owner.starting), [])
          sweepStarting(house.fs, house.owner)
          if (judge(house) === 'none') await start(house)
          assert.equal(judge(house), 'whole')
        }
  })

  it('is unknown when the move happened although the machine says it failed', async () => {
    const house = memoryHouse()
    const rename: MailboxFs['rename'] = (from, to) => {
      house.fs.rename(from, to)
      throw new MailboxError('DROVER_MAILBOX_IO', 'report', `rename ${from} to ${to}: EIO`)
    }
    const started = start({ ...house, fs: withCalls(house.fs, { rename }) })
    await assert.rejects(started, coded('DROVER_OUTCOME_UNKNOWN'))
    assert.equal(judge(house), 'whole')
  })

  it('reports what failed first, not what failed while tidying up', async () => {
    const house = memoryHouse()
    house.fs.failAt(8, 'ENOSPC', 'once')
    const removeTree: MailboxFs['removeTree'] = (path) => {
      throw new MailboxError('DROVER_MAILBOX_IO', 'report', `remove ${path}: EIO`)
    }
    const started = start({ ...house, fs: withCalls(house.fs, { removeTree }) })
    await assert.rejects(started, coded('DROVER_MAILBOX_FULL'))
  })

  it('is all or nothing after a power cut at any point', async () => {
    const complete = memoryHouse()
    await start(complete)
    let states = 0
    for (let point = 0; point <= complete.fs.operations; point++) {
      const house = memoryHouse()
      house.fs.crashAt(point)
      const isAdmitted = await start(house).then(
        () => true,
        () => false,
      )
      for (const survivor of atMost(house.fs)) {
        states++
        const next = { ...house, fs: survivor }
        if (isAdmitted) assert.equal(judge(next), 'whole')
        else judge(next)
        sweepStarting(survivor, house.owner)
        assert.deepEqual(survivor.list(house.owner.starting), [])
      }
    }
    console.log(`# generation: ${states} states after a power cut during a start`)
  })

  it('survives every power cut once it is admitted, also the first one of a new owner', async () => {
    const fs = new MemoryFs()
    fs.makeDirectory('/agent')
    fs.syncAll()
    const house = houseAt(fs, '/agent')
    await start(house)
    let states = 0
    for (const survivor of fs.afterPowerLoss()) {
      states++
      assert.equal(judge({ ...house, fs: survivor }), 'whole')
    }
    console.log(`# generation: ${states} states after a power cut behind the first start`)
  })
})

describe('settling that is cut short', () => {
  async function settling(): Promise<House & { readonly fs: MemoryFs }> {
    const house = memoryHouse()
    await claimBoth(house)
    await start(house)
    house.fs.syncAll()
    return { ...house, fs: house.fs.peer() }
  }

  const settle = async ({ fs, root, owner }: House): Promise<void> => {
    await settleGeneration(fs, owner, generation)
    finishSettled(fs, root, owner)
  }

  function assertSettled({ fs, root, owner }: House): void {
    assert.equal(generationExists(fs, owner, generation), false)
    assert.equal(readClaim(fs, labelClaimPath(root, file)), 'absent')
    assert.equal(readClaim(fs, sessionClaimPath(root, file.identity.session)), 'absent')
  }

  it('is finished by the next life after a crash at any point', async () => {
    const complete = await settling()
    await settle(complete)
    assertSettled(complete)
    for (let point = 0; point < complete.fs.operations; point++) {
      const house = await settling()
      house.fs.crashAt(point)
      await assert.rejects(settle(house), Crashed)
      const next = { ...house, fs: house.fs.crash() }
      await settle(next)
      assertSettled(next)
    }
    console.log(`# generation: crashed at ${complete.fs.operations} points of settling`)
  })

  it('is finished by a second try after a fault at any point', async () => {
    const complete = await settling()
    await settle(complete)
    for (let point = 0; point < complete.fs.operations; point++) {
      const house = await settling()
      house.fs.failAt(point, 'EIO', 'once')
      await assert.rejects(settle(house), MailboxError)
      await settle(house)
      assertSettled(house)
    }
  })

  it('never brings a settled generation back to life, and never half of it', async () => {
    const complete = await settling()
    await settle(complete)
    let states = 0
    for (let point = 0; point <= complete.fs.operations; point++) {
      const house = await settling()
      house.fs.crashAt(point)
      let isSettled = false
      await settleGeneration(house.fs, house.owner, generation)
        .then(() => {
          isSettled = true
          finishSettled(house.fs, house.root, house.owner)
        })
        .catch((error) => assert.ok(error instanceof Crashed, String(error)))
      for (const survivor of atMost(house.fs)) {
        states++
        const next = { ...house, fs: survivor }
        if (isSettled) assert.equal(judge(next), 'none')
        else judge(next)
        await settle(next)
        assert.equal(generationExists(survivor, house.owner, generation), false)
        // Claims may have come back: their generation does not exist, and their claimer died with the power.
        const place = {
          ...claimPlace(next, 'n'),
          processes: new Machine('next').seenBy(1),
          exists: () => false,
        }
        const claimer = { process: processOf(1, { boot: 'next' }), nonce: runtimeOf(1).nonce }
        const path = labelClaimPath(house.root, file)
        const answer = await claim(place, path, claimFile('successor', claimer))
        assert.equal(answer.outcome, 'claimed')
      }
    }
    console.log(`# generation: ${states} states after a power cut while settling`)
  })
})

describe('ready that is cut short', () => {
  it('is whole or not there, and survives once it is told', async () => {
    const script = async (house: House): Promise<'published' | 'exists'> =>
      publishReady(house.fs, countingIds('r'), house.paths, readyFile())
    const prepared = async (): Promise<House & { readonly fs: MemoryFs }> => {
      const house = memoryHouse()
      await start(house)
      house.fs.syncAll()
      return { ...house, fs: house.fs.peer() }
    }
    const complete = await prepared()
    assert.equal(await script(complete), 'published')
    let states = 0
    for (let point = 0; point <= complete.fs.operations; point++) {
      const house = await prepared()
      house.fs.crashAt(point)
      const told = await script(house).catch(() => undefined)
      for (const survivor of house.fs.afterPowerLoss()) {
        states++
        const ready = readReady(survivor, house.paths)
        assert.ok(ready === 'absent' || typeof ready === 'object')
        if (told === 'published') assert.deepEqual(ready, readyFile())
      }
    }
    console.log(`# ready: ${complete.fs.operations} points, ${states} states`)
  })
})

/** All states after a power cut, or many of them where there are more than can be looked at. */
function* atMost(fs: MemoryFs): Generator<MemoryFs> {
  if (fs.powerLossStateCount <= 2_048) return yield* fs.afterPowerLoss()
  let state = 1
  const pick = (choices: number): number => {
    state = (state * 48_271) % 2_147_483_647 // the same picks in every run
    return state % choices
  }
  for (let i = 0; i < 256; i++) yield fs.samplePowerLoss(pick)
}
