import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { labelPattern } from '../mailbox/index.ts'
import { type ErrorCategory, OperationError } from './index.ts'
import { automaticLabel } from './start-claims.ts'
import {
  assertNothingIsLeft,
  cannotStart,
  completes,
  dies,
  type Fate,
  fakeSession,
  hangs,
  type Lead,
  neverReady,
  type OrderTwist,
  refusal,
  type World,
  world,
} from './testing/index.ts'

describe('a start', () => {
  it('answers once the agent has durably accepted its task', async () => {
    const lead = await world().lead()
    const { generation, request, placement, ready } = await lead.delegate(hangs(), { task: 'dig' })
    assert.equal(generation.identity.label, 'scout')
    assert.equal(generation.identity.owner, 'lead')
    assert.equal(generation.depth, 1)
    assert.deepEqual(ready?.runtime.process, placement.process)
    const [row] = await lead.rows()
    assert.equal(row?.facts.assignment.requests.get(request), 'accepted')
    assert.equal(row?.state, 'working')
    assert.deepEqual(lead.world.agent('scout').host.texts, ['dig'])
  })

  it('shows the agent as starting before it has answered', async () => {
    const lead = await world().lead()
    const started = lead.start(hangs())
    await lead.world.advance(50)
    const rows = async () => (await lead.rows()).map(({ starting, state }) => [starting, state])
    assert.deepEqual(await rows(), [[true, 'settling']])
    await lead.world.run(started)
    assert.deepEqual(await rows(), [[false, 'working']])
  })

  it('brings a result that comes before the start is answered', async () => {
    const lead = await world().lead()
    await lead.delegate(completes('quick', { workMs: 0 }))
    await lead.settled()
    assert.deepEqual(lead.told, ['scout'])
  })

  it('starts no more agents at once than it may, and the others after them', async () => {
    const lead = await world().lead('lead', { startsAtOnce: 2 })
    const starts = [1, 2, 3, 4].map(() => lead.start(hangs()))
    await lead.world.advance(50)
    assert.equal(lead.world.livingAgents().length, 2)
    await lead.world.run(Promise.all(starts))
    assert.equal(lead.world.livingAgents().length, 4)
  })
})

describe('a start that fails', () => {
  const fates: readonly (readonly [string, Fate, RegExp])[] = [
    ['whose process cannot be started', cannotStart('no such command'), /no such command/],
    ['whose process dies before it is ready', dies('before-ready'), /process ended before it took/],
    ['whose process dies before it accepts', dies('after-ready'), /process ended before it took/],
    ['that never gets ready', neverReady(), /did not take the task within 60000 ms/],
    [
      'that never gets ready and does not end when asked',
      neverReady([], { ignoresTerm: true, commands: 2 }),
      /did not take the task within/,
    ],
  ]
  for (const [what, fate, why] of fates)
    it(`leaves nothing behind: one ${what}`, async () => {
      const lead = await world().lead()
      const error = await refusedStart(lead, fate)
      assert.equal(error.category, 'pane_not_ready')
      assert.match(error.message, why)
      assert.equal(error.rollbackOccurred, true)
      assertNoTrace(lead.world)
      assert.deepEqual(await lead.rows(), [])
      assert.equal(lead.owner.hasUnsettled, false)
    })

  it('tells the end of what the agent said', async () => {
    const lead = await world().lead()
    const { message } = await refusedStart(
      lead,
      neverReady(['loading', 'SyntaxError: Unexpected token']),
    )
    assert.match(message, /It said:\nloading\nSyntaxError: Unexpected token$/)
  })

  it('leaves the time for a last look within its budget', async () => {
    const lead = await world().lead()
    await refusedStart(lead, neverReady(), { timeoutMs: 6_000 })
    assert.ok(lead.world.machine.clock.nowMs <= 6_000)
  })

  it('frees its label for the next one', async () => {
    const lead = await world().lead()
    await refusedStart(lead, dies('before-ready'), { label: 'mine' })
    const { generation } = await lead.delegate(hangs(), { label: 'mine' })
    assert.equal(generation.identity.label, 'mine')
  })

  it('is withdrawn at once when its caller aborts, before or while it goes on', async () => {
    for (const afterMs of [0, 1, 50, 2_000]) {
      const lead = await world().lead()
      const abort = new AbortController()
      lead.process.clock.after(afterMs, () => abort.abort())
      const started = lead.start(neverReady(), {}, abort.signal)
      await assert.rejects(lead.world.run(started), /the start was aborted/)
      assert.ok(lead.world.machine.clock.nowMs < afterMs + 1_000)
      assertNoTrace(lead.world)
    }
  })

  it('is withdrawn at once when its caller aborts while the process is being started', async () => {
    const lead = await world().lead()
    const abort = new AbortController()
    const start = lead.runner.start.bind(lead.runner)
    lead.runner.start = (order) => {
      abort.abort()
      return start(order)
    }
    await assert.rejects(lead.world.run(lead.start(neverReady(), {}, abort.signal)), /aborted/)
    assert.ok(lead.world.machine.clock.nowMs < 1_000)
    assertNoTrace(lead.world)
  })

  it('does not begin at all where its caller had aborted before', async () => {
    const lead = await world().lead()
    const started = lead.start(hangs(), {}, AbortSignal.abort())
    const { message, nextAction } = await refusal(lead.world, started)
    assert.match(`${message} ${nextAction}`, /aborted before it began.* Nothing was started/)
    assert.equal(lead.world.agents.size, 0)
    assertNoTrace(lead.world)
  })

  it('takes nothing from agents at work beside it when its caller aborts', async () => {
    const lead = await world().lead()
    for (let n = 0; n < 2; n++) await lead.delegate(hangs())
    const abort = new AbortController()
    lead.process.clock.after(50, () => abort.abort())
    await assert.rejects(lead.world.run(lead.start(neverReady(), {}, abort.signal)), /aborted/)
    assert.deepEqual(await lead.states(), { scout: 'working', 'scout-2': 'working' })
    assert.equal(lead.world.livingAgents().length, 2)
  })

  it('has succeeded if the agent came to a result while it was being withdrawn', async () => {
    const lead = await world().lead()
    const abort = new AbortController()
    const started = lead.start(completes('in time', { workMs: 0 }), {}, abort.signal)
    await lead.world.until(() => lead.world.agents.size > 0)
    const { agent } = lead.world.agent('scout').order.paths
    const { disk } = lead.world
    disk.watch(agent, () => {
      if (disk.list(agent)?.some((name) => name.includes('-result-'))) abort.abort()
    })
    await lead.world.run(started)
    await lead.settled()
    assert.deepEqual(lead.told, ['scout'])
  })

  for (const [trouble, code, lasts] of [
    ['meets a full disk', 'ENOSPC', 'forever'],
    ['meets one error of the disk', 'EIO', 'once'],
  ] as const)
    it(`leaves nothing behind wherever it ${trouble}`, async () => {
      for (let point = 0, isOver = false; !isOver; point++) {
        const lead = await world().lead()
        const { fs } = lead.process
        const before = fs.operations
        fs.failAt(before + point, code, lasts)
        const outcome = await lead.world.run(lead.start(hangs()).catch((error: Error) => error))
        isOver = fs.operations - before <= point
        fs.heal()
        if (outcome instanceof Error) assert.ok(outcome instanceof OperationError, `at ${point}`)
        for (const { agent } of await lead.rows()) await lead.close(agent)
        await lead.settled()
        const left = lead.world.remains().filter((path) => !path.includes('/drafts/'))
        assert.deepEqual(left, [], `before the next life, after a fault at ${point}`)
        // A draft that could not be removed is swept by the next life.
        await lead.quit()
        const next = await lead.world.lead()
        assert.deepEqual(await next.rows(), [])
        assert.deepEqual(next.world.remains(), [], `after a fault at ${point}`)
        assert.deepEqual(next.world.livingAgents(), [], `after a fault at ${point}`)
        if (outcome instanceof OperationError && outcome.failure.rollbackOccurred)
          assert.deepEqual(next.world.agentSessions(), [], `after a fault at ${point}`)
      }
    })

  it('says in our words what is left where even taking it back fails, and it goes with the next life', async () => {
    for (let point = 30; point < 50; point++) {
      const lead = await world().lead()
      const { fs } = lead.process
      for (const each of [0, 1]) fs.failAt(fs.operations + point + each, 'EIO', 'once')
      const outcome = await lead.world.run(lead.start(hangs()).catch((error: Error) => error))
      if (outcome instanceof Error) assert.ok(outcome instanceof OperationError, `at ${point}`)
      lead.kill()
      const next = await lead.world.lead()
      for (const { agent } of await next.rows()) await next.close(agent)
      await next.settled()
      await next.world.advance(1_000)
      assert.deepEqual(next.world.livingAgents(), [], `at ${point}`)
    }
  })

  it('ends the process it started even if it cannot record where that is', async () => {
    const lead = await world().lead()
    const { fs } = lead.process
    const createSynced = fs.createSynced.bind(fs)
    fs.createSynced = (path, bytes) => {
      const isPlaced = Buffer.from(bytes).toString().includes('"kind":"placed"')
      if (isPlaced) fs.failAt(fs.operations, 'EIO', 'once')
      return createSynced(path, bytes)
    }
    const error = await refusedStart(lead, neverReady())
    assert.equal(error.stage, 'placement')
    assertNoTrace(lead.world)
  })
})

describe('an order that is refused', () => {
  const cases: readonly (readonly [string, OrderTwist, ErrorCategory, RegExp])[] = [
    ['a task over the limit', { task: 'x'.repeat(200_000) }, 'invalid_request', /at most 131072/],
    ['a label that is taken', { label: 'taken' }, 'agent_label_exists', /taken exists already/],
  ]
  for (const [what, order, category, message] of cases)
    it(`starts nothing and leaves nothing: ${what}`, async () => {
      const lead = await world().lead()
      await lead.delegate(hangs(), { label: 'taken' })
      const before = lead.world.remains()
      const error = await refusedStart(lead, hangs(), order)
      assert.equal(error.category, category)
      assert.match(error.message, message)
      assert.notEqual(error.nextAction, '')
      assert.equal(error.rollbackOccurred, false)
      assert.deepEqual(lead.world.remains(), before)
      assert.equal(lead.world.livingAgents().length, 1)
      assert.equal(lead.world.agentSessions().length, 1)
    })

  it('is one over the number of agents that may live', async () => {
    const lead = await world().lead('lead', { liveAgentsMax: 2 })
    const starts = await lead.world.run(
      Promise.allSettled([1, 2, 3].map(() => lead.start(hangs()))),
    )
    assert.deepEqual(
      starts.map(({ status }) => status),
      ['fulfilled', 'fulfilled', 'rejected'],
    )
    const { category, message } = await refusedStart(lead, hangs())
    assert.equal(category, 'agent_busy')
    assert.match(message, /2 agents live already/)
    await lead.close('scout')
    await lead.delegate(hangs())
  })

  it('is one over that number as long as not all processes of an agent are proven gone', async () => {
    const lead = await world().lead('lead', { liveAgentsMax: 1 })
    await lead.delegate(hangs({ isDeaf: true, ignoresTerm: true, commands: 1 }))
    const { stop } = lead.runner
    lead.runner.stop = async (place, reason) => {
      await stop.call(lead.runner, place, reason)
      return { outcome: 'unproven', why: 'its child process 7 did not end when killed' }
    }
    const failure = await refusal(lead.world, lead.owner.close('scout'))
    assert.match(failure.message, /its child process 7/)
    assert.match((await refusedStart(lead, hangs())).message, /1 agents live already/)
    lead.runner.stop = stop
    await lead.close('scout')
    assert.deepEqual(lead.world.livingAgents(), [])
    await lead.delegate(hangs())
  })

  it('is one of an agent at the lowest level, whatever its definition and environment say', async () => {
    const w = world()
    const lead = await w.lead()
    await lead.delegate(hangs({ owns: [hangs({ owns: [] })] }), { label: 'parent' })
    await w.until(() => w.agents.size === 2)
    const { generation } = w.agent('scout').order
    await w.until(() => w.owners.has(generation.identity.session))
    const leaf = w.owners.get(generation.identity.session)
    assert.ok(leaf)
    await w.advance(1_000)
    const { category, message, nextAction } = await refusedStart(leaf, hangs())
    assert.deepEqual([generation.depth, category], [2, 'invalid_request'])
    assert.match(`${message} ${nextAction}`, /2 levels below its lead .* Do this part yourself/)
    assert.equal(w.agents.size, 2)
  })

  it('is one of two that take up the same session at the same time', async () => {
    const w = world()
    const leads = [await w.lead('one'), await w.lead('other')]
    const started = await w.run(
      Promise.allSettled(
        leads.map((lead) =>
          lead.start(hangs(), { session: fakeSession(lead.process, 'the-session', '/project') }),
        ),
      ),
    )
    assert.deepEqual(started.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
    const [refused] = started.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []))
    assert.equal((refused as OperationError).failure.category, 'agent_busy')
    assert.match((refused as OperationError).message, /the-session already belongs to an agent/)
    assert.equal(w.livingAgents().length, 1)
  })
})

describe('a label', () => {
  it('is the definition, then the definition with the first free number', async () => {
    const lead = await world().lead()
    const labels = async () => (await lead.rows()).map(({ agent }) => agent)
    for (let n = 0; n < 3; n++) await lead.delegate(hangs())
    assert.deepEqual(await labels(), ['scout', 'scout-2', 'scout-3'])
    await lead.close('scout-2')
    await lead.delegate(hangs())
    assert.deepEqual(await labels(), ['scout', 'scout-2', 'scout-3'])
  })

  it('is given to one alone of those that start at the same time', async () => {
    const lead = await world().lead('lead', { startsAtOnce: 4 })
    const all = await lead.world.run(Promise.all([1, 2, 3, 4].map(() => lead.start(hangs()))))
    const labels = all.map(({ generation }) => generation.identity.label)
    assert.deepEqual(labels.toSorted(), ['scout', 'scout-2', 'scout-3', 'scout-4'])
  })

  it('is taken in the whole tree of a lead', async () => {
    const lead = await world().lead()
    await lead.delegate(hangs({ owns: [hangs()] }), { label: 'scout' })
    await lead.world.until(() => lead.world.agents.size === 2)
    assert.equal(lead.world.agent('scout-2').order.generation.depth, 2)
    const { category } = await refusedStart(lead, hangs(), { label: 'scout-2' })
    assert.equal(category, 'agent_label_exists')
  })

  it('is free in the tree of another lead', async () => {
    const w = world()
    const [one, other] = [await w.lead('one'), await w.lead('other')]
    await one.delegate(hangs(), { label: 'mine' })
    await other.delegate(hangs(), { label: 'mine' })
  })

  it('of a start whose starter died before anything was started is free again', async () => {
    const w = world()
    const first = await w.lead()
    const { fs } = first.process
    const link = fs.link.bind(fs)
    fs.link = (from, to) => {
      const answer = link(from, to)
      if (to.includes('/labels/')) first.kill()
      return answer
    }
    void first.start(hangs(), { label: 'mine' }).catch(() => {})
    await w.until(() => !first.process.isAlive)
    const second = await w.lead()
    assert.deepEqual(await second.rows(), [])
    await second.delegate(hangs(), { label: 'mine' })
  })

  const names: readonly (readonly [string, number, string])[] = [
    ['scout', 1, 'scout'],
    ['scout', 12, 'scout-12'],
    ['Code Reviewer', 1, 'code-reviewer'],
    ['1st_try', 1, 'st_try'],
    ['äöü', 2, 'agent-2'],
    ['x'.repeat(40), 1, 'x'.repeat(32)],
    ['x'.repeat(40), 99, `${'x'.repeat(29)}-99`],
  ]
  for (const [definition, number, label] of names)
    it(`of ${definition} number ${number} is ${label}`, () => {
      assert.equal(automaticLabel(definition, number), label)
      assert.match(label, labelPattern)
    })
})

function refusedStart(lead: Lead, fate: Fate, order: OrderTwist = {}) {
  return refusal(lead.world, lead.start(fate, order))
}

/** Not even the session that was made for it. */
function assertNoTrace(of: World): void {
  assertNothingIsLeft(of)
  assert.deepEqual(of.agentSessions(), [])
}
