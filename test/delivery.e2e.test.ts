import assert from 'node:assert/strict'
import { appendFileSync, chmodSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { delivered, generations, hasRecord, processesIn } from '../demo/evidence.ts'
import type { Sandbox } from '../demo/pi-process.ts'
import {
  agentCall,
  delegate,
  fact,
  inPanes,
  mails,
  printPi,
  runs,
  sandbox,
  settled,
  started,
  startPi,
  toolAnswers,
} from './support.ts'

const killSelf = join(import.meta.dirname, 'fixtures/kill-self.ts')
const slowStart = join(import.meta.dirname, 'fixtures/slow-start.ts')

const work = { when: 'count the files', say: 'There are 3 files.' }
const heard = { when: 'agent=scout', say: 'I have heard it.' }
const start = { when: 'please start', calls: [delegate('scout', 'count the files')] }
/** The lead stays busy after it has delegated, so that a result has to wait. */
const busy = { when: 'accepted', hang: true }

/** What a lead leaves that is killed after the result is durable and before it is told. */
async function killedUntold(
  t: TestContext,
): Promise<{ readonly place: Sandbox; readonly file: string }> {
  const place = sandbox(t, [start, busy, work])
  const { lead, file } = await started(place)
  await fact('the result is durable', () => hasRecord(place, 'result'))
  await lead.kill()
  return { place, file }
}

describe('a result with real Pi processes', () => {
  it('comes from each of two agents at work at the same time, from a failing one too, once', async (t) => {
    const place = sandbox(t, [
      {
        when: 'please start',
        calls: [delegate('scout', 'count the files'), delegate('researcher', 'be silent')],
      },
      { when: 'accepted', say: 'They are at work.' },
      { when: 'be silent', say: ' \n' },
      work,
    ])
    const { lead, file } = await started(place)
    await fact('both results are there', () => runs(lead) >= 2 && delivered(file).length >= 2)
    await settled(place, [lead])
    assert.deepEqual(delivered(file).sort(), ['researcher', 'scout'])
    assert.equal(await lead.close(), 0)
  })

  it('survives kill -9 of the lead after it is durable and before it is told', async (t) => {
    const { place, file } = await killedUntold(t)
    assert.deepEqual(delivered(file), [])
    place.rules = [heard]
    const next = startPi(place, { session: file })
    await next.event(({ type }) => type === 'agent_end')
    await settled(place, [next])
    assert.deepEqual(delivered(file), ['scout'])
    await next.close()
  })

  for (const moment of ['message_end', 'agent_end'])
    it(`is told once although the lead kills itself at ${moment} of the message that brings it`, async (t) => {
      const place = sandbox(t, [start, { when: 'accepted', say: 'At work.' }, work, heard])
      const { lead, file } = await started(place, {
        extensions: [killSelf],
        env: { KILL_SELF_AT: moment },
      })
      assert.equal(await lead.exited, 'SIGKILL')
      assert.deepEqual(delivered(file), moment === 'message_end' ? [] : ['scout'])
      const next = startPi(place, { session: file })
      await settled(place, [next])
      assert.deepEqual(delivered(file), ['scout'])
      await next.close()
    })

  it('waits for a busy lead and comes after the person pressed Esc', async (t) => {
    const place = sandbox(t, [start, busy, work, heard])
    const { lead, file } = await started(place)
    await fact('the result is durable', () => hasRecord(place, 'result'))
    assert.deepEqual(delivered(file), [])
    await lead.request('abort')
    await fact('the result is told', () => runs(lead) >= 2)
    await settled(place, [lead])
    assert.deepEqual(delivered(file), ['scout'])
    await lead.close()
  })

  it('comes once although the model fails before it and at the very turn it starts', async (t) => {
    const place = sandbox(t, [
      start,
      { when: 'accepted', error: 'invalid key', afterMs: 1_500 },
      { when: 'agent=scout', error: 'invalid key' },
      work,
    ])
    const { lead, file } = await started(place)
    await fact('the result is told', () => delivered(file).length > 0)
    await settled(place, [lead])
    lead.prompt('hello')
    await fact('the lead goes on', () => runs(lead) >= 3)
    assert.deepEqual(delivered(file), ['scout'])
    await lead.close()
  })

  it('is the answer after a retried model error, not the error', async (t) => {
    const place = sandbox(t, [
      start,
      { when: 'accepted', say: 'At work.' },
      { when: 'count the files', error: 'overloaded_error', times: 1 },
      work,
    ])
    const { lead, file } = await started(place)
    const told = await lead.until(() => mails(lead)[0])
    assert.match(told, /There are 3 files\./)
    await settled(place, [lead])
    assert.deepEqual(delivered(file), ['scout'])
    await lead.close()
  })

  it('waits for the prompt that its session is opened with, however slowly that opens', async (t) => {
    const { place, file } = await killedUntold(t)
    // A result that came first would still be at it when the question comes.
    place.rules = [
      { ...heard, afterMs: 5_000 },
      { when: 'my question', say: 'My answer.' },
    ]
    const answer = await printPi(place, ['-e', slowStart, '--session', file, 'my question'])
    assert.deepEqual(answer, { code: 0, stdout: 'My answer.\n' }, JSON.stringify(answer))
    place.rules = [heard]
    const next = startPi(place, { session: file })
    await settled(place, [next])
    assert.deepEqual(delivered(file), ['scout'])
    await next.close()
  })

  it('is told once in a session whose last line was torn by the death of its lead', async (t) => {
    const { place, file } = await killedUntold(t)
    const torn = '{"type":"message","id":"abc'
    appendFileSync(file, torn)
    place.rules = [heard]
    const next = startPi(place, { session: file })
    await fact('the result is told', () => runs(next) === 1)
    await settled(place, [next])
    assert.deepEqual(delivered(file), ['scout'])
    assert.ok(readFileSync(file, 'utf8').split('\n').includes(torn), 'a line of its own')
    next.prompt('hello')
    await fact('the lead goes on', () => runs(next) === 2)
    await next.close()
    assert.deepEqual(delivered(file), ['scout'])
  })

  it('in a mailbox that cannot be trusted is shown as such, and not touched', async (t) => {
    const { place, file } = await killedUntold(t)
    const [generation] = generations(place)
    assert.ok(generation)
    if (!inPanes) await fact('its agent has left', () => processesIn(place).length === 0)
    chmodSync(join(generation.path, 'generation.json'), 0o644)
    place.rules = [{ when: 'please list', calls: [agentCall({ action: 'list' })] }]
    const next = startPi(place, { session: file })
    next.prompt('please list')
    await fact('the lead is idle', () => runs(next) === 1)
    const [list] = toolAnswers(next)
    assert.deepEqual(list?.details['agents'], [])
    assert.match(
      JSON.stringify(list?.details['diagnostics']),
      /mailbox [0-9a-z]{26} of this tree cannot be trusted \(generation\.json\)/,
    )
    await next.close()
    assert.deepEqual(delivered(file), [])
    assert.deepEqual(generations(place), [generation])
  })

  it('reaches one of two windows on one session, and the other one after the first is killed', async (t) => {
    const place = sandbox(t, [
      start,
      busy,
      work,
      { when: 'please list', calls: [agentCall({ action: 'list' }), delegate('scout', 'more')] },
      heard,
    ])
    const { lead: first, file } = await started(place)
    await fact('the result is durable', () => hasRecord(place, 'result'))
    const second = startPi(place, { session: file })
    second.prompt('please list')
    await fact('the second window answered', () => toolAnswers(second).length === 2)
    const [refused] = toolAnswers(second).filter(({ isError }) => isError)
    const [list] = toolAnswers(second).filter(({ isError }) => !isError)
    assert.match(refused?.text ?? '', /Another window has this session open/)
    assert.match(list?.text ?? '', /"agent": "scout"/)
    assert.match(list?.text ?? '', /Another window acts/)
    assert.deepEqual(delivered(file), [])
    await first.kill()
    await settled(place, [second], 60_000) // the rescan of a lease alone may take half of that
    assert.deepEqual(delivered(file), ['scout'])
    await second.close()
  })
})
