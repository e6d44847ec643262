import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { delivered, generations, hasRecord, sessionFiles } from '../demo/evidence.ts'
import {
  activityIn,
  agentCall,
  delegate,
  fact,
  inPanes,
  mails,
  runs,
  sandbox,
  settled,
  started,
  startPi,
  toolAnswers,
} from './support.ts'

describe('a question with real Pi processes', () => {
  it('reaches an idle owner, is answered, and the same assignment completes', async (t) => {
    const place = sandbox(t, [
      { when: 'please start', calls: [delegate('scout', 'paint it')] },
      { when: 'accepted', say: 'At work.' },
      { when: 'paint it', calls: [{ name: 'ask_owner', args: { question: 'Red or blue?' } }] },
      {
        when: ['cannot go on', 'Red or blue?'],
        calls: [agentCall({ action: 'reply', agent: 'scout', message: 'Blue.' })],
      },
      { when: ['__PI_HERDSMAN_AGENT_V4__:reply:', 'Blue.'], say: 'Painted blue.' },
    ])
    const { lead } = await started(place)
    await lead.until(() => mails(lead)[1])
    await settled(place, [lead])
    assert.equal(mails(lead).length, 2)
    assert.match(
      mails(lead)[0] ?? '',
      /agent=scout definition=scout asks\n\n\[agent scout cannot go on/,
    )
    assert.match(mails(lead)[1] ?? '', /Painted blue\./)
    const reply = toolAnswers(lead).find(({ details }) => details['action'] === 'reply')
    assert.equal(reply?.isError, false, reply?.text)
    await lead.close()
  })

  it('is shown in the list, refuses a steer, and ends with a close', async (t) => {
    const place = sandbox(t, [
      { when: 'please start', calls: [delegate('scout', 'paint it')] },
      { when: 'accepted', say: 'At work.' },
      { when: 'paint it', calls: [{ name: 'ask_owner', args: { question: 'Red or blue?' } }] },
      { when: 'cannot go on', say: 'I think about it.' },
      {
        when: 'please act',
        calls: [
          agentCall({ action: 'list' }),
          agentCall({ action: 'steer', agent: 'scout', message: 'Hurry.' }),
        ],
      },
      { when: 'please close', calls: [agentCall({ action: 'close', agent: 'scout' })] },
      {
        when: 'please reply',
        calls: [agentCall({ action: 'reply', agent: 'scout', message: 'Blue.' })],
      },
    ])
    const { lead } = await started(place)
    await fact('the question is told', () => mails(lead).length === 1)
    await fact('the lead is idle', () => runs(lead) === 2)
    lead.prompt('please act')
    await fact('the lead is idle', () => runs(lead) === 3)
    const answers = toolAnswers(lead)
    const list = answers.find(({ details }) => details['action'] === 'list')
    assert.match(list?.text ?? '', /"state": "blocked"/)
    assert.match(list?.text ?? '', /"question": "Red or blue\?"/)
    assert.match(list?.text ?? '', /"available_actions": \[\s+"reply",\s+"inspect",\s+"close"\s+\]/)
    const steer = answers.find(({ text }) => text.includes('waits for an answer'))
    assert.match(steer?.text ?? '', /^agent_busy: .*\nNext: Answer it with reply/)
    lead.prompt('please close')
    await settled(place, [lead])
    await fact('the lead is idle', () => runs(lead) === 4)
    lead.prompt('please reply')
    await fact('the lead is idle', () => runs(lead) === 5)
    assert.match(toolAnswers(lead).at(-1)?.text ?? '', /^target_not_found: /)
    await lead.close()
  })

  it('must be the only call of its turn', async (t) => {
    const place = sandbox(t, [
      { when: 'please start', calls: [delegate('scout', 'paint it')] },
      { when: 'accepted', say: 'At work.' },
      {
        when: 'paint it',
        calls: [
          { name: 'ask_owner', args: { question: 'Red or blue?' } },
          { name: 'ls', args: {} },
        ],
      },
      { when: 'must be the only tool call', say: 'I decide by myself: red.' },
    ])
    const { lead } = await started(place)
    assert.match(await lead.until(() => mails(lead)[0]), /I decide by myself: red\./)
    await settled(place, [lead])
    await lead.close()
  })

  it('survives kill -9 of its owner, and is told once', async (t) => {
    const place = sandbox(t, [
      { when: 'please start', calls: [delegate('scout', 'paint it')] },
      { when: 'accepted', hang: true },
      { when: 'paint it', calls: [{ name: 'ask_owner', args: { question: 'Red or blue?' } }] },
    ])
    const { lead, file } = await started(place)
    await fact('the question is durable', () => hasRecord(place, 'ask'))
    await lead.kill()
    place.rules = [{ when: 'cannot go on', say: 'I think about it.' }]
    const next = startPi(place, { session: file })
    await fact('the question is told', () => runs(next) === 1)
    await next.close()
    const third = startPi(place, { session: file })
    third.prompt('hello')
    await fact('the third life answers', () => runs(third) === 1)
    assert.equal(mails(next).length, 1)
    assert.equal(mails(third).length, 0)
    await third.close()
  })
})

describe('an agent at work with real Pi processes', () => {
  it('takes a steer into account, and is inspected without noticing', async (t) => {
    const digging = 'while [ ! -e dug ]; do sleep 0.1; done'
    const place = sandbox(t, [
      { when: 'please start', calls: [delegate('generalist', 'dig')] },
      { when: 'accepted', say: 'At work.' },
      { when: 'dig', calls: [{ name: 'bash', args: { command: digging } }] },
      {
        when: 'please steer',
        calls: [
          agentCall({ action: 'inspect', agent: 'generalist' }),
          agentCall({
            action: 'steer',
            agent: 'generalist',
            message: 'Dig left.',
            files: ['map.txt'],
          }),
        ],
      },
      {
        when: ['__PI_HERDSMAN_AGENT_V4__:steer:', 'Dig left.', 'here be dragons'],
        say: 'Dug left.',
      },
    ])
    place.write('map.txt', 'here be dragons\n')
    const { lead } = await started(place)
    await fact('the lead is idle', () => runs(lead) === 1)
    await fact('the agent notes its command', () =>
      generations(place).some(({ path }) => activityIn(path).includes('bash')),
    )
    lead.prompt('please steer')
    await fact('it is steered', () => toolAnswers(lead).length === 3)
    place.write('dug', '')
    assert.match(await lead.until(() => mails(lead)[0]), /Dug left\./)
    const inspected = toolAnswers(lead).find(({ details }) => details['action'] === 'inspect')
    assert.match(inspected?.text ?? '', /^agent=generalist session=\S+ (pane=\S+ )?pid=\d+/)
    assert.match(inspected?.text ?? '', inPanes ? /\n \$ while \[ / : /\ntool bash /)
    if (process.platform === 'linux')
      assert.match(inspected?.text ?? '', /\nIt runs.*\n\d+ \S*sh -c while \[ ! -e dug \]/)
    assert.equal(inspected?.details['recent_output_truncated'], false)
    const steered = toolAnswers(lead).find(({ details }) => details['action'] === 'steer')
    assert.match(String(steered?.details['outcome']), /accepted|consumed/)
    await settled(place, [lead])
    await lead.close()
  })

  it('is given its files, body and limits of its definition', async (t) => {
    const place = sandbox(t, [
      { when: 'please start', calls: [delegate('mole', 'dig', { files: ['map.txt'] })] },
      { when: 'accepted', say: 'At work.' },
      { when: ['dig', 'here be dragons'], calls: [{ name: 'bash', args: { command: 'true' } }] },
      { when: 'Tool bash not found', say: 'I have no bash.' },
    ])
    place.write('map.txt', 'here be dragons\n')
    mkdirSync(join(place.agentDirectory, 'agents'))
    writeFileSync(
      join(place.agentDirectory, 'agents/mole.md'),
      '---\ndescription: digs\ntools: read\nthinking: off\n---\nYou dig.\n',
    )
    const { lead } = await started(place)
    assert.match(await lead.until(() => mails(lead)[0]), /I have no bash\./)
    await settled(place, [lead])
    await lead.close()
  })
})

describe('a permission with real Pi processes', () => {
  it('to ask takes the tool away, and the agent is told why and puts it to its owner', async (t) => {
    const place = sandbox(t, [
      { when: 'please start', calls: [agentCall({ action: 'list' }), delegate('mole', 'dig')] },
      { when: 'accepted', say: 'At work.' },
      { when: 'dig', calls: [{ name: 'bash', args: { command: 'true' } }] },
      {
        when: 'Tool bash not found',
        system: '(permission ask of the definition mole)',
        calls: [{ name: 'ask_owner', args: { question: 'Will you run true for me?' } }],
      },
      {
        when: ['cannot go on', 'Will you run true'],
        calls: [agentCall({ action: 'reply', agent: 'mole', message: 'It was run.' })],
      },
      { when: ['reply:', 'It was run.'], say: 'I go on without it.' },
    ])
    mkdirSync(join(place.agentDirectory, 'agents'))
    writeFileSync(
      join(place.agentDirectory, 'agents/mole.md'),
      '---\ndescription: digs\npermission: ask\nthinking: off\n---\nYou dig.\n',
    )
    const { lead } = await started(place)
    assert.match(await lead.until(() => mails(lead)[1]), /I go on without it\./)
    assert.match(mails(lead)[0] ?? '', /Will you run true for me\?/)
    await settled(place, [lead])
    const [list] = toolAnswers(lead)
    const definitions = list?.details['agent_definitions'] as Record<string, unknown>[]
    assert.equal(definitions.find(({ name }) => name === 'mole')?.['permission'], 'ask')
    await lead.close()
  })
})

describe('a saved session with real Pi processes', () => {
  it('is taken up again by a new agent with its history, definition and directory', async (t) => {
    const place = sandbox(t, [
      { when: 'please start', calls: [delegate('scout', 'remember the milk')] },
      { when: 'accepted', say: 'At work.' },
      { when: 'remember the milk', say: 'I remember.' },
      { when: 'what was it', say: 'It was the milk.' },
    ])
    const { lead, file } = await started(place)
    await fact('the result is told', () => delivered(file).length === 1)
    await settled(place, [lead])
    const session = String(toolAnswers(lead)[0]?.details['pi_session_id'])
    const own = /_([0-9a-f-]{36})\.jsonl$/.exec(file)?.[1] ?? ''
    place.rules = [
      {
        when: 'please continue',
        calls: [
          agentCall({ action: 'delegate', session, task: 'what was it', label: 'again' }),
          agentCall({ action: 'delegate', session: own, task: 'x' }),
          agentCall({
            action: 'delegate',
            session: '01a22e3f-0000-7000-8000-000000000000',
            task: 'x',
          }),
          agentCall({ action: 'delegate', session, task: 'x', cwd: '/tmp' }),
          agentCall({
            action: 'delegate',
            definition: 'scout',
            fork: own,
            task: 'what was it',
            label: 'copy',
          }),
        ],
      },
      { when: 'accepted', say: 'At work.' },
      { when: 'what was it', say: 'It was the milk.' },
    ]
    await lead.close()
    const next = startPi(place, { session: file })
    next.prompt('please continue')
    await fact('both results are told', () => delivered(file).length === 3)
    await settled(place, [next])
    const texts = toolAnswers(next).map(({ text }) => text)
    assert.ok(
      texts.some((text) => text.startsWith(`agent=again definition=scout session=${session} `)),
    )
    assert.ok(
      texts.some((text) =>
        /cannot be delegated to itself\.\nNext: Give definition, and this session as fork/.test(
          text,
        ),
      ),
    )
    assert.ok(texts.some((text) => /^target_not_found: no saved session has the id/.test(text)))
    assert.ok(
      texts.some((text) => /unknown field cwd\.\nNext: Fields of delegate by session/.test(text)),
    )
    const files = sessionFiles(place).map((name) => join(place.agentDirectory, 'sessions', name))
    const continued = readFileSync(files.find((name) => name.includes(session)) ?? '', 'utf8')
    assert.match(continued, /I remember\.[\s\S]*It was the milk\./)
    const copy = files
      .map((name) => readFileSync(name, 'utf8'))
      .find((text) => text.includes(`"parentSession":"${file}"`) && text.includes('please start'))
    assert.match(copy ?? '', /"drover":\{"definition":"scout"/)
    assert.deepEqual(delivered(file).sort(), ['again', 'copy', 'scout'])
    await next.close()
  })
})
