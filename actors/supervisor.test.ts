import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Child, Restart } from './supervisor.ts'
import { ChildWorld, exits, hasExited, settle } from './testing/child-world.ts'

describe('restart type x exit reason', () => {
  const grid: readonly [
    Restart,
    keyof typeof exits,
    'restarted' | 'kept, stopped' | 'forgotten',
  ][] = [
    ['permanent', 'normal', 'restarted'],
    ['permanent', 'shutdown', 'restarted'],
    ['permanent', 'failure', 'restarted'],
    ['transient', 'normal', 'kept, stopped'],
    ['transient', 'shutdown', 'kept, stopped'],
    ['transient', 'failure', 'restarted'],
    ['temporary', 'normal', 'forgotten'],
    ['temporary', 'shutdown', 'forgotten'],
    ['temporary', 'failure', 'forgotten'],
  ]
  for (const [restart, reason, outcome] of grid) {
    it(`a ${restart} child that exits with ${reason} is ${outcome}`, async () => {
      const world = new ChildWorld()
      const supervisor = await world.supervise([world.child('a', restart)])
      await world.exit('a', exits[reason])
      const state = supervisor.children()[0]?.state
      assert.deepEqual(world.take(), outcome === 'restarted' ? ['+a', '+a'] : ['+a'])
      const states = { restarted: 'running', 'kept, stopped': 'stopped', forgotten: undefined }
      assert.equal(state, states[outcome])
    })

    it(`a ${restart} child that exits with ${reason} counts ${outcome === 'restarted' ? 'once' : 'not at all'} against the intensity`, async () => {
      const world = new ChildWorld()
      const supervisor = await world.supervise([world.child('a', restart)], { intensity: 0 })
      await world.exit('a', exits[reason])
      assert.equal(await hasExited(supervisor), outcome === 'restarted')
    })
  }
})

describe('strategy x place of the fallen child', () => {
  const grid = [
    ['one_for_one', 'a', ['+a']],
    ['one_for_one', 'b', ['+b']],
    ['one_for_one', 'c', ['+c']],
    ['one_for_all', 'a', ['-c', '-b', '+a', '+b', '+c']],
    ['one_for_all', 'b', ['-c', '-a', '+a', '+b', '+c']],
    ['one_for_all', 'c', ['-b', '-a', '+a', '+b', '+c']],
    ['rest_for_one', 'a', ['-c', '-b', '+a', '+b', '+c']],
    ['rest_for_one', 'b', ['-c', '+b', '+c']],
    ['rest_for_one', 'c', ['+c']],
  ] as const
  for (const [strategy, fallen, events] of grid) {
    it(`${strategy} answers the failure of ${fallen} with ${events.join(' ')}`, async () => {
      const world = new ChildWorld()
      await world.supervise(world.children('a', 'b', 'c'), { strategy })
      world.take()
      await world.exit(fallen, exits.failure)
      assert.deepEqual(world.take(), events)
    })
  }

  it('one_for_all does not bring back a temporary child, and brings back a transient one that had ended', async () => {
    const world = new ChildWorld()
    const children = [
      world.child('a', 'permanent'),
      world.child('b', 'temporary'),
      world.child('c', 'transient'),
    ]
    const supervisor = await world.supervise(children, { strategy: 'one_for_all' })
    await world.exit('c', exits.normal)
    world.take()
    await world.exit('a', exits.failure)
    assert.deepEqual(world.take(), ['-b', '+a', '+c'])
    assert.deepEqual(
      supervisor.children().map(({ id }) => id),
      ['a', 'c'],
    )
  })

  it('a restarted child keeps its place in the order', async () => {
    const world = new ChildWorld()
    const supervisor = await world.supervise(world.children('a', 'b'))
    await world.exit('a', exits.failure)
    world.take()
    await supervisor.stop()
    assert.deepEqual(world.take(), ['-b', '-a'])
  })
})

describe('intensity', () => {
  it('is one restart in five seconds unless said otherwise', async () => {
    const world = new ChildWorld()
    const supervisor = await world.supervise([world.child('a')])
    await world.exit('a', exits.failure)
    world.nowMs += 5_001
    await world.exit('a', exits.failure)
    assert.equal(await hasExited(supervisor), false)
    world.nowMs += 5_000
    await world.exit('a', exits.failure)
    assert.equal(await hasExited(supervisor), true)
  })

  it('counts the restarts of all children together', async () => {
    const world = new ChildWorld()
    const supervisor = await world.supervise(world.children('a', 'b', 'c'), { intensity: 2 })
    await world.exit('a', exits.failure)
    await world.exit('b', exits.failure)
    assert.equal(await hasExited(supervisor), false)
    await world.exit('c', exits.failure)
    assert.equal(await hasExited(supervisor), true)
  })

  it('counts one restart when a whole group is restarted', async () => {
    const world = new ChildWorld()
    const options = { strategy: 'one_for_all', intensity: 1 } as const
    const supervisor = await world.supervise(world.children('a', 'b', 'c'), options)
    await world.exit('a', exits.failure)
    assert.equal(await hasExited(supervisor), false)
  })

  it('when exceeded stops the other children in reverse and exits with shutdown', async () => {
    const world = new ChildWorld()
    const supervisor = await world.supervise(world.children('a', 'b', 'c'), { intensity: 0 })
    world.take()
    await world.exit('b', exits.failure)
    assert.deepEqual(world.take(), ['-c', '-a'])
    assert.deepEqual(await supervisor.exited, { reason: 'shutdown' })
    assert.deepEqual(supervisor.children(), [])
  })

  it('counts each attempt of a restart whose start fails, and then gives up', async () => {
    const world = new ChildWorld()
    const supervisor = await world.supervise([world.child('a')], { intensity: 3 })
    world.take()
    world.failStarts('a', 10)
    await world.exit('a', exits.failure)
    assert.deepEqual(world.take(), ['!a', '!a', '!a'])
    assert.equal(await hasExited(supervisor), true)
  })

  it('lets a restart succeed on a later attempt', async () => {
    const world = new ChildWorld()
    const supervisor = await world.supervise([world.child('a')], { intensity: 3 })
    world.take()
    world.failStarts('a', 2)
    await world.exit('a', exits.failure)
    assert.deepEqual(world.take(), ['!a', '!a', '+a'])
    assert.equal(supervisor.children()[0]?.state, 'running')
  })

  it('retries a group from the child that did not start', async () => {
    const world = new ChildWorld()
    const options = { strategy: 'rest_for_one', intensity: 3 } as const
    await world.supervise(world.children('a', 'b', 'c'), options)
    world.take()
    world.failStarts('b', 1)
    await world.exit('a', exits.failure)
    assert.deepEqual(world.take(), ['-c', '-b', '+a', '!b', '+b', '+c'])
  })
})

describe('escalation', () => {
  for (const [restart, isRestarted] of [
    ['permanent', true],
    ['transient', false],
    ['temporary', false],
  ] as const) {
    const outcome = isRestarted ? 'is restarted with its children' : 'stays down'
    it(`a ${restart} supervisor that gave up ${outcome}`, async () => {
      const world = new ChildWorld()
      const outer = await world.supervise([
        world.nested('inner', restart, world.children('a', 'b')),
      ])
      world.take()
      await world.exit('a', exits.failure)
      assert.deepEqual(world.take(), isRestarted ? ['-b', '+a', '+b'] : ['-b'])
      assert.equal(await hasExited(outer), false)
    })
  }

  it('reaches the top when no level can help', async () => {
    const world = new ChildWorld()
    const inner = world.nested('inner', 'permanent', world.children('a'))
    const outer = await world.supervise([world.child('x'), inner, world.child('y')])
    world.take()
    await world.exit('a', exits.failure)
    assert.deepEqual(world.take(), ['+a'])
    await world.exit('a', exits.failure)
    assert.deepEqual(world.take(), ['-y', '-x'])
    assert.deepEqual(await outer.exited, { reason: 'shutdown' })
  })

  it('does not happen when a supervisor is stopped by its own', async () => {
    const world = new ChildWorld()
    const outer = await world.supervise([
      world.nested('inner', 'permanent', world.children('a', 'b')),
    ])
    world.take()
    await outer.stop()
    assert.deepEqual(world.take(), ['-b', '-a'])
  })
})

describe('start and stop', () => {
  it('start in order, one after the other, and stop in reverse', async () => {
    const world = new ChildWorld()
    const supervisor = await world.supervise(world.children('a', 'b', 'c'))
    await supervisor.stop()
    assert.deepEqual(world.take(), ['+a', '+b', '+c', '-c', '-b', '-a'])
    assert.deepEqual(await supervisor.exited, { reason: 'shutdown' })
    await supervisor.stop()
  })

  it('a start that fails stops those before it in reverse and is thrown', async () => {
    const world = new ChildWorld()
    world.failStarts('c', 1)
    await assert.rejects(world.supervise(world.children('a', 'b', 'c', 'd')), /c did not start/)
    assert.deepEqual(world.take(), ['+a', '+b', '!c', '-b', '-a'])
  })

  it('a child that does not stop is reported, and the others are stopped all the same', async () => {
    const world = new ChildWorld()
    const stubborn: Child = { exited: new Promise(() => {}), stop: () => Promise.reject('stuck') }
    const children = [
      world.child('a'),
      { id: 'b', restart: 'permanent' as const, start: () => stubborn },
    ]
    const supervisor = await world.supervise(children)
    await supervisor.stop()
    assert.deepEqual(world.take(), ['+a', '-a'])
    assert.deepEqual(world.reports, ['b stop'])
  })

  it('failures of every kind are reported, other exits are not', async () => {
    const world = new ChildWorld()
    await world.supervise([world.child('a')], { intensity: 9 })
    await world.exit('a', exits.normal)
    assert.deepEqual(world.reports, [])
    world.failStarts('a', 1)
    await world.exit('a', exits.failure)
    assert.deepEqual(world.reports, ['a run', 'a start'])
  })

  it('an exit promise that rejects is a failure', async () => {
    const world = new ChildWorld()
    const start = () => ({ exited: Promise.reject(new Error('odd')), stop: async () => {} })
    const supervisor = await world.supervise([{ id: 'a', restart: 'temporary', start }])
    await settle()
    assert.deepEqual(world.reports, ['a run'])
    assert.deepEqual(supervisor.children(), [])
  })
})
