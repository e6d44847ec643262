import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { delivered, generations, hasRecord } from '../demo/evidence.ts'
import {
  agentCall,
  delegate,
  fact,
  mails,
  notices,
  runs,
  sandbox,
  settled,
  started,
  startPi,
  toolAnswers,
} from './support.ts'

describe('what a process is', () => {
  it('is a parent where its definition allows children, and its result waits for theirs', async (t) => {
    const place = sandbox(t, [
      { when: 'please start', calls: [delegate('generalist', 'manage this')] },
      { when: 'manage this', calls: [delegate('scout', 'count the files')] },
      { when: 'accepted', say: 'At work.' },
      { when: 'count the files', say: 'There are 3 files.', afterMs: 1_000 },
      { when: 'agent=scout', say: 'My scout found 3 files.' },
    ])
    const { lead, file } = await started(place)
    await fact('two generations live', () => generations(place).length === 2)
    const told = await lead.until(() => mails(lead)[0])
    assert.match(told, /My scout found 3 files\./)
    await settled(place, [lead])
    assert.deepEqual(delivered(file), ['generalist'])
    await lead.close()
  })

  it('is no parent where its definition allows none', async (t) => {
    const place = sandbox(t, [
      { when: 'please start', calls: [delegate('scout', 'manage this')] },
      { when: 'accepted', say: 'At work.' },
      { when: 'manage this', calls: [delegate('scout', 'count the files')] },
      { when: 'not found', say: 'I may not delegate.' },
    ])
    const { lead } = await started(place)
    const told = await lead.until(() => mails(lead)[0])
    assert.match(told, /I may not delegate\./)
    await settled(place, [lead])
    await lead.close()
  })

  it('is a bystander in a session that belongs to an agent, and says so', async (t) => {
    const place = sandbox(t, [
      { when: 'please start', calls: [delegate('scout', 'think')] },
      { when: 'accepted', say: 'At work.' },
      { when: 'think', hang: true },
    ])
    const { lead } = await started(place)
    await fact('the agent is at work', () => hasRecord(place, 'ack'))
    const [answer] = await fact('the tool answered', () => {
      const answers = toolAnswers(lead)
      return answers.length === 1 && answers
    })
    const session = String(answer?.details['pi_session_path'])
    const visitor = startPi(place, { session })
    const told = await visitor.until(() => notices(visitor)[0])
    assert.match(told, /This session belongs to the agent scout/)
    visitor.prompt('please start')
    await fact('the visitor was answered', () => runs(visitor) === 1)
    assert.match(JSON.stringify(visitor.events), /Tool agent not found/)
    visitor.prompt('/drover-serve')
    await fact('it is refused', () => visitor.events.some(({ type }) => type === 'extension_error'))
    assert.match(JSON.stringify(visitor.events), /this session is not one of them/)
    await visitor.close()
    assert.equal(generations(place).length, 1, 'the agent works on')
    await lead.close()
  })

  it('takes nothing of its parent into a fork', async (t) => {
    const place = sandbox(t, [
      { when: 'please start', calls: [delegate('scout', 'think')] },
      { when: 'accepted', say: 'At work.' },
      { when: 'think', hang: true },
      { when: 'please list', calls: [agentCall({ action: 'list' })] },
    ])
    const { lead, file } = await started(place)
    await fact('the lead is idle', () => runs(lead) === 1)
    await lead.close()
    const fork = startPi(place, { args: ['--fork', file] })
    fork.prompt('please list')
    await fact('the fork answered', () => toolAnswers(fork).length === 1)
    assert.deepEqual(toolAnswers(fork)[0]?.details['agents'], [])
    await fork.close()
    assert.equal(generations(place).length, 1, `the agent still belongs to ${file}`)
  })
})

describe('a tree of agents', () => {
  it('is shown whole, a leaf asks its parent alone, and a close in the middle ends all of it', async (t) => {
    const place = sandbox(t, [
      { when: 'please start', calls: [delegate('generalist', 'manage this')] },
      { when: 'manage this', calls: [delegate('scout', 'paint it'), delegate('scout', 'think')] },
      { when: 'accepted', say: 'At work.' },
      { when: 'paint it', calls: [{ name: 'ask_owner', args: { question: 'Red or blue?' } }] },
      { when: 'cannot go on', say: 'I think about it.' },
      { when: 'think', hang: true },
      { when: 'please list', calls: [agentCall({ action: 'list' })] },
      { when: 'please close', calls: [agentCall({ action: 'close', agent: 'generalist' })] },
    ])
    const { lead, file } = await started(place)
    await fact(
      'both leaves are at work, one asks',
      () =>
        hasRecord(place, 'ask') &&
        generations(place).length === 3 &&
        generations(place).every(({ records }) => records.some(({ kind }) => kind === 'ack')),
    )
    await fact('the lead is idle', () => runs(lead) === 1)
    lead.prompt('please list')
    await fact('the lead is idle', () => runs(lead) === 2)
    const listed = toolAnswers(lead).at(-1)?.details['agents'] as Record<string, unknown>[]
    assert.deepEqual(
      listed.map(({ agent, parent_label: parent, available_actions: may }) => [agent, parent, may]),
      [
        ['generalist', undefined, ['steer', 'inspect', 'close']],
        ['scout', 'generalist', []],
        ['scout-2', 'generalist', []],
      ],
    )
    lead.prompt('please close')
    await fact('the lead is idle', () => runs(lead) === 3)
    const closed = toolAnswers(lead).at(-1)
    assert.equal(closed?.isError, false, closed?.text)
    const labels = closed?.details['closed'] as string[]
    assert.deepEqual([...labels].sort(), ['generalist', 'scout', 'scout-2'])
    assert.equal(labels.at(-1), 'generalist', 'children first')
    await settled(place, [lead])
    assert.deepEqual(delivered(file), [], "the question was its parent's, and nobody else was told")
    await lead.close()
  })
})
