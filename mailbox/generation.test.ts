import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { claim, readClaim } from './claim.ts'
import { decodeOwnerRecord } from './codec.ts'
import { MailboxError, type MailboxErrorCode } from './errors.ts'
import {
  createGeneration,
  finishSettled,
  generationExists,
  labelClaimPath,
  publishReady,
  readGeneration,
  readReady,
  settleGeneration,
  sweepStarting,
} from './generation.ts'
import { Journal } from './journal.ts'
import {
  type GenerationPaths,
  generationPaths,
  type OwnerPaths,
  ownerPaths,
  ownNames,
  prepareOwner,
  prepareRoot,
  type RootPaths,
  rootPaths,
  sessionClaimPath,
} from './layout.ts'
import type { MailboxFs } from './ports.ts'
import type { OwnerRecord } from './record.ts'
import {
  backends,
  claimFile,
  countingIds,
  generationFile,
  identity,
  idOf,
  Machine,
  processOf,
  readyFile,
  runtimeOf,
  task,
  withCalls,
} from './testing/builders.ts'
import { Crashed, MemoryFs } from './testing/memory-fs.ts'

const file = generationFile()
const { generation } = file.identity

interface House {
  readonly fs: MailboxFs
  readonly root: RootPaths
  readonly owner: OwnerPaths
  readonly paths: GenerationPaths
}

function houseAt(fs: MailboxFs, agentDirectory: string): House {
  const root = rootPaths(agentDirectory)
  const owner = ownerPaths(root, file.identity.owner)
  prepareRoot(fs, root)
  prepareOwner(fs, owner)
  return { fs, root, owner, paths: generationPaths(owner.directory, generation) }
}

/** A house in memory, all of it durable. */
function memoryHouse(): House & { readonly fs: MemoryFs } {
  const fs = new MemoryFs()
  fs.makeDirectory('/agent')
  const house = houseAt(fs, '/agent')
  fs.syncAll()
  return { ...house, fs: fs.peer() }
}

const start = ({ fs, owner }: House): Promise<void> =>
  createGeneration(fs, owner, file, task('task'))

function recordsOf({ fs }: House, paths: GenerationPaths): readonly OwnerRecord[] {
  const { records, quarantined } = new Journal<OwnerRecord>({
    fs,
    ids: countingIds(),
    directory: paths.owner,
    quarantine: paths.quarantine,
    untrusted: 'leave',
    identity: identity(),
    decode: decodeOwnerRecord,
  }).scan()
  assert.deepEqual(quarantined, [])
  return records
}

/** A generation is whole, or there is none. */
function judge(house: House): 'whole' | 'none' {
  const { fs, owner, paths } = house
  if (fs.entry(paths.directory) === undefined) {
    assert.deepEqual(ownNames(fs, owner.directory), [])
    return 'none'
  }
  assert.deepEqual(readGeneration(fs, paths), file)
  assert.deepEqual(recordsOf(house, paths), [task('task')])
  for (const directory of [
    paths.agent,
    paths.ownerDrafts,
    paths.agentDrafts,
    paths.activity,
    paths.quarantine,
  ])
    assert.equal(fs.entry(directory), 'directory', directory)
  return 'whole'
}

const coded =
  (...codes: MailboxErrorCode[]) =>
  (error: unknown): boolean =>
    error instanceof MailboxError && codes.includes(error.code)

/** Claims label and session for the generation, as its start does. */
async function claimBoth({ fs, root, owner }: House): Promise<void> {
  const place = {
    fs,
    ids: countingIds('c'),
    processes: new Machine().seenBy(1),
    drafts: owner.drafts,
    takeover: root.takeover,
    exists: () => true,
  }
  const { session } = file.identity
  for (const path of [labelClaimPath(root, file), sessionClaimPath(root, session)])
    assert.equal((await claim(place, path, claimFile('generation'))).outcome, 'claimed')
}

for (const backend of backends) {
  const open = (): House => {
    const { fs, root } = backend.open()
    return houseAt(fs, root)
  }

  describe(`a generation on ${backend.name}`, () => {
    it('is there whole, with its task, once its start is admitted', async () => {
      const house = open()
      assert.equal(readGeneration(house.fs, house.paths), 'absent')
      await start(house)
      assert.equal(judge(house), 'whole')
      assert.deepEqual(ownNames(house.fs, house.owner.directory), [generation])
      assert.deepEqual(house.fs.list(house.owner.starting), [])
    })

    it('exists on its way in, in its place and on its way out', async () => {
      const { fs, owner, root } = open()
      const exists = (): boolean => generationExists(fs, owner, generation)
      assert.equal(exists(), false)
      fs.makeDirectory(`${owner.starting}/${generation}`)
      assert.equal(exists(), true)
      sweepStarting(fs, owner)
      assert.equal(exists(), false)
      await createGeneration(fs, owner, file, task('task'))
      assert.equal(exists(), true)
      await settleGeneration(fs, owner, generation)
      assert.equal(exists(), true)
      finishSettled(fs, root, owner)
      assert.equal(exists(), false)
    })

    it('is swept while it is half built, and only then', async () => {
      const house = open()
      const { fs, owner } = house
      await start(house)
      fs.makeDirectory(`${owner.starting}/${idOf('half')}`)
      await fs.createSynced(`${owner.starting}/${idOf('half')}/x`, Buffer.from('x'))
      await fs.createSynced(`${owner.drafts}/x`, Buffer.from('x'))
      sweepStarting(fs, owner)
      assert.deepEqual(fs.list(owner.starting), [])
      assert.deepEqual(fs.list(owner.drafts), [])
      assert.equal(judge(house), 'whole')
    })

    it('that is there already is not replaced', async () => {
      const house = open()
      await start(house)
      await assert.rejects(start(house), MailboxError)
      assert.equal(judge(house), 'whole')
      assert.deepEqual(house.fs.list(house.owner.starting), [])
    })

    it('leaves by one move, and settling again does no harm', async () => {
      const house = open()
      const { fs, owner } = house
      await start(house)
      await settleGeneration(fs, owner, generation)
      assert.equal(judge(house), 'none')
      assert.deepEqual(fs.list(owner.settled), [generation])
      await settleGeneration(fs, owner, generation)
      assert.deepEqual(fs.list(owner.settled), [generation])
      await settleGeneration(fs, owner, idOf('never')) // nor does settling what never was
    })

    it('gives up its claims when it is finished, and nobody else’s', async () => {
      const house = open()
      const { fs, root, owner } = house
      await claimBoth(house)
      await start(house)
      const other = `${ownerPaths(root, file.root).labels}/other`
      const place = {
        fs,
        ids: countingIds('d'),
        processes: new Machine().seenBy(1),
        drafts: owner.drafts,
        takeover: root.takeover,
        exists: () => true,
      }
      await claim(place, other, claimFile('other'))
      await settleGeneration(fs, owner, generation)
      for (let i = 0; i < 2; i++) {
        finishSettled(fs, root, owner)
        assert.deepEqual(fs.list(owner.settled), [])
        assert.equal(readClaim(fs, labelClaimPath(root, file)), 'absent')
        assert.equal(readClaim(fs, sessionClaimPath(root, file.identity.session)), 'absent')
        assert.deepEqual(readClaim(fs, other), claimFile('other'))
      }
    })

    it('leaves claims of the same names to the generation that has them now', async () => {
      const house = open()
      const { fs, root, owner } = house
      await claimBoth(house)
      const successor = idOf('successor')
      await createGeneration(fs, owner, generationFile({ generation: successor }), task('task'))
      await settleGeneration(fs, owner, successor)
      finishSettled(fs, root, owner)
      assert.deepEqual(readClaim(fs, labelClaimPath(root, file)), claimFile('generation'))
    })

    it('is removed even when nobody can read any more what it was', async () => {
      const { fs, root, owner } = open()
      const settled = generationPaths(owner.settled, generation)
      fs.makeDirectory(settled.directory)
      await fs.createSynced(settled.file, Buffer.from('{"half":'))
      assert.equal(readGeneration(fs, settled), 'unreadable')
      finishSettled(fs, root, owner)
      assert.deepEqual(fs.list(owner.settled), [])
    })

    it('is ready once: the first word stands', async () => {
      const house = open()
      const { fs, paths } = house
      await start(house)
      assert.equal(readReady(fs, paths), 'absent')
      const publish = (pid: number): Promise<'published' | 'exists'> =>
        publishReady(fs, countingIds(`p${pid}x`), paths, readyFile(pid))
      const answers = await Promise.all([2, 3, 4].map(publish))
      assert.deepEqual(answers.toSorted(), ['exists', 'exists', 'published'])
      const winner = answers.indexOf('published') + 2
      assert.deepEqual(readReady(fs, paths), readyFile(winner))
      assert.equal(await publish(5), 'exists')
      assert.deepEqual(readReady(fs, paths), readyFile(winner))
      assert.deepEqual(fs.list(paths.agentDrafts), [])
    })

    it('cannot be made ready any more once it is settled', async () => {
      const house = open()
      const { fs, owner, paths } = house
      await start(house)
      await settleGeneration(fs, owner, generation)
      const late = publishReady(fs, countingIds(), paths, readyFile())
      await assert.rejects(late, coded('DROVER_MAILBOX_GONE'))
    })
  })
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
          fs: survivor,
          ids: countingIds('n'),
          processes: new Machine('next').seenBy(1),
          drafts: house.owner.drafts,
          takeover: house.root.takeover,
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
