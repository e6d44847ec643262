import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ActorError } from './errors.ts'
import { ChildWorld, exits, settle } from './testing/child-world.ts'

describe('at run time', () => {
  it('a child is added behind the others, and its id is then taken', async () => {
    const world = new ChildWorld()
    const supervisor = await world.supervise(world.children('a'))
    assert.equal(await supervisor.startChild(world.child('b')), 'started')
    assert.equal(await supervisor.startChild(world.child('a')), 'duplicate')
    await supervisor.stop()
    assert.deepEqual(world.take(), ['+a', '+b', '-b', '-a'])
  })

  it('a child that does not start is not kept, and disturbs no other', async () => {
    const world = new ChildWorld()
    const supervisor = await world.supervise(world.children('a'))
    world.failStarts('b', 1)
    await assert.rejects(supervisor.startChild(world.child('b')), /b did not start/)
    assert.deepEqual(supervisor.children(), [{ id: 'a', restart: 'permanent', state: 'running' }])
    assert.equal(await supervisor.startChild(world.child('b')), 'started')
  })

  it('a terminated child is not restarted, keeps its id, and can then be deleted', async () => {
    const world = new ChildWorld()
    const supervisor = await world.supervise(world.children('a', 'b'))
    world.take()
    assert.equal(await supervisor.deleteChild('a'), 'running')
    assert.equal(await supervisor.terminateChild('a'), 'terminated')
    await settle()
    assert.deepEqual(world.take(), ['-a'])
    assert.equal(await supervisor.startChild(world.child('a')), 'duplicate')
    assert.equal(await supervisor.deleteChild('a'), 'deleted')
    assert.equal(await supervisor.startChild(world.child('a')), 'started')
    assert.equal(await supervisor.terminateChild('c'), 'absent')
    assert.equal(await supervisor.deleteChild('c'), 'absent')
  })

  it('a terminated temporary child is forgotten', async () => {
    const world = new ChildWorld()
    const supervisor = await world.supervise([world.child('a', 'temporary')])
    assert.equal(await supervisor.terminateChild('a'), 'terminated')
    assert.equal(await supervisor.deleteChild('a'), 'absent')
  })

  it('terminating a child ends the attempts to restart it', async () => {
    const world = new ChildWorld()
    const supervisor = await world.supervise([world.child('a')], { intensity: 1_000 })
    world.take()
    world.failStarts('a', 1_000)
    let terminated: Promise<unknown> | undefined
    world.onFailedStart = () => {
      terminated ??= supervisor.terminateChild('a')
    }
    await world.exit('a', exits.failure)
    await terminated
    assert.deepEqual(world.take(), ['!a'])
    assert.deepEqual(supervisor.children(), [{ id: 'a', restart: 'permanent', state: 'stopped' }])
  })

  it('a stop gets its turn between two attempts of a restart', async () => {
    const world = new ChildWorld()
    const supervisor = await world.supervise(world.children('a', 'b'), { intensity: 1_000 })
    world.take()
    world.failStarts('a', 1)
    world.onFailedStart = () => void supervisor.stop()
    await world.exit('a', exits.failure)
    assert.deepEqual(world.take(), ['!a', '-b'])
    assert.deepEqual(world.alive(), [])
  })

  it('a stopped supervisor starts nothing', async () => {
    const world = new ChildWorld()
    const supervisor = await world.supervise([])
    await supervisor.stop()
    const refused = (error: unknown) =>
      error instanceof ActorError && error.code === 'DROVER_ACTOR_STOPPED'
    await assert.rejects(supervisor.startChild(world.child('a')), refused)
    assert.deepEqual(world.take(), [])
  })

  it('an exit and a stop at the same moment end in a stop', async () => {
    const world = new ChildWorld()
    const supervisor = await world.supervise(world.children('a', 'b'), { intensity: 9 })
    const exited = world.exit('a', exits.failure)
    await supervisor.stop()
    await exited
    assert.deepEqual(supervisor.children(), [])
    assert.deepEqual(world.alive(), [])
  })
})
