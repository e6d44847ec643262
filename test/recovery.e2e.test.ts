import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { delivered, generations, hasRecord } from '../demo/evidence.ts'
import type { PiProcess, Sandbox } from '../demo/pi-process.ts'
import { systemProcesses } from '../mailbox/index.ts'
import {
  agentCall,
  answersTo,
  delegate,
  fact,
  mails,
  notices,
  placement,
  printPi,
  runs,
  sandbox,
  sessionFile,
  settled,
  started,
  startPi,
  toolAnswers,
} from './support.ts'

const reloadCommand = join(import.meta.dirname, 'fixtures/reload-command.ts')

const start = { when: 'please start', calls: [delegate('generalist', 'dig')] }
const idle = { when: 'accepted', say: 'At work.' }
/** The agent digs until the test says that it is through. */
const dig = {
  when: 'dig',
  calls: [
    { name: 'bash', args: { command: 'until [ -e go ]; do sleep 0.05; done; echo went through' } },
  ],
}
const through = { when: 'went through', say: 'I am through.' }
const list = { when: 'please list', calls: [agentCall({ action: 'list' })] }
const sayGo = (place: Sandbox) => place.write('go', '')

/** The agent has taken its task, and its lead waits for nothing but its person. */
async function atWork(place: Sandbox, lead: PiProcess): Promise<void> {
  await fact('the agent is at work', () => hasRecord(place, 'ack'))
  await fact('the lead is idle', () => runs(lead) === 1)
}

const reloads = (lead: PiProcess): number =>
  notices(lead).filter((notice) => notice === 'reloaded').length

async function reload(lead: PiProcess): Promise<void> {
  const before = reloads(lead)
  lead.prompt('/reload-now')
  await lead.until(() => reloads(lead) > before)
}

/** The one answer to a prompt that has a lead list its agents. */
async function listed(lead: PiProcess): Promise<readonly Record<string, unknown>[]> {
  const before = runs(lead)
  const [answer] = await answersTo(lead, 'please list')
  await fact('the lead is idle', () => runs(lead) === before + 1)
  return answer?.details['agents'] as Record<string, unknown>[]
}

/** One more run, by its person, and none by anybody else. */
async function goesOnWith(lead: PiProcess, before: number): Promise<void> {
  assert.equal(runs(lead), before)
  lead.prompt('hello')
  await fact('the lead goes on', () => runs(lead) === before + 1)
}

const leftNotices = (lead: PiProcess): readonly string[] =>
  notices(lead).filter((notice) => notice.startsWith('Agents of the session you left'))

const workOnIn = (file: string): string =>
  `Agents of the session you left: 1 works on. What they have to say comes when you open it again: ${file}`

describe('/reload in a lead', () => {
  it('goes on with the same agents, and twice brings a result once', async (t) => {
    const place = sandbox(t, [
      { ...start, calls: [delegate('generalist', 'dig'), delegate('scout', 'think')] },
      idle,
      dig,
      { when: 'think', hang: true },
      list,
      {
        when: 'please act',
        calls: [
          agentCall({ action: 'steer', agent: 'generalist', message: 'Dig left.' }),
          agentCall({ action: 'close', agent: 'scout' }),
        ],
      },
      { when: 'Dig left.', say: 'Dug left.' },
    ])
    const { lead, file } = await started(place, { extensions: [reloadCommand] })
    await fact('the lead is idle', () => runs(lead) === 1)
    const before = generations(place).map(({ path }) => path)
    await reload(lead)
    const rows = await listed(lead)
    assert.deepEqual(
      rows.map(({ agent, state }) => [agent, state]),
      [
        ['generalist', 'working'],
        ['scout', 'working'],
      ],
    )
    assert.deepEqual(
      generations(place).map(({ path }) => path),
      before,
    )
    const answers = await answersTo(lead, 'please act', 2)
    for (const { isError, text } of answers) assert.equal(isError, false, text)
    await reload(lead)
    sayGo(place)
    assert.match(await lead.until(() => mails(lead)[0]), /Dug left\./)
    await settled(place, [lead])
    await fact('the lead is idle', () => runs(lead) === 4)
    await goesOnWith(lead, 4)
    assert.deepEqual(delivered(file), ['generalist'])
    await lead.close()
  })

  for (const [moment, command] of [
    ['while the lead is busy', '/reload-now'],
    ['once the lead is idle, before it is told', '/reload-now idle'],
  ] as const)
    it(`${moment}, brings a result once that was there before`, async (t) => {
      const place = sandbox(t, [
        start,
        { ...idle, hang: true },
        dig,
        through,
        { when: 'agent=generalist', say: 'I have heard it.' },
      ])
      const { lead, file } = await started(place, { extensions: [reloadCommand] })
      sayGo(place)
      await fact('the result is durable', () => hasRecord(place, 'result'))
      lead.prompt(command)
      await lead.request('get_state') // answered after it has taken the command
      assert.deepEqual(delivered(file), [])
      await lead.request('abort')
      await lead.until(() => reloads(lead) === 1)
      await settled(place, [lead])
      await fact('the lead is idle', () => runs(lead) === 2)
      await goesOnWith(lead, 2)
      assert.deepEqual(delivered(file), ['generalist'])
      await lead.close()
    })
})

describe('a lead that goes to another session', () => {
  it('by /new and /resume hears of its agents there, and what they say in the old one, once', async (t) => {
    const place = sandbox(t, [start, idle, dig, through, list])
    const { lead, file } = await started(place)
    await atWork(place, lead)
    await lead.request('new_session')
    assert.equal(await lead.until(() => leftNotices(lead)[0]), workOnIn(file))
    assert.deepEqual(await listed(lead), [])
    const other = await sessionFile(lead)
    assert.notEqual(other, file)

    await lead.request('switch_session', { sessionPath: file })
    const [row] = await listed(lead)
    assert.deepEqual([row?.['agent'], row?.['state']], ['generalist', 'working'])
    await lead.request('switch_session', { sessionPath: other })
    assert.equal(await lead.until(() => leftNotices(lead)[1]), workOnIn(file))

    sayGo(place)
    await fact('the result is durable', () => hasRecord(place, 'result'))
    assert.deepEqual(await listed(lead), [])
    assert.deepEqual(mails(lead), [])
    await lead.request('switch_session', { sessionPath: file })
    assert.match(await lead.until(() => mails(lead)[0]), /I am through\./)
    await settled(place, [lead])
    await lead.request('switch_session', { sessionPath: other })
    await goesOnWith(lead, 5)
    assert.deepEqual([delivered(file), delivered(other)], [['generalist'], []])
    assert.equal(leftNotices(lead).length, 2, 'none of a session without agents')
    await lead.close()
  })

  it('by /fork owns nothing there', async (t) => {
    const place = sandbox(t, [start, idle, dig, through, list])
    const { lead, file } = await started(place)
    await atWork(place, lead)
    lead.prompt('hello')
    await fact('the lead is idle', () => runs(lead) === 2)
    const { messages } = await lead.request('get_fork_messages')
    const { entryId } = (messages as { entryId: string; text: string }[]).at(-1) ?? {}
    await lead.request('fork', { entryId })
    assert.equal(await lead.until(() => leftNotices(lead)[0]), workOnIn(file))
    const fork = await sessionFile(lead)
    assert.match(readFileSync(fork, 'utf8'), /agent=generalist/, 'it remembers all of it')
    assert.deepEqual(await listed(lead), [])

    sayGo(place)
    await fact('the result is durable', () => hasRecord(place, 'result'))
    await goesOnWith(lead, 3)
    await lead.request('switch_session', { sessionPath: file })
    assert.match(await lead.until(() => mails(lead)[0]), /I am through\./)
    await settled(place, [lead])
    assert.deepEqual([delivered(file), delivered(fork)], [['generalist'], []])
    assert.equal(leftNotices(lead).length, 1)
    await lead.close()
  })
})

describe('a lead in print mode', () => {
  it('ends with its answer, and the result comes when its session is opened again', async (t) => {
    const place = sandbox(t, [
      start,
      { when: 'the result comes when this session is opened again', say: 'Come back later.' },
      dig,
      through,
    ])
    const file = join(place.project, 'lead.jsonl')
    const answer = await printPi(place, ['--session', file, 'please start'])
    assert.deepEqual(answer, { code: 0, stdout: 'Come back later.\n' })
    assert.equal(generations(place).length, 1)
    sayGo(place)
    await fact('the result is durable', () => hasRecord(place, 'result'))
    assert.deepEqual(delivered(file), [])
    const next = startPi(place, { session: file })
    await settled(place, [next])
    await fact('it is told', () => runs(next) === 1)
    await goesOnWith(next, 1)
    assert.deepEqual(delivered(file), ['generalist'])
    await next.close()
  })
})

describe('an agent whose process was killed', () => {
  it('is not brought back by Pi on its session, is closed, and its session is continued', async (t) => {
    const place = sandbox(t, [
      { ...start, calls: [delegate('scout', 'think')] },
      idle,
      { when: 'think', hang: true },
    ])
    const { lead, file } = await started(place)
    await atWork(place, lead)
    const session = String(toolAnswers(lead)[0]?.details['pi_session_path'])
    await killAgent(place)
    const records = JSON.stringify(generations(place))

    const visitor = startPi(place, { session })
    assert.match(await visitor.until(() => notices(visitor)[0]), /belongs to the agent scout/)
    visitor.prompt('/drover-serve')
    await visitor.event(({ type }) => type === 'extension_error')
    visitor.prompt('hello')
    await fact('it is plain Pi', () => runs(visitor) === 1)
    await visitor.close()
    assert.equal(JSON.stringify(generations(place)), records)
    await lead.close()

    place.rules = [
      list,
      { when: 'please close', calls: [agentCall({ action: 'close', agent: 'scout' })] },
      { when: 'please go on', calls: [agentCall({ action: 'delegate', session, task: 'rest' })] },
      idle,
      { when: 'rest', say: 'I rested.' },
    ]
    const next = startPi(place, { session: file })
    const [row] = await listed(next)
    assert.deepEqual([row?.['agent'], row?.['state']], ['scout', 'lost'])
    const [close] = await answersTo(next, 'please close')
    assert.equal(close?.isError, false, close?.text)
    await settled(place, [next])
    await fact('the lead is idle', () => runs(next) === 2)
    const [answer] = await answersTo(next, 'please go on')
    assert.equal(answer?.details['pi_session_path'], session, answer?.text)
    assert.match(await next.until(() => mails(next)[0]), /I rested\./)
    await settled(place, [next])
    assert.deepEqual(delivered(file), ['scout'])
    await next.close()
  })
})

describe('another boot of the machine', () => {
  it('finds every agent lost, though pids and start times are the same, and tells a result once', async (t) => {
    const place = sandbox(t, [
      { ...start, calls: [delegate('generalist', 'dig'), delegate('scout', 'think')] },
      { ...idle, hang: true },
      dig,
      through,
      { when: 'think', hang: true },
    ])
    const { lead, file } = await started(place)
    await fact('both are at work', () => toolAnswers(lead).length === 2)
    sayGo(place)
    await fact('the result is durable', () => hasRecord(place, 'result'))
    await lead.kill()
    pretendReboot(place)

    place.rules = [
      list,
      { when: 'please close', calls: [agentCall({ action: 'close', agent: 'scout' })] },
    ]
    const next = startPi(place, { session: file })
    assert.match(await next.until(() => mails(next)[0]), /I am through\./)
    await fact('the lead is idle', () => runs(next) === 1)
    await fact('what was told is settled', () => generations(place).length === 1)
    const rows = await listed(next)
    assert.deepEqual(
      rows.map(({ agent, state }) => [agent, state]),
      [['scout', 'lost']],
    )
    const [close] = await answersTo(next, 'please close')
    assert.equal(close?.isError, false, close?.text)
    await settled(place, [next])
    await fact('the lead is idle', () => runs(next) === 3)
    await goesOnWith(next, 3)
    assert.deepEqual(delivered(file), ['generalist'])
    await next.close()
  })
})

async function killAgent(place: Sandbox): Promise<void> {
  const agent = await fact('the agent is placed', () => placement(place))
  process.kill(agent.pid, 'SIGKILL')
  await fact('it is gone', () => systemProcesses().presence(agent) === 'gone')
}

/** All that Drover wrote so far says that it was written in an earlier boot. */
function pretendReboot({ agentDirectory }: Sandbox): void {
  const { boot } = systemProcesses().self()
  const earlier = '00000000-0000-4000-8000-000000000000'
  const mailboxes = join(agentDirectory, 'drover', 'mailboxes-v4')
  for (const entry of readdirSync(mailboxes, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isFile()) writeFileSync(path, readFileSync(path, 'utf8').replaceAll(boot, earlier))
  }
}
