import assert from 'node:assert/strict'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { delivered, generations, leftovers, processesIn, sessionFiles } from '../demo/evidence.ts'
import { systemProcesses } from '../mailbox/index.ts'
import {
  activityIn,
  agentCall,
  answersTo,
  delegate,
  fact,
  inPanes,
  mails,
  placement,
  runs,
  sandbox,
  sessionFile,
  settled,
  startPi,
} from './support.ts'

const brokenAgent = join(import.meta.dirname, 'fixtures/broken-agent.ts')
const abortRun = join(import.meta.dirname, 'fixtures/abort-run.ts')

describe('an agent with real Pi processes', () => {
  it('is lost when it is killed, and its close ends what it had started', async (t) => {
    const place = sandbox(t, [
      { when: 'please start', calls: [delegate('generalist', 'run long')] },
      { when: 'accepted', say: 'At work.' },
      { when: 'run long', calls: [{ name: 'bash', args: { command: 'sleep 987 & sleep 986' } }] },
      { when: 'please list', calls: [agentCall({ action: 'list' })] },
      { when: 'please close', calls: [agentCall({ action: 'close', agent: 'generalist' })] },
    ])
    const lead = startPi(place)
    await answersTo(lead, 'please start', 1)
    const agent = await fact('the agent is placed', () => placement(place))
    await fact('its shell and both children run', () => processesIn(place).length >= 5)
    process.kill(agent.pid, 'SIGKILL')
    await fact('it is gone', () => systemProcesses().presence(agent) === 'gone')
    // The notice may begin the next run as soon as the first one ends.
    assert.match(await lead.until(() => mails(lead)[0]), /^agent=generalist .* lost\n/)
    await fact('the lead is idle again', () => runs(lead) === 2)
    const [list] = await answersTo(lead, 'please list', 1)
    assert.match(list?.text ?? '', /"state": "lost"/)
    assert.ok(processesIn(place).length >= 3, 'its children outlive it')
    const [close] = await answersTo(lead, 'please close', 1)
    assert.equal(close?.isError, false, close?.text)
    await settled(place, [lead])
    await lead.close()
  })

  it('is closed in the middle of its work, and its label is free again', async (t) => {
    const place = sandbox(t, [
      { when: 'please start', calls: [delegate('scout', 'think', { label: 'deep-thought' })] },
      { when: 'accepted', say: 'At work.' },
      { when: 'think', hang: true },
      { when: 'again', calls: [delegate('scout', 'think', { label: 'deep-thought' })] },
      { when: 'please close', calls: [agentCall({ action: 'close', agent: 'deep-thought' })] },
    ])
    const lead = startPi(place)
    await answersTo(lead, 'please start', 1)
    await fact('the lead is idle', () => runs(lead) === 1)
    const [taken] = await answersTo(lead, 'again', 1)
    assert.match(
      taken?.text ?? '',
      /agent_label_exists: An agent called deep-thought exists already/,
    )
    await fact('the lead is idle', () => runs(lead) === 2)
    const [close] = await answersTo(lead, 'please close', 1)
    assert.match(close?.text ?? '', /agent=deep-thought closed/)
    await settled(place, [lead])
    await fact('the lead is idle', () => runs(lead) === 3)
    const [free] = await answersTo(lead, 'again', 1)
    assert.equal(free?.isError, false, free?.text)
    assert.deepEqual(delivered(await sessionFile(lead)), [])
    await lead.close()
    assert.equal(generations(place).length, 1, 'it works on without its lead')
  })

  it('whose run another extension stops has failed, and leaves', async (t) => {
    const place = sandbox(t, [
      { when: 'please start', calls: [delegate('scout', 'look')] },
      { when: 'accepted', say: 'At work.' },
      { when: 'look', calls: [{ name: 'ls', args: {} }] },
    ])
    const lead = startPi(place, { extensions: [abortRun] })
    await answersTo(lead, 'please start', 1)
    if (inPanes) {
      // A person sits before it, who may go on.
      await fact('it waits', () =>
        generations(place).some(({ path }) => /"waiting":"person"/.test(activityIn(path))),
      )
      await lead.close()
      return
    }
    const told = await lead.until(() => mails(lead)[0])
    assert.match(told, /^agent=scout .* failed\n/)
    assert.match(told, /\[scout failed: interrupted\] The run was stopped/)
    await settled(place, [lead])
    await lead.close()
  })

  it('that ends at its start is reported with its last words, and nothing of it is left', async (t) => {
    const place = sandbox(t, [{ when: 'please start', calls: [delegate('scout', 'anything')] }])
    const lead = startPi(place, { extensions: [brokenAgent] })
    const [answer] = await answersTo(lead, 'please start', 1)
    assert.equal(answer?.isError, true)
    assert.match(
      answer?.text ?? '',
      /pane_not_ready: The agent scout did not start: its process ended/,
    )
    assert.match(answer?.text ?? '', /licence server says no/)
    assert.match(answer?.text ?? '', /Next: /)
    await settled(place, [lead])
    assert.equal(sessionFiles(place).length, 1, 'only the session of the lead')
    await lead.close()
  })

  it('whose definition keeps the provider of its model from it does not start, and its model is named', async (t) => {
    const place = sandbox(t, [{ when: 'please start', calls: [delegate('hermit', 'anything')] }])
    mkdirSync(join(place.agentDirectory, 'agents'))
    writeFileSync(
      join(place.agentDirectory, 'agents/hermit.md'),
      '---\ndescription: alone\nnoExtensions: true\n---\nYou are alone.\n',
    )
    const lead = startPi(place)
    const [answer] = await answersTo(lead, 'please start', 1)
    assert.match(answer?.text ?? '', /^pane_not_ready: The agent hermit did not start/)
    assert.match(answer?.text ?? '', /scripted\/actor/)
    await settled(place, [lead])
    await lead.close()
  })

  it('that never gets ready is ended when its time is up, and reported with its last words', async (t) => {
    const place = sandbox(t, [
      { when: 'please start', calls: [delegate('scout', 'anything', { timeoutMs: 5_001 })] },
    ])
    const lead = startPi(place, { extensions: [brokenAgent], env: { BREAK_AGENT: 'hang' } })
    const [answer] = await answersTo(lead, 'please start', 1)
    assert.match(answer?.text ?? '', /did not take the task within 5001 ms/)
    assert.match(answer?.text ?? '', /waiting for a licence server/)
    await settled(place, [lead])
    await lead.close()
  })
})

describe('a wrong request', () => {
  it('is refused with what is wrong and what to do, and starts nothing', async (t) => {
    const place = sandbox(t, [])
    const file = join(place.project, 'a-file')
    writeFileSync(file, '')
    symlinkSync('loop', join(place.project, 'loop'))
    const wrong: readonly (readonly [Record<string, unknown>, RegExp])[] = [
      [{ action: 'fly' }, /action is "fly".*\n.*list, delegate, steer, reply, inspect, close/],
      [{}, /action is missing/],
      [{ action: 'delegate', definition: 'scout' }, /task: .*\n.*Fields of delegate/],
      [{ action: 'delegate', definition: 'scout', task: ' \n' }, /task: must not be blank/],
      [{ action: 'delegate', definition: 'scout', task: 'x', speed: 9 }, /unknown field speed/],
      [{ action: 'delegate', definition: 'scout', task: { a: 1 } }, /task: .*expected string/],
      [{ action: 'delegate', definition: 'scout', task: 'x', agent: 'y' }, /unknown field agent/],
      [
        { action: 'delegate', definition: 'reveiwer', task: 'x' },
        /did you mean "reviewer".*generalist, implementer/,
      ],
      [
        { action: 'delegate', definition: 'scout', task: 'x', label: 'Big Name' },
        /label: starts with a-z/,
      ],
      [
        { action: 'delegate', definition: 'scout', task: 'x'.repeat(131_072) },
        /at most 131072 are admitted/,
      ],
      [
        { action: 'delegate', definition: 'scout', task: 'x', cwd: '/no/such/place' },
        /does not exist/,
      ],
      [{ action: 'delegate', definition: 'scout', task: 'x', cwd: file }, /is not a directory/],
      ...['loop', 'y'.repeat(300), `${'y/'.repeat(3_000)}y`, 'a\0b'].map(
        (cwd) =>
          [
            { action: 'delegate', definition: 'scout', task: 'x', cwd },
            /^invalid_request: cwd .* does not exist/,
          ] as const,
      ),
      [{ action: 'delegate', definition: 'scout', task: 'x', timeoutMs: 5_000 }, /timeoutMs: /],
      [{ action: 'delegate', definition: 'scout', task: 'x', timeoutMs: 300_001 }, /timeoutMs: /],
      [{ action: 'delegate', definition: 'scout', task: 'x', timeoutMs: 'soon' }, /timeoutMs: /],
      [{ action: 'list', agent: 'x' }, /unknown field agent/],
      [{ action: 'close' }, /agent: /],
      [{ action: 'close', agent: 'nobody' }, /target_not_found: There is no agent called nobody/],
    ]
    place.rules = [{ when: 'all wrong', calls: wrong.map(([args]) => agentCall(args)) }]
    const lead = startPi(place)
    lead.prompt('all wrong')
    await fact('the run is over', () => runs(lead) === 1)
    const messages = lead.events
      .filter(({ type }) => type === 'message_end')
      .map(
        (event) =>
          event['message'] as { role: string; isError: boolean; content: { text: string }[] },
      )
      .filter(({ role }) => role === 'toolResult')
    assert.equal(messages.length, wrong.length)
    for (const [i, [args, expected]] of wrong.entries()) {
      const text = messages[i]?.content[0]?.text ?? ''
      assert.match(text, expected, JSON.stringify(args).slice(0, 200))
      assert.match(text, /^(invalid_request|target_not_found): /)
      assert.match(text, /\nNext: /)
      assert.equal(messages[i]?.isError, true)
    }
    assert.deepEqual(generations(place), [])
    assert.deepEqual(leftovers(place), [])
    assert.deepEqual(processesIn(place), [lead.pid])
    await lead.close()
  })

  it('from a session that is not saved says so', async (t) => {
    const place = sandbox(t, [{ when: 'please start', calls: [delegate('scout', 'x')] }])
    const lead = startPi(place, { args: ['--no-session'] })
    const [answer] = await answersTo(lead, 'please start', 1)
    assert.match(answer?.text ?? '', /invalid_request: This session is not saved/)
    assert.match(answer?.text ?? '', /Next: Start Pi without --no-session/)
    await lead.close()
  })
})

describe('a setting that is not valid', () => {
  it('is named by a list', async (t) => {
    const place = sandbox(t, [{ when: 'please list', calls: [agentCall({ action: 'list' })] }])
    writeFileSync(join(place.agentDirectory, 'drover.json'), '{"liveAgentsMax": 0}')
    const lead = startPi(place)
    const [list] = await answersTo(lead, 'please list', 1)
    assert.match(
      JSON.stringify(list?.details['diagnostics']),
      /drover\.json: liveAgentsMax is ignored/,
    )
    await lead.close()
  })
})
