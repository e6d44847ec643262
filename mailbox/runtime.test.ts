import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isSameProcess, runtimePresence, startRuntime } from './runtime.ts'
import { countingIds, Machine, processOf, runtimeOf } from './testing/builders.ts'

describe('a runtime', () => {
  it('of this process lives until it ends, whatever the others do', () => {
    const processes = new Machine().seenBy(2)
    const ids = countingIds('r')
    const first = startRuntime(processes, ids)
    const second = startRuntime(processes, ids)
    assert.deepEqual(first.runtime.process, processOf(2))
    assert.notEqual(first.runtime.nonce, second.runtime.nonce)
    assert.equal(runtimePresence(processes, first.runtime), 'live')
    first.end()
    assert.equal(runtimePresence(processes, first.runtime), 'gone')
    assert.equal(runtimePresence(processes, second.runtime), 'live')
    first.end() // twice does no harm
    second.end()
    assert.equal(runtimePresence(processes, second.runtime), 'gone')
  })

  it('of this process that nobody started here is gone', () => {
    const processes = new Machine().seenBy(2)
    assert.equal(runtimePresence(processes, runtimeOf(2)), 'gone')
  })

  it('is known to every copy of this module in the process', async () => {
    const processes = new Machine().seenBy(2)
    const { runtime, end } = startRuntime(processes, countingIds('c'))
    const path = './runtime.ts?another-copy'
    const copy = (await import(path)) as typeof import('./runtime.ts')
    assert.notEqual(copy.startRuntime, startRuntime)
    assert.equal(copy.runtimePresence(processes, runtime), 'live')
    const theirs = copy.startRuntime(processes, countingIds('d'))
    assert.equal(runtimePresence(processes, theirs.runtime), 'live')
    theirs.end()
    end()
    assert.equal(copy.runtimePresence(processes, runtime), 'gone')
  })

  it('of another process is what its process is', () => {
    const machine = new Machine()
    const processes = machine.seenBy(2)
    assert.equal(runtimePresence(processes, runtimeOf(3)), 'live')
    machine.hide(3)
    assert.equal(runtimePresence(processes, runtimeOf(3)), 'unknown')
    machine.end(3)
    assert.equal(runtimePresence(processes, runtimeOf(3)), 'gone')
  })

  it('of another boot is gone, though it had our pid', () => {
    const before = startRuntime(new Machine('before').seenBy(2), countingIds('b'))
    assert.equal(runtimePresence(new Machine().seenBy(2), before.runtime), 'gone')
    before.end()
  })
})

describe('two identities', () => {
  it('are of one process only if they agree in every field', () => {
    const one = processOf(2)
    assert.equal(isSameProcess(one, processOf(2)), true)
    for (const field of ['host', 'boot', 'namespace', 'started'] as const)
      assert.equal(isSameProcess(one, { ...one, [field]: 'another' }), false, field)
    assert.equal(isSameProcess(one, { ...one, pid: 3 }), false)
  })
})
