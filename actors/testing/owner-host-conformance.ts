import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { deliveryIdentity, type OwnerHost } from '../index.ts'
import { aQuestion, aReport, deliveryFields } from './records.ts'

/** One host session, and the hands that move it. */
export interface OwnerHostHarness {
  readonly host: OwnerHost
  /** A run that is none of ours begins. */
  begin(): void
  /** Lets what was sent get into the host's file. */
  persist(): Promise<void>
  /** The present run ends; what is not in the file then never will be. */
  end(): Promise<void>
  /** The same session in another process that has just opened it. */
  reopened(): OwnerHost
  /** Waits for a fact. */
  until(isTrue: () => boolean): Promise<void>
  close(): Promise<void>
}

/** What every `OwnerHost` promises. */
export function ownerHostConformance(
  name: string,
  makeHost: () => Promise<OwnerHostHarness>,
): void {
  const test = (sentence: string, body: (harness: OwnerHostHarness) => Promise<void>): void =>
    void it(sentence, async () => {
      const harness = await makeHost()
      try {
        await body(harness)
      } finally {
        await harness.close()
      }
    })
  const [a, b] = [aReport('a'), aReport('b')]
  const [one, two] = [deliveryIdentity(a), deliveryIdentity(b)]

  describe(`the ${name} owner host`, () => {
    test('takes nothing while it is busy, and puts nothing aside', async (harness) => {
      const { host } = harness
      harness.begin()
      assert.equal(host.isIdle(), false)
      assert.equal(host.trySend([a]), 'busy')
      await harness.end()
      await harness.persist()
      assert.deepEqual(await host.seen([one]), [])
      assert.equal(host.isIdle(), true)
    })

    test('is busy from the tick in which it took a message', async (harness) => {
      const { host } = harness
      assert.equal(host.trySend([a]), 'sent')
      assert.equal(host.isIdle(), false)
      assert.equal(host.trySend([b]), 'busy')
    })

    test('has seen a message only once it is in its file', async (harness) => {
      const { host } = harness
      host.trySend([a])
      assert.deepEqual(await host.seen([one]), [])
      await harness.persist()
      assert.deepEqual(await host.seen([one]), [one])
    })

    test('has not seen what was dropped before it was in its file', async (harness) => {
      const { host } = harness
      host.trySend([a])
      await harness.end()
      await harness.persist()
      assert.deepEqual(await host.seen([one]), [])
      assert.equal(host.isIdle(), true)
    })

    test('has seen each of several results that went as one message', async (harness) => {
      const { host } = harness
      host.trySend([a, b])
      await harness.persist()
      assert.deepEqual(await host.seen([two, one]), [two, one])
    })

    test('answers for those asked alone, and for none where none is asked', async (harness) => {
      const { host } = harness
      host.trySend([a, b])
      await harness.persist()
      assert.deepEqual(await host.seen([two]), [two])
      assert.deepEqual(await host.seen([]), [])
    })

    for (const field of deliveryFields)
      test(`has not seen a delivery that differs in its ${field}`, async (harness) => {
        const { host } = harness
        host.trySend([a])
        await harness.persist()
        assert.deepEqual(await host.seen([{ ...one, [field]: 'another' }]), [])
        assert.deepEqual(await host.seen([one]), [one])
      })

    test('has not seen a result whose question it has seen', async (harness) => {
      const { host } = harness
      const question = aQuestion('a')
      const asked = deliveryIdentity(question)
      assert.equal(asked.request, one.request)
      host.trySend([question])
      await harness.persist()
      assert.deepEqual(await host.seen([one, asked]), [asked])
    })

    test('still has seen it after it was opened again', async (harness) => {
      harness.host.trySend([a])
      await harness.persist()
      await harness.end()
      assert.deepEqual(await harness.reopened().seen([one, two]), [one])
    })

    test('calls back when it becomes idle, never from inside, and not after the end of the subscription', async (harness) => {
      const { host } = harness
      const calls = { kept: 0, ended: 0 }
      const ends = [host.onChange(() => calls.kept++), host.onChange(() => calls.ended++)]
      assert.equal(host.trySend([a]), 'sent')
      assert.deepEqual(calls, { kept: 0, ended: 0 })
      await harness.persist()
      await harness.end()
      await harness.until(() => calls.kept > 0 && calls.ended > 0 && host.isIdle())
      ends[1]?.()
      const before = { ...calls }
      harness.begin()
      await harness.end()
      await harness.until(() => calls.kept > before.kept)
      assert.equal(calls.ended, before.ended)
      ends[0]?.()
    })
  })
}
