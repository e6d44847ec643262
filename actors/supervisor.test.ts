import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Clock } from '../mailbox/index.ts'
import { ActorError } from './errors.ts'
import {
  type Child,
  type ChildSpec,
  type Exit,
  type Restart,
  Supervisor,
  type SupervisorOptions,
} from './supervisor.ts'

const exits = {
  normal: { reason: 'normal' },
  shutdown: { reason: 'shutdown' },
  failure: { reason: 'failure', error: new Error('broken') },
} as const satisfies Record<string, Exit>

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
      const world = new World()
      const supervisor = await world.supervise([world.child('a', restart)])
      await world.exit('a', exits[reason])
      const state = supervisor.children()[0]?.state
      assert.deepEqual(world.take(), outcome === 'restarted' ? ['+a', '+a'] : ['+a'])
      const states = { restarted: 'running', 'kept, stopped': 'stopped', forgotten: undefined }
      assert.equal(state, states[outcome])
    })

    it(`a ${restart} child that exits with ${reason} counts ${outcome === 'restarted' ? 'once' : 'not at all'} against the intensity`, async () => {
      const world = new World()
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
      const world = new World()
      await world.supervise(world.children('a', 'b', 'c'), { strategy })
      world.take()
      await world.exit(fallen, exits.failure)
      assert.deepEqual(world.take(), events)
    })
  }

  it('one_for_all does not bring back a temporary child, and brings back a transient one that had ended', async () => {
    const world = new World()
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
    const world = new World()
    const supervisor = await world.supervise(world.children('a', 'b'))
    await world.exit('a', exits.failure)
    world.take()
    await supervisor.stop()
    assert.deepEqual(world.take(), ['-b', '-a'])
  })
})

describe('intensity', () => {
  it('is one restart in five seconds unless said otherwise', async () => {
    const world = new World()
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
    const world = new World()
    const supervisor = await world.supervise(world.children('a', 'b', 'c'), { intensity: 2 })
    await world.exit('a', exits.failure)
    await world.exit('b', exits.failure)
    assert.equal(await hasExited(supervisor), false)
    await world.exit('c', exits.failure)
    assert.equal(await hasExited(supervisor), true)
  })

  it('counts one restart when a whole group is restarted', async () => {
    const world = new World()
    const options = { strategy: 'one_for_all', intensity: 1 } as const
    const supervisor = await world.supervise(world.children('a', 'b', 'c'), options)
    await world.exit('a', exits.failure)
    assert.equal(await hasExited(supervisor), false)
  })

  it('when exceeded stops the other children in reverse and exits with shutdown', async () => {
    const world = new World()
    const supervisor = await world.supervise(world.children('a', 'b', 'c'), { intensity: 0 })
    world.take()
    await world.exit('b', exits.failure)
    assert.deepEqual(world.take(), ['-c', '-a'])
    assert.deepEqual(await supervisor.exited, { reason: 'shutdown' })
    assert.deepEqual(supervisor.children(), [])
  })

  it('counts each attempt of a restart whose start fails, and then gives up', async () => {
    const world = new World()
    const supervisor = await world.supervise([world.child('a')], { intensity: 3 })
    world.take()
    world.failStarts('a', 10)
    await world.exit('a', exits.failure)
    assert.deepEqual(world.take(), ['!a', '!a', '!a'])
    assert.equal(await hasExited(supervisor), true)
  })

  it('lets a restart succeed on a later attempt', async () => {
    const world = new World()
    const supervisor = await world.supervise([world.child('a')], { intensity: 3 })
    world.take()
    world.failStarts('a', 2)
    await world.exit('a', exits.failure)
    assert.deepEqual(world.take(), ['!a', '!a', '+a'])
    assert.equal(supervisor.children()[0]?.state, 'running')
  })

  it('retries a group from the child that did not start', async () => {
    const world = new World()
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
      const world = new World()
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
    const world = new World()
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
    const world = new World()
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
    const world = new World()
    const supervisor = await world.supervise(world.children('a', 'b', 'c'))
    await supervisor.stop()
    assert.deepEqual(world.take(), ['+a', '+b', '+c', '-c', '-b', '-a'])
    assert.deepEqual(await supervisor.exited, { reason: 'shutdown' })
    await supervisor.stop()
  })

  it('a start that fails stops those before it in reverse and is thrown', async () => {
    const world = new World()
    world.failStarts('c', 1)
    await assert.rejects(world.supervise(world.children('a', 'b', 'c', 'd')), /c did not start/)
    assert.deepEqual(world.take(), ['+a', '+b', '!c', '-b', '-a'])
  })

  it('a child that does not stop is reported, and the others are stopped all the same', async () => {
    const world = new World()
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
    const world = new World()
    await world.supervise([world.child('a')], { intensity: 9 })
    await world.exit('a', exits.normal)
    assert.deepEqual(world.reports, [])
    world.failStarts('a', 1)
    await world.exit('a', exits.failure)
    assert.deepEqual(world.reports, ['a run', 'a start'])
  })

  it('an exit promise that rejects is a failure', async () => {
    const world = new World()
    const start = () => ({ exited: Promise.reject(new Error('odd')), stop: async () => {} })
    const supervisor = await world.supervise([{ id: 'a', restart: 'temporary', start }])
    await settle()
    assert.deepEqual(world.reports, ['a run'])
    assert.deepEqual(supervisor.children(), [])
  })
})

describe('at run time', () => {
  it('a child is added behind the others, and its id is then taken', async () => {
    const world = new World()
    const supervisor = await world.supervise(world.children('a'))
    assert.equal(await supervisor.startChild(world.child('b')), 'started')
    assert.equal(await supervisor.startChild(world.child('a')), 'duplicate')
    await supervisor.stop()
    assert.deepEqual(world.take(), ['+a', '+b', '-b', '-a'])
  })

  it('a child that does not start is not kept, and disturbs no other', async () => {
    const world = new World()
    const supervisor = await world.supervise(world.children('a'))
    world.failStarts('b', 1)
    await assert.rejects(supervisor.startChild(world.child('b')), /b did not start/)
    assert.deepEqual(supervisor.children(), [{ id: 'a', restart: 'permanent', state: 'running' }])
    assert.equal(await supervisor.startChild(world.child('b')), 'started')
  })

  it('a terminated child is not restarted, keeps its id, and can then be deleted', async () => {
    const world = new World()
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
    const world = new World()
    const supervisor = await world.supervise([world.child('a', 'temporary')])
    assert.equal(await supervisor.terminateChild('a'), 'terminated')
    assert.equal(await supervisor.deleteChild('a'), 'absent')
  })

  it('terminating a child ends the attempts to restart it', async () => {
    const world = new World()
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
    const world = new World()
    const supervisor = await world.supervise(world.children('a', 'b'), { intensity: 1_000 })
    world.take()
    world.failStarts('a', 1)
    world.onFailedStart = () => void supervisor.stop()
    await world.exit('a', exits.failure)
    assert.deepEqual(world.take(), ['!a', '-b'])
    assert.deepEqual(world.alive(), [])
  })

  it('a stopped supervisor starts nothing', async () => {
    const world = new World()
    const supervisor = await world.supervise([])
    await supervisor.stop()
    const refused = (error: unknown) =>
      error instanceof ActorError && error.code === 'DROVER_ACTOR_STOPPED'
    await assert.rejects(supervisor.startChild(world.child('a')), refused)
    assert.deepEqual(world.take(), [])
  })

  it('an exit and a stop at the same moment end in a stop', async () => {
    const world = new World()
    const supervisor = await world.supervise(world.children('a', 'b'), { intensity: 9 })
    const exited = world.exit('a', exits.failure)
    await supervisor.stop()
    await exited
    assert.deepEqual(supervisor.children(), [])
    assert.deepEqual(world.alive(), [])
  })
})

/** Children that note `+` for a start, `!` for one that failed, `-` for a stop, and end when told to. */
class World {
  nowMs = 0
  onFailedStart = () => {}
  readonly reports: string[] = []
  #events: string[] = []
  readonly #ends = new Map<string, (exit: Exit) => void>() // of the children that live
  readonly #failures = new Map<string, number>()

  supervise(
    children: readonly ChildSpec[],
    options: Partial<SupervisorOptions> = {},
  ): Promise<Supervisor> {
    const report = (id: string, during: string) => void this.reports.push(`${id} ${during}`)
    return Supervisor.start({ clock: this.#clock(), report, ...options, children })
  }

  children(...ids: readonly string[]): readonly ChildSpec[] {
    return ids.map((id) => this.child(id))
  }

  child(id: string, restart: Restart = 'permanent'): ChildSpec {
    return { id, restart, start: () => this.#start(id) }
  }

  /** A supervisor as a child, which gives up at the first failure. */
  nested(id: string, restart: Restart, children: readonly ChildSpec[]): ChildSpec {
    return { id, restart, start: () => this.supervise(children, { intensity: 0 }) }
  }

  /** Ends a child by itself, and waits until the supervisors have done what they do about it. */
  async exit(id: string, exit: Exit): Promise<void> {
    const end = this.#ends.get(id)
    assert.ok(end, `${id} does not run`)
    end(exit)
    await settle()
  }

  failStarts(id: string, times: number): void {
    this.#failures.set(id, times)
  }

  alive(): readonly string[] {
    return [...this.#ends.keys()]
  }

  /** What happened since the last take. */
  take(): readonly string[] {
    const events = this.#events
    this.#events = []
    return events
  }

  async #start(id: string): Promise<Child> {
    await Promise.resolve()
    const failures = this.#failures.get(id) ?? 0
    this.#failures.set(id, failures - 1)
    if (failures > 0) {
      this.#events.push(`!${id}`)
      this.onFailedStart()
      throw new Error(`${id} did not start`)
    }
    this.#events.push(`+${id}`)
    let end: (exit: Exit) => void = () => {}
    const exited = new Promise<Exit>((resolve) => {
      end = (exit) => {
        this.#ends.delete(id)
        resolve(exit)
      }
    })
    this.#ends.set(id, end)
    const stop = async () => {
      await Promise.resolve()
      this.#events.push(`-${id}`)
      end(exits.shutdown)
    }
    return { exited, stop }
  }

  #clock(): Clock {
    const none = () => () => {}
    const monotonic = () => this.nowMs
    return { now: monotonic, monotonic, after: none, background: none, yield: settle }
  }
}

/** Nothing here waits for time, so all promises are through after one turn of the event loop. */
const settle = () => new Promise<void>((resolve) => setImmediate(resolve))

/** Whether it has exited by now. */
async function hasExited(child: Child): Promise<boolean> {
  await settle()
  return Promise.race([child.exited.then(() => true), settle().then(() => false)])
}
