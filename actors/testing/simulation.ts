import assert from 'node:assert/strict'
import { generationExists, ownerPaths, readClaim } from '../../mailbox/index.ts'
import { Crashed } from '../../mailbox/testing/index.ts'
import { ActorError } from '../errors.ts'
import { OperationError, type Row } from '../index.ts'
import { completes, dies, type Fate, fails, hangs, neverReady } from './fates.ts'
import type { VirtualProcess } from './machine.ts'
import type { SendFate } from './owner-host.ts'
import { type Lead, World } from './world.ts'

/** Fates of agents, by name, so that a failing run can be read. */
export const fates: Readonly<Record<string, Fate>> = {
  quick: completes('quick', { workMs: 200 }),
  slow: completes('slow', { workMs: 20_000 }),
  fails: fails('no', { workMs: 300 }),
  hangs: hangs(),
  deaf: hangs({ isDeaf: true, ignoresTerm: true, commands: 1 }),
  neverReady: neverReady(),
  diesEarly: dies('before-ready'),
  diesUnasked: dies('after-ready'),
  diesAtWork: dies('mid-work'),
  diesInstead: dies('after-accepting'),
  diesDone: dies('after-result', { workMs: 200 }),
  parent: completes('parent', { workMs: 200, owns: [completes('child', { workMs: 300 })] }),
  stuckParent: hangs({ owns: [hangs()] }),
}

/** One thing that happens. Numbers pick among what there is; where there is nothing, nothing happens. */
export type Step =
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'delegate'; readonly fate: string }
  | { readonly do: 'close'; readonly agent: number }
  | { readonly do: 'kill-agent'; readonly agent: number }
  | { readonly do: 'crash-agent'; readonly agent: number; readonly after: number }
  | { readonly do: 'kill-owner'; readonly window: number }
  | { readonly do: 'crash-owner'; readonly window: number; readonly after: number }
  /** One of its next file operations fails, or its disk is full from there on. */
  | {
      readonly do: 'fault'
      readonly window: number
      readonly after: number
      readonly full: boolean
    }
  | { readonly do: 'quit' | 'reload'; readonly window: number }
  | { readonly do: 'open' }
  | { readonly do: 'busy' | 'idle' | 'escape'; readonly window: number }
  | { readonly do: 'next-send'; readonly window: number; readonly fate: SendFate }

/** Agents one run starts at most, children not counted; and windows open at a time. */
const agentsMax = 2
const windowsMax = 2
/** Two scans, and what one takes. */
const noticeMs = 10_500
/** Time in which everything must settle once nothing fails any more, ms. */
const settleMs = 120_000

/** A lead, its agents and everything that may happen to them; and what must hold whatever does. */
export class Simulation {
  readonly world: World = new World()
  #windows: Lead[] = []
  #delegated = 0
  readonly #diedMs = new Map<VirtualProcess, number>()
  readonly #failures: unknown[] = []

  constructor() {
    const { machine } = this.world
    machine.onEnd((process) => this.#diedMs.set(process, machine.clock.nowMs))
  }

  async play(steps: readonly Step[]): Promise<void> {
    await this.#open()
    for (const step of steps) {
      await this.#take(step)
      await this.world.advance(0)
      await this.#judge()
    }
    await this.#recover()
  }

  async #open(): Promise<void> {
    this.#windows = this.#windows.filter(({ process }) => process.isAlive)
    if (this.#windows.length < windowsMax) this.#windows.push(await this.world.lead())
  }

  async #take(step: Step): Promise<void> {
    switch (step.do) {
      case 'wait':
        return this.world.advance(step.ms)
      case 'open':
        return this.#open()
      case 'delegate':
        return this.#delegate(fates[step.fate] ?? hangs())
      case 'close':
        return this.#close(step.agent)
      case 'kill-agent':
        return this.#agent(step.agent)?.end()
      case 'crash-agent':
        return this.#agent(step.agent)?.crashAfterOperations(step.after)
      case 'kill-owner':
        return this.#window(step.window)?.kill()
      case 'crash-owner':
        return this.#window(step.window)?.process.crashAfterOperations(step.after)
      case 'quit':
      case 'reload': {
        const lead = this.#window(step.window)
        if (lead === undefined) return
        return this.#answer(lead, step.do === 'quit' ? lead.quitting() : lead.reloading())
      }
      case 'fault': {
        const fs = this.#window(step.window)?.process.fs
        if (step.full) fs?.failAt(fs.operations + step.after, 'ENOSPC', 'forever')
        else fs?.failAt(fs.operations + step.after, 'EIO', 'once')
        return
      }
      case 'busy':
        return this.#window(step.window)?.host.begin()
      case 'idle':
      case 'escape':
        return this.#window(step.window)?.host.end()
      case 'next-send':
        this.#window(step.window)?.host.fates.push(step.fate)
    }
  }

  #delegate(fate: Fate): void {
    const lead = this.#acting()
    if (lead === undefined || this.#delegated >= agentsMax) return
    this.#delegated++
    this.#expect(lead, lead.start(fate, { timeoutMs: 6_000 }))
  }

  async #close(index: number): Promise<void> {
    const lead = this.#acting()
    if (lead === undefined) return
    const labels = (await this.#rows(lead)).map(({ agent }) => agent)
    const label = labels[index % Math.max(1, labels.length)]
    if (label !== undefined) this.#expect(lead, lead.owner.close(label))
  }

  /** What a living owner is asked either succeeds or says in our own words why not. */
  #expect(lead: Lead, promise: Promise<unknown>): void {
    promise.catch((error: unknown) => {
      if (error instanceof OperationError) return this.#judgeRefusal(error)
      if (error instanceof Crashed) return
      const isOver = !lead.process.isAlive || error instanceof ActorError
      if (!isOver) this.#failures.push(error)
    })
  }

  /** What is said to be undone is undone. */
  #judgeRefusal({ failure: { operation, generation, rollbackOccurred } }: OperationError): void {
    if (operation !== 'delegate' || generation === undefined || !rollbackOccurred) return
    const { disk, root } = this.world
    if (generationExists(disk, ownerPaths(root, 'lead'), generation))
      this.#failures.push(new Error(`${generation} was not undone`))
  }

  /** Waits for an answer of a window, which may die on the way. */
  async #answer<T>({ process }: Lead, promise: Promise<T>): Promise<T | undefined> {
    let answer: T | undefined
    let isOver = false
    promise.then(
      (value) => {
        answer = value
        isOver = true
      },
      () => {
        isOver = true
      },
    )
    await this.world.until(() => isOver || !process.isAlive)
    return answer
  }

  async #rows(lead: Lead | undefined): Promise<readonly Row[]> {
    return (lead && (await this.#answer(lead, lead.owner.rows()))) ?? []
  }

  #window(index: number): Lead | undefined {
    const living = this.#windows.filter(({ process }) => process.isAlive)
    return living[index % Math.max(1, living.length)]
  }

  #acting(): Lead | undefined {
    return this.#windows.find(({ process, owner }) => process.isAlive && owner.role === 'acting')
  }

  #agent(index: number): VirtualProcess | undefined {
    const living = [...this.world.agents.values()].filter(({ process }) => process.isAlive)
    return living[index % Math.max(1, living.length)]?.process
  }

  /** What must hold at any moment. */
  async #judge(): Promise<void> {
    const { ledger, machine } = this.world
    assert.deepEqual(this.#failures, [])
    for (const generation of ledger.generations) {
      assert.ok(ledger.count(generation, 'result', 'failure') <= 1, 'two conclusions')
      assert.ok(this.#told(generation) <= 1, 'told twice')
      if (this.#told(generation) === 1)
        assert.equal(
          ledger.count(generation, 'result', 'failure'),
          1,
          'told what was not concluded',
        )
    }
    const lead = this.#acting()
    for (const { facts, state } of await this.#rows(lead)) {
      const { generation } = facts.generation.identity
      const process = this.world.agents.get(generation)?.process
      if (process === undefined) continue
      const died = this.#diedMs.get(process)
      const isNoticed = died !== undefined && machine.clock.nowMs - died > noticeMs
      if (isNoticed && this.#actsLongEnough(lead)) assert.notEqual(state, 'working', 'not noticed')
      if (state === 'lost') assert.ok(!process.isAlive, 'lost without proof')
    }
    this.#judgeSignals()
  }

  readonly #actingSinceMs = new Map<Lead, number>()

  #actsLongEnough(lead: Lead | undefined): boolean {
    if (lead === undefined) return false
    const { nowMs } = this.world.machine.clock
    if (!this.#actingSinceMs.has(lead)) this.#actingSinceMs.set(lead, nowMs)
    return nowMs - (this.#actingSinceMs.get(lead) ?? nowMs) > noticeMs
  }

  /** Only agents are ended by force, and only those that were closed or have nothing left to say. */
  #judgeSignals(): void {
    const { ledger, machine } = this.world
    for (const { target } of machine.signals) {
      const generation = target.env['DROVER_AGENT'] ?? ''
      const mayEnd = ledger.count(generation, 'close', 'result', 'failure') > 0
      assert.ok(mayEnd, `${target.identity.pid} was signalled without a reason`)
    }
  }

  #told(generation: string): number {
    const program = this.world.agents.get(generation)
    const owner = program?.order.generation.identity.owner ?? 'lead'
    return this.world.session(owner).count(generation)
  }

  /** Nothing fails any more: everything must settle, and then nothing be left and nothing missing. */
  async #recover(): Promise<void> {
    for (const { process } of this.#windows) process.end()
    const lead = await this.world.lead()
    await this.world.advance(noticeMs)
    this.#windows = [lead]
    await this.#judge()
    for (let round = 0; lead.owner.hasUnsettled && round < 10; round++) {
      for (const { agent, actions } of await this.#rows(lead))
        if (actions.includes('close')) this.#expect(lead, lead.owner.close(agent))
      await this.world.advance(settleMs / 10)
      await this.#judge()
    }
    assert.equal(
      lead.owner.hasUnsettled,
      false,
      `not settled: ${JSON.stringify(await lead.states())}`,
    )
    await this.world.advance(1_000)
    this.#judgeTheEnd()
    await lead.quit()
    assert.equal(this.world.machine.clock.pending, 0, 'timers are left')
  }

  #judgeTheEnd(): void {
    const { ledger, agents } = this.world
    assert.deepEqual(this.#unexplained(), [], 'something is left')
    assert.deepEqual(this.#strays().length, this.world.livingAgents().length, 'an agent lives on')
    for (const generation of agents.keys()) {
      if (!this.#hasReader(generation)) continue
      const concluded = ledger.count(generation, 'result', 'failure')
      assert.equal(this.#told(generation), concluded, 'a result was lost')
    }
  }

  /** A lead reads whatever happens. A parent has read all its agents had to say before it says something itself. */
  #hasReader(generation: string): boolean {
    const { ledger, agents } = this.world
    const owner = agents.get(generation)?.order.generation.identity.owner
    if (owner === 'lead') return true
    const [parent] =
      [...agents].find(([, { order }]) => order.generation.identity.session === owner) ?? []
    return parent !== undefined && ledger.count(parent, 'result') > 0
  }

  /** What is left and should not be. A claim of a start that never came to be is free for whoever wants it. */
  #unexplained(): readonly string[] {
    const { world } = this
    const { machine, disk, root } = world
    const own = ownerPaths(root, 'lead').directory
    return world.remains().filter((path) => {
      if (path.includes('/drafts/')) return path.startsWith(own) // others are swept in their owner's next life
      const claim = readClaim(disk, path)
      if (typeof claim !== 'object') return true
      const isStale = machine.presence(claim.claimer.process) === 'gone'
      const exists = generationExists(disk, ownerPaths(root, claim.owner), claim.generation)
      return !isStale || exists || world.agents.has(claim.generation)
    })
  }

  /** Nobody can prove whose process it is if its starter died before it said so and it never said anything itself. */
  #strays(): readonly VirtualProcess[] {
    const { ledger } = this.world
    return this.world.livingAgents().filter(({ env }) => {
      const generation = env['DROVER_AGENT'] ?? ''
      return !ledger.isReady(generation) && ledger.count(generation, 'placed') === 0
    })
  }
}
