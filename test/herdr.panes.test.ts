import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { delivered, generations, hasRecord, processesIn } from '../demo/evidence.ts'
import type { Sandbox } from '../demo/pi-process.ts'
import type { ScriptRule } from '../demo/scripted-model.ts'
import { FakeHerdr } from '../herdr/testing/index.ts'
import {
  activityIn,
  agentCall,
  answersTo,
  delegate,
  fact,
  mails,
  runs,
  sandbox,
  settled,
  started,
  startPi,
  toolAnswers,
} from './support.ts'

const integration = join(import.meta.dirname, 'fixtures/herdr-integration.ts')
const dialog = join(import.meta.dirname, 'fixtures/dialog.ts')

const idle = { when: 'accepted', say: 'At work.' }
const start = { when: 'please start', calls: [delegate('scout', 'dig')] }
const list = { when: 'please list', calls: [agentCall({ action: 'list' })] }

/** A sandbox, and a herdr of its own in which its leads live. */
async function inHerdr(
  t: TestContext,
  rules: readonly ScriptRule[],
): Promise<{ readonly place: Sandbox; readonly herdr: FakeHerdr; readonly own: string }> {
  const place = sandbox(t, rules)
  const { PATH, TMPDIR } = process.env
  const env = { PATH, TMPDIR, HOME: place.home, PS1: '$ ' }
  const herdr = await FakeHerdr.start({ directory: place.directory, env, profile: '0.9.2' })
  t.after(() => herdr.stop())
  const own = herdr.adopt(process.pid)
  place.around = herdr.environment(own)
  return { place, herdr, own: own.pane_id }
}

/** The panes of agents. */
const agents = (herdr: FakeHerdr, own: string) =>
  herdr.panes().filter(({ pane_id }) => pane_id !== own)

const firstAgent = (herdr: FakeHerdr, own: string) =>
  fact('the agent has a pane', () => agents(herdr, own)[0])

const set = (place: Sandbox, settings: Record<string, unknown>) =>
  writeFileSync(join(place.agentDirectory, 'drover.json'), JSON.stringify(settings))

const asking = [
  start,
  idle,
  { when: 'dig', calls: [{ name: 'ask_owner', args: { question: 'Left or right?' } }] },
  { when: 'cannot go on', say: 'I think about it.' },
  {
    when: 'please reply',
    calls: [agentCall({ action: 'reply', agent: 'scout', message: 'Left.' })],
  },
  { when: ['reply:', 'Left.'], say: 'Dug left.' },
]

describe('an agent in a pane of herdr', () => {
  it('is shown as blocked while it waits for its owner, by a report where nobody else says so', async (t) => {
    const { place, herdr, own } = await inHerdr(t, asking)
    herdr.faults.dropFirstReport = true
    const { lead } = await started(place)
    const { pane_id } = await firstAgent(herdr, own)
    const status = () => herdr.panes().find((pane) => pane.pane_id === pane_id)?.agent_status
    await fact('it is shown as blocked', () => status() === 'blocked')
    await fact('the question is told', () => runs(lead) === 2)
    const statuses = new Set<string | undefined>()
    lead.prompt('please reply')
    await lead.until(() => {
      statuses.add(status())
      return mails(lead)[1]
    })
    assert.match(mails(lead)[1] ?? '', /Dug left\./)
    assert.ok(
      [...statuses].some((each) => each !== 'blocked'),
      [...statuses].join(),
    )
    await settled(place, [lead])
    await lead.close()
  })

  it('leaves that to the integration of herdr where there is one', async (t) => {
    const { place, herdr, own } = await inHerdr(t, asking)
    const { lead } = await started(place, { extensions: [integration] })
    const { pane_id } = await firstAgent(herdr, own)
    const status = () => herdr.panes().find((pane) => pane.pane_id === pane_id)?.agent_status
    await fact('it is shown as blocked', () => status() === 'blocked')
    await fact('the question is told', () => runs(lead) === 2)
    lead.prompt('please reply')
    await lead.until(() => mails(lead)[1])
    assert.equal(readFileSync(join(place.project, 'blocked'), 'utf8'), 'true\nfalse\n')
    const sources = herdr.requests
      .filter(({ method }) => method === 'pane.report_agent')
      .map(({ params }) => (params as { source: string }).source)
    assert.deepEqual(new Set(sources), new Set(['herdr:pi']))
    await settled(place, [lead])
    await lead.close()
  })

  it('that asks its person something is blocked in the list, with the pane to visit', async (t) => {
    const { place, herdr, own } = await inHerdr(t, [
      start,
      idle,
      list,
      { when: 'dig', calls: [{ name: 'ls', args: {} }] },
    ])
    const { lead } = await started(place, { extensions: [dialog] })
    const { pane_id, tab_id, workspace_id } = await firstAgent(herdr, own)
    await fact('the dialog is on the screen', () => herdr.screen(pane_id).includes('May it?'))
    await fact('the lead is idle', () => runs(lead) === 1)
    await fact('the agent says so', () =>
      generations(place).some(({ path }) => activityIn(path).includes('"waiting":"person"')),
    )
    const [listed] = await answersTo(lead, 'please list')
    const [row] = (listed?.details['agents'] ?? []) as Record<string, unknown>[]
    assert.deepEqual(
      [row?.['state'], row?.['waiting_for'], row?.['runner']],
      ['blocked', 'person', 'herdr'],
    )
    assert.deepEqual(
      [row?.['workspace_id'], row?.['tab_id'], row?.['tab_label'], row?.['pane_id']],
      [workspace_id, tab_id, 'agents', pane_id],
    )
    await herdr.person.type(pane_id, '\r') // yes
    assert.match(await lead.until(() => mails(lead)[0]), /Understood/)
    await settled(place, [lead])
    await lead.close()
  })

  it('has its result told although herdr shows it at work for ever, and its pane is closed', async (t) => {
    const { place, herdr, own } = await inHerdr(t, [start, idle, { when: 'dig', say: 'Dug.' }])
    herdr.faults.statusLies = true
    const { lead, file } = await started(place)
    assert.match(await lead.until(() => mails(lead)[0]), /Dug\./)
    await settled(place, [lead])
    assert.deepEqual(delivered(file), ['scout'])
    await fact('its pane is closed', () => agents(herdr, own).length === 0)
    await lead.close()
  })

  it('is left to a person who is in its pane when the result is told, as plain Pi, and its label is free', async (t) => {
    const { place, herdr, own } = await inHerdr(t, [
      start,
      idle,
      { when: 'dig', say: 'Dug.', afterMs: 2_000 },
      { when: 'what now', say: 'I am yours.' },
      { when: 'again', calls: [delegate('scout', 'think', { label: 'scout' })] },
      { when: 'think', say: 'Thought.' },
    ])
    const { lead, file } = await started(place)
    const { pane_id } = await firstAgent(herdr, own)
    await herdr.person.focus(pane_id)
    await lead.until(() => mails(lead)[0])
    await fact('it is settled', () => generations(place).length === 0)
    await herdr.person.type(pane_id, 'what now\r')
    await fact('it answers its person', () => herdr.screen(pane_id).includes('I am yours.'))
    await fact('the lead is idle', () => runs(lead) === 2)
    await answersTo(lead, 'again')
    await lead.until(() => mails(lead)[1])
    await fact('the other one is settled', () => generations(place).length === 0)
    assert.deepEqual(delivered(file), ['scout', 'scout'])
    await fact('one pane is left', () => agents(herdr, own).length === 1)
    assert.deepEqual([agents(herdr, own)[0]?.pane_id, mails(lead).length], [pane_id, 2])
    await lead.close()
  })

  it('is lost, and its owner is told, when its person closes the pane', async (t) => {
    const { place, herdr, own } = await inHerdr(t, [start, idle, { when: 'dig', hang: true }])
    const { lead } = await started(place)
    const { pane_id } = await firstAgent(herdr, own)
    await fact('it is at work', () => hasRecord(place, 'ack'))
    await fact('the lead is idle', () => runs(lead) === 1)
    await herdr.person.close(pane_id)
    assert.match(await lead.until(() => mails(lead)[0]), /^agent=scout .* lost\n/)
    await lead.close()
  })

  it('takes a long steer whole, whatever its pane shows', async (t) => {
    const long = `turn ${Array.from({ length: 1_100 }, (_, n) => String.fromCharCode(97 + (n % 26))).join('')} end`
    const { place, herdr, own } = await inHerdr(t, [
      { ...start, calls: [delegate('generalist', 'dig', { label: 'scout' })] },
      idle,
      {
        when: 'dig',
        calls: [{ name: 'bash', args: { command: 'until [ -e go ]; do sleep 0.05; done' } }],
      },
      {
        when: 'please steer',
        calls: [agentCall({ action: 'steer', agent: 'scout', message: long })],
      },
      { when: 'end', say: 'Turned.' },
    ])
    const { lead } = await started(place)
    await firstAgent(herdr, own)
    await fact('the lead is idle', () => runs(lead) === 1)
    await fact('it digs', () =>
      generations(place).some(({ path }) => activityIn(path).includes('bash')),
    )
    await answersTo(lead, 'please steer')
    const session = String(toolAnswers(lead)[0]?.details['pi_session_path'])
    place.write('go', '')
    await lead.until(() => mails(lead)[0])
    const [entry] = readFileSync(session, 'utf8')
      .split('\n')
      .filter((line) => line.includes('drover-steer'))
    const [, ...text] = String(JSON.parse(entry ?? '{}').content).split('\n')
    const hash = (of: string) => createHash('sha256').update(of).digest('hex')
    assert.equal(hash(text.join('\n')), hash(long))
    await settled(place, [lead])
    await lead.close()
  })

  it('goes on after a person reloads it, and fails when a person replaces its session', async (t) => {
    const { place, herdr, own } = await inHerdr(t, asking)
    const { lead } = await started(place)
    const { pane_id } = await firstAgent(herdr, own)
    await fact('the question is told', () => runs(lead) === 2)
    await herdr.person.type(pane_id, '/reload\r')
    await fact('it is reloaded', () => /[Rr]eloaded/.test(herdr.screen(pane_id)))
    await answersTo(lead, 'please reply')
    assert.match(await lead.until(() => mails(lead)[1]), /Dug left\./)
    await settled(place, [lead])
    await fact('the lead is idle', () => runs(lead) === 4)
    await answersTo(lead, 'please start')
    const next = await firstAgent(herdr, own)
    await fact('the question is told', () => mails(lead).length === 3)
    await herdr.person.type(next.pane_id, '/new\r')
    assert.match(await lead.until(() => mails(lead)[3]), /session_replaced/)
    await settled(place, [lead])
    await lead.close()
  })
})

describe('where panes of agents open', () => {
  it('is beside the lead where that is set, and beside its parent for an agent of an agent', async (t) => {
    const { place, herdr, own } = await inHerdr(t, [
      { when: 'please start', calls: [delegate('generalist', 'manage this')] },
      { when: 'manage this', calls: [delegate('scout', 'dig')] },
      idle,
      { when: 'dig', say: 'Dug.', afterMs: 3_000 },
      { when: 'agent=scout', say: 'It has dug.' },
    ])
    set(place, { placement: 'split' })
    const { lead } = await started(place)
    await fact('there are two', () => agents(herdr, own).length === 2)
    const tabs = new Set(herdr.panes().map(({ tab_id }) => tab_id))
    assert.equal(tabs.size, 1)
    const splits = herdr.requests
      .filter(({ method }) => method === 'pane.split')
      .map(({ params }) => (params as { target_pane_id: string }).target_pane_id)
    assert.deepEqual(splits, [own, agents(herdr, own)[0]?.pane_id])
    assert.match(await lead.until(() => mails(lead)[0]), /It has dug\./)
    await settled(place, [lead])
    await fact('the panes are closed', () => agents(herdr, own).length === 0)
    await lead.close()
  })

  it('is nowhere where agents are to be headless', async (t) => {
    const { place, herdr, own } = await inHerdr(t, [start, idle, { when: 'dig', say: 'Dug.' }])
    set(place, { runner: 'headless' })
    const { lead } = await started(place)
    await lead.until(() => mails(lead)[0])
    assert.deepEqual(agents(herdr, own), [])
    assert.equal(
      (toolAnswers(lead)[0]?.details['started'] as { runner: string } | undefined)?.runner,
      'headless',
    )
    await settled(place, [lead])
    await lead.close()
  })
})

describe('a delegation in bad surroundings', () => {
  const refusedBy = async (place: Sandbox, env: NodeJS.ProcessEnv) => {
    const lead = startPi(place, { env })
    const [answer] = await answersTo(lead, 'please start')
    assert.match(
      answer?.text ?? '',
      /\nNext: Start Pi in a pane of herdr; or set "runner" to "headless"/,
    )
    assert.equal(
      (answer?.details['error'] as { category: string } | undefined)?.category,
      'not_running_inside_herdr',
    )
    assert.deepEqual(generations(place), [])
    assert.deepEqual(processesIn(place), [lead.pid])
    await lead.close()
    return answer?.text ?? ''
  }

  it('is refused with what is wrong, within its deadline, and leaves nothing', async (t) => {
    const { place, herdr, own } = await inHerdr(t, [start])
    const foreign = await herdr.person.split(own)
    const silent = join(place.directory, 'silent.sock')
    const server = createServer().listen(silent)
    const other = join(place.directory, 'other.sock')
    const jsonRpc = createServer((socket) =>
      socket.end('{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"no"}}\n'),
    ).listen(other)
    t.after(() => {
      server.close()
      jsonRpc.close()
    })
    const wrong: readonly (readonly [NodeJS.ProcessEnv, RegExp])[] = [
      [{ HERDR_PANE_ID: '' }, /HERDR_PANE_ID is not set or empty/],
      [{ HERDR_SOCKET_PATH: '' }, /HERDR_SOCKET_PATH is not set or empty/],
      [{ HERDR_SOCKET_PATH: join(place.directory, 'none.sock') }, /none\.sock/],
      [{ HERDR_SOCKET_PATH: silent }, /silent\.sock/],
      [{ HERDR_SOCKET_PATH: other }, /other\.sock/],
      [{ HERDR_PANE_ID: foreign.pane_id }, /but this process does not run in it/],
      [{ HERDR_PANE_ID: 'w9:p9' }, /pane_not_found/],
    ]
    for (const [env, expected] of wrong) assert.match(await refusedBy(place, env), expected)
    assert.equal(herdr.panes().length, 2)
  })

  it('outside herdr is refused where panes are wanted', async (t) => {
    const place = sandbox(t, [start])
    place.around = {}
    set(place, { runner: 'herdr' })
    assert.match(await refusedBy(place, {}), /HERDR_ENV is not set/)
  })
})
