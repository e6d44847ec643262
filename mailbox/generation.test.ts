import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { claim, readClaim } from './claim.ts'
import { MailboxError } from './errors.ts'
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
import { generationPaths, ownerPaths, ownNames, sessionClaimPath } from './layout.ts'
import {
  backends,
  claimFile,
  countingIds,
  generationFile,
  idOf,
  readyFile,
  task,
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
      await claim(claimPlace(house, 'd'), other, claimFile('other'))
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
