import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { admit, afterPowerLoss, coded, f, mailbox, shown } from './small-disk.ts'

describe('a power cut in memory', () => {
  it('loses or tears what was written and renamed without a sync', () => {
    const fs = mailbox()
    void fs.createSynced('/m/in/draft', f)
    fs.rename('/m/in/draft', '/m/in/f')
    assert.deepEqual(
      afterPowerLoss(fs),
      ['', 'in/draft=', 'in/draft=12', 'in/draft=1234'].concat('in/f=', 'in/f=12', 'in/f=1234'),
    )
  })

  it('loses a rename whose directory was not synced', async () => {
    const fs = mailbox()
    await fs.createSynced('/m/in/draft', f)
    await fs.syncDirectory('/m/in')
    fs.rename('/m/in/draft', '/m/in/f')
    assert.deepEqual(afterPowerLoss(fs), ['in/draft=1234', 'in/f=1234'])
  })

  it('loses a link whose directory was not synced, and leaves the draft', async () => {
    const fs = mailbox()
    await fs.createSynced('/m/drafts/f', f)
    await fs.syncDirectory('/m/drafts')
    fs.link('/m/drafts/f', '/m/in/f')
    assert.deepEqual(afterPowerLoss(fs), ['drafts/f=1234', 'drafts/f=1234 in/f=1234'])
  })

  it('leaves a durable name without bytes where only the file was not synced', async () => {
    const fs = mailbox()
    const created = fs.createSynced('/m/drafts/f', f)
    fs.link('/m/drafts/f', '/m/in/f')
    fs.failAt(fs.operations, 'EIO', 'once')
    await assert.rejects(created, coded('DROVER_MAILBOX_IO'))
    await fs.syncDirectory('/m/drafts')
    await fs.syncDirectory('/m/in')
    assert.deepEqual(afterPowerLoss(fs), ['in/f=', 'in/f=12', 'in/f=1234'])
  })

  it('leaves all of a file that was synced, linked and synced by name', async () => {
    const fs = mailbox()
    await admit(fs)
    assert.deepEqual(afterPowerLoss(fs), ['drafts/f=1234 in/f=1234', 'in/f=1234'])
  })

  it('brings back a name whose removal was not synced', async () => {
    const fs = mailbox()
    await admit(fs)
    fs.syncAll()
    fs.remove('/m/in/f')
    assert.deepEqual(afterPowerLoss(fs), ['', 'in/f=1234'])
    await fs.syncDirectory('/m/in')
    assert.deepEqual(afterPowerLoss(fs), [''])
  })

  it('undoes a move across directories until both are synced, and never in part', async () => {
    for (const [first, second] of [
      ['/m/drafts', '/m/in'],
      ['/m/in', '/m/drafts'],
    ] as const) {
      const fs = mailbox()
      await fs.createSynced('/m/drafts/f', f)
      fs.syncAll()
      fs.rename('/m/drafts/f', '/m/in/f')
      await fs.syncDirectory(first)
      assert.deepEqual(afterPowerLoss(fs), ['drafts/f=1234', 'in/f=1234'])
      await fs.syncDirectory(second)
      assert.deepEqual(afterPowerLoss(fs), ['in/f=1234'])
    }
  })

  it('gives a directory that was moved twice one place', () => {
    const fs = mailbox()
    fs.makeDirectory('/m/drafts/d')
    fs.plant('/m/drafts/d/f', 'file', f)
    fs.syncAll()
    fs.rename('/m/drafts/d', '/m/in/d')
    fs.rename('/m/in/d', '/m/d')
    assert.deepEqual(afterPowerLoss(fs), ['d/f=1234', 'drafts/d/f=1234', 'in/d/f=1234'])
  })

  it('makes a move durable with the one it is built on', async () => {
    const fs = mailbox()
    await fs.createSynced('/m/drafts/f', f)
    fs.syncAll()
    fs.rename('/m/drafts/f', '/m/in/f')
    fs.rename('/m/in/f', '/m/in/g')
    await fs.syncDirectory('/m/in')
    assert.deepEqual(afterPowerLoss(fs), ['in/g=1234'])
  })

  it('takes all below a directory whose making it dropped', async () => {
    const fs = mailbox()
    fs.makeDirectory('/m/in/d')
    await fs.createSynced('/m/in/d/f', f)
    await fs.syncDirectory('/m/in/d')
    assert.deepEqual(afterPowerLoss(fs), ['', 'in/d/f=1234'])
  })

  it('brings nothing back from a tree whose own removal is durable', async () => {
    const fs = mailbox()
    for (const path of ['/m/in/d', '/m/in/d/e']) fs.makeDirectory(path)
    await fs.createSynced('/m/in/d/e/f', f)
    fs.syncAll()
    fs.removeTree('/m/in/d')
    assert.deepEqual(afterPowerLoss(fs), ['', '', '', 'in/d/e/f=1234']) // `d` and `e` stay, `d` stays, all, none
    await fs.syncDirectory('/m/in')
    assert.equal(fs.powerLossStateCount, 1)
    assert.deepEqual(afterPowerLoss(fs), [''])
  })

  it('drops what was named after a sync began', async () => {
    const fs = mailbox()
    const synced = fs.syncDirectory('/m/in')
    fs.makeDirectory('/m/in/d')
    await synced
    assert.equal(fs.powerLossStateCount, 2)
  })

  it('leaves names of one file the names of one file', async () => {
    const fs = mailbox()
    await fs.createSynced('/m/drafts/f', f)
    fs.link('/m/drafts/f', '/m/in/f')
    const [survivor] = fs.afterPowerLoss()
    survivor?.rename('/m/drafts/f', '/m/in/f') // nothing happens between two names of one file
    assert.deepEqual(survivor && shown(survivor), 'drafts/f=1234 in/f=1234')
  })

  it('changes nothing on a disk where all is durable', async () => {
    const fs = mailbox()
    void fs.createSynced('/m/in/f', f)
    fs.syncAll()
    assert.equal(fs.powerLossStateCount, 1)
    assert.deepEqual(afterPowerLoss(fs), ['in/f=1234'])
    for (const survivor of fs.afterPowerLoss()) assert.equal(survivor.powerLossStateCount, 1)
  })

  it('has each state once, the one that lost nothing first, and the same ones every time', () => {
    const fs = mailbox()
    void fs.createSynced('/m/in/f', f)
    fs.link('/m/in/f', '/m/in/g')
    assert.equal(fs.powerLossStateCount, 12)
    const states = [...fs.afterPowerLoss()].map(shown)
    assert.equal(states[0], 'in/f=1234 in/g=1234')
    assert.equal(new Set(states).size, states.length)
    assert.equal(states.length, 10) // without a name it does not matter which bytes there were
    assert.deepEqual([...fs.afterPowerLoss()].map(shown), states)
  })

  it('may be looked at while the disk goes on', () => {
    const fs = mailbox()
    fs.makeDirectory('/m/in/d')
    const states = fs.afterPowerLoss()
    fs.makeDirectory('/m/in/e')
    for (const survivor of states) {
      fs.makeDirectory(`/m/in/${fs.operations}`)
      assert.ok(survivor.list('/m/in')?.every((name) => name === 'd'))
      survivor.makeDirectory('/m/in/mine')
    }
    assert.equal(fs.entry('/m/in/mine'), undefined)
  })

  it('can be sampled: every state is one of the picks', () => {
    const fs = mailbox()
    void fs.createSynced('/m/in/f', f)
    const states = new Set<string>()
    for (let seed = 0; seed < 6; seed++) {
      let rest = seed
      const survivor = fs.samplePowerLoss((choices) => {
        const picked = rest % choices
        rest = (rest - picked) / choices
        return picked
      })
      states.add(shown(survivor))
    }
    assert.deepEqual([...states].sort(), afterPowerLoss(fs))
  })
})
