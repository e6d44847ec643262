import assert from 'node:assert/strict'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, it, type TestContext } from 'node:test'
import { generations } from '../demo/evidence.ts'
import { type PiEvent, type PiProcess, type Sandbox, spawnPi } from '../demo/pi-process.ts'
import { Person } from './person.ts'
import {
  delegate,
  fact,
  mails,
  notices,
  runs,
  sandbox,
  settled,
  startPi,
  toolAnswers,
} from './support.ts'

const told = (lead: PiProcess, part: string): Promise<string> =>
  lead.until(() => notices(lead).find((text) => text.includes(part)))

const optionsOf = (dialog: PiEvent): string => (dialog['options'] as string[]).join('\n')

function opened(t: TestContext, prepare: (place: Sandbox) => void = () => {}) {
  const place = sandbox(t, [
    { when: 'delegate and wait', calls: [delegate('scout', 'hold on')] },
    {
      when: 'delegate two',
      calls: [delegate('scout', 'hold on'), delegate('reviewer', 'be quick')],
    },
    { when: 'hold on', hang: true },
    { when: 'be quick', say: 'All is well.' },
    { when: 'accepted', hang: true },
    { when: 'say something', say: 'Something.' },
  ])
  prepare(place)
  const lead = startPi(place)
  t.after(() => lead.kill())
  const settings = () => JSON.parse(readFileSync(join(place.agentDirectory, 'drover.json'), 'utf8'))
  return { place, lead, person: new Person(lead), settings }
}

function globalDefinition(place: Sandbox, name: string, text: string): string {
  mkdirSync(join(place.agentDirectory, 'agents'), { recursive: true })
  const path = join(place.agentDirectory, 'agents', `${name}.md`)
  writeFileSync(path, text)
  return path
}

/** A project that was trusted earlier, with these files in its `.pi`. */
function trustedProject(place: Sandbox, files: Record<string, string>): void {
  mkdirSync(join(place.project, '.pi/agents'), { recursive: true })
  for (const [name, text] of Object.entries(files))
    writeFileSync(join(place.project, '.pi', name), text)
  const trustedProjects = { [realpathSync(place.project)]: true }
  writeFileSync(join(place.agentDirectory, 'drover.json'), JSON.stringify({ trustedProjects }))
}

describe('/agents', () => {
  it('opens every part of the menu, and each part leads back to it', async (t) => {
    const { person } = opened(t)
    person.types('/agents')
    const main = await person.chooses('Definitions')
    assert.match(optionsOf(main), /^Running \(0\)\nDefinitions \(5 of 5 in use\)\nLayout \(tab\)\n/)
    assert.match(optionsOf(await person.chooses('scout')), /^generalist · bundled\n/)
    assert.match(String((await person.asked())['title']), /^scout \(bundled\)/)
    await person.chooses('Details')
    const details = await person.asked()
    assert.match(String(details['title']), /tools: read, grep, find, ls {2}\(bundled\)/)
    assert.doesNotMatch(String(details['title']), /pi\/definitions|\/bundled/)
    await person.leaves(3)
    await person.chooses('Layout')
    assert.match(String((await person.asked())['title']), /^Layout: tab \(the default\)/)
    await person.leaves()
    await person.chooses('Message limits')
    assert.equal(
      optionsOf(await person.asked()),
      'Inline attachment: 131072 bytes, 128 KiB, about 32768 tokens\nMailbox payload: 131072 bytes, 128 KiB, about 32768 tokens',
    )
    await person.leaves()
    await person.chooses('Running')
    await person.leaves()
  })

  it('changes and resets fields of the global override, and leaves all else in it as it is', async (t) => {
    const file = (middle: string) =>
      `\uFEFF---\r\n# mine\r\nname:   scout\r\n${middle}odd: 1.0\r\n---\r\n\r\nMine  \r\n`
    let path = ''
    const { lead, person } = opened(t, (place) => {
      path = globalDefinition(place, 'scout', file('model:  "a/b"  # why\r\n'))
    })
    person.types('/agents definitions')
    await person.chooses('scout · bundled + global · a/b')
    await person.chooses('Model: a/b')
    await person.chooses('scripted/actor')
    await told(lead, 'scout: model is scripted/actor')
    assert.equal(readFileSync(path, 'utf8'), file('model:  scripted/actor  # why\r\n'))
    await person.chooses('Model: scripted/actor')
    await person.chooses('Write provider/id')
    await person.says('no/such\ntools: all')
    await told(lead, 'This Pi knows no model')
    await person.chooses('Enabled: yes')
    await person.chooses('No')
    await told(lead, 'scout: enabled is false')
    await person.chooses('Thinking')
    await person.chooses('high')
    await told(lead, 'scout: thinking is high')
    await person.chooses('Details')
    const details = await person.asked()
    assert.match(String(details['title']), /thinking: high {2}\(global: .*scout.md:\d/)
    await person.leaves()
    for (const field of ['model', 'enabled', 'thinking']) {
      await person.chooses('Reset')
      await person.chooses(field)
      await told(lead, `scout: ${field} is reset`)
    }
    assert.equal(readFileSync(path, 'utf8'), file(''))
  })

  it('makes an override that says one thing where there is none, and no definition of a project everywhere', async (t) => {
    const { place, lead, person } = opened(t, (place) =>
      trustedProject(place, { 'agents/local.md': '---\ndescription: ours\n---\nHello' }),
    )
    person.types('/agents definitions')
    await person.chooses('reviewer')
    await person.chooses('Thinking')
    await person.chooses('xhigh')
    await told(lead, 'reviewer: thinking is xhigh')
    const path = join(place.agentDirectory, 'agents/reviewer.md')
    assert.equal(readFileSync(path, 'utf8'), '---\nthinking: xhigh\n---\n')
    await person.leaves()
    await person.chooses('local · project')
    await person.chooses('Enabled')
    await told(lead, "local is this project's own")
    assert.ok(!existsSync(join(place.agentDirectory, 'agents/local.md')))
  })

  it('says where a trusted project hides what is changed', async (t) => {
    const { place, lead, person } = opened(t, (place) =>
      trustedProject(place, { 'agents/scout.md': '---\nthinking: low\n---\n' }),
    )
    person.types('/agents definitions')
    await person.chooses('scout · bundled + project · thinking low')
    await person.chooses('Thinking: low')
    const dialog = await person.chooses('high')
    assert.match(String(dialog['title']), /In this project thinking stays low/)
    assert.match(await told(lead, 'scout: thinking is high'), /In this project thinking stays low/)
    const path = join(place.agentDirectory, 'agents/scout.md')
    assert.equal(readFileSync(path, 'utf8'), '---\nthinking: high\n---\n')
  })

  it('sets the layout where it counts, by its menu and directly', async (t) => {
    const { place, lead, person, settings } = opened(t, (place) =>
      trustedProject(place, { 'drover.json': '{\n\t"placement": "tab"\n}' }),
    )
    const project = join(place.project, '.pi/drover.json')
    person.types('/agents placement split')
    await told(lead, 'Layout is split for new agents (project: ')
    assert.equal(readFileSync(project, 'utf8'), '{\n\t"placement": "split"\n}\n')
    person.types('/agents placement')
    const dialog = await person.chooses('tab')
    assert.match(String(dialog['title']), /^Layout: split \(set by this project\)/)
    await told(lead, 'Layout is tab for new agents')
    assert.equal(settings()['placement'], undefined)
    writeFileSync(project, '{}')
    person.types('/agents placement split')
    await told(lead, 'Layout is split for new agents (global: ')
    assert.equal(settings()['placement'], 'split')
    person.types('/agents placement window')
    await told(lead, '/agents placement window is not known')
  })

  it('sets message limits by preset, by number and to the default', async (t) => {
    const { lead, person, settings } = opened(t)
    person.types('/agents')
    await person.chooses('Message limits')
    await person.chooses('Inline')
    await person.chooses('65536 bytes, 64 KiB, about 16384 tokens')
    await told(lead, 'Inline attachment limit is 65536 bytes')
    await person.chooses('Mailbox')
    await person.chooses('Another')
    await person.says('5000')
    await told(lead, 'Mailbox payload limit is 5000 bytes, about 1250 tokens')
    const set = { inlineAttachmentLimitBytes: 65_536, mailboxPayloadLimitBytes: 5_000 }
    assert.deepEqual(settings(), set)
    await person.chooses('Mailbox')
    await person.chooses('Another')
    await person.says('1e9')
    await told(lead, '1e9 is no number of bytes')
    assert.deepEqual(settings(), set)
    await person.chooses('Mailbox')
    await person.chooses('Default')
    await told(lead, 'Mailbox payload limit is 131072 bytes')
    assert.deepEqual(settings(), { inlineAttachmentLimitBytes: 65_536 })
  })

  it('shows a running agent, and stops all of them and the turn after a yes', async (t) => {
    const { place, lead, person } = opened(t)
    lead.prompt('delegate and wait')
    await fact('an agent works', () => toolAnswers(lead).length === 1)
    person.types('/agents')
    await person.chooses('Running (1)')
    assert.match(optionsOf(await person.chooses('scout')), /^scout · scout · working/)
    assert.match(String((await person.asked())['title']), /Runs headless, process \d+, in /)
    await person.leaves(2)
    await person.chooses('Stop all')
    const question = await person.confirms(false)
    assert.match(String(question['message']), /The turn of this session is aborted/)
    assert.match(String(question['message']), /Work that is discarded: scout \(scout\)/)
    assert.equal(generations(place).length, 1)
    assert.equal(runs(lead), 0)
    person.types('/agents stop')
    await person.confirms(true)
    const report = await told(lead, 'Closed: scout.')
    assert.match(report, /The turn was aborted.*Work that was discarded: scout/s)
    await fact('the turn is over', () => runs(lead) === 1)
    await settled(place, [lead])
    lead.prompt('say something')
    await fact('the session goes on', () => runs(lead) === 2)
    person.types('/agents stop')
    await told(lead, 'Nothing runs')
  })

  it('opens one menu at a time: the newest', async (t) => {
    const { lead, person } = opened(t)
    person.types('/agents')
    await person.ignores()
    person.types('/agents')
    await person.chooses('Layout')
    await person.chooses('split')
    await told(lead, 'Layout is split')
    await person.leaves()
  })

  it('keeps as files what the session was not told, and tells it nothing more', async (t) => {
    const { place, lead, person } = opened(t)
    lead.prompt('delegate two')
    const results = () =>
      generations(place).flatMap(({ path }) =>
        readdirSync(join(path, 'agent')).filter((name) => name.includes('-result-')),
      )
    await fact('one has a result, and its session is busy', () => results().length === 1)
    person.types('/agents stop')
    const question = await person.confirms(true)
    assert.match(String(question['message']), /discarded: scout \(scout\)\./)
    assert.match(String(question['message']), /kept as files: reviewer \(reviewer\)\./)
    const report = await told(lead, 'Results nobody had read are kept in: ')
    const file = /kept in: (.*)\.$/m.exec(report)?.[1] ?? ''
    assert.equal(readFileSync(file, 'utf8'), 'All is well.')
    await settled(place, [lead])
    lead.prompt('say something')
    await fact('the session goes on', () => runs(lead) === 2)
    assert.deepEqual(mails(lead), [])
  })

  it('says why it does nothing in the session of an agent', async (t) => {
    const { place, lead } = opened(t)
    lead.prompt('delegate and wait')
    const [answer] = await fact(
      'an agent works',
      () => toolAnswers(lead).length === 1 && toolAnswers(lead),
    )
    const beside = startPi(place, { session: String(answer?.details['pi_session_path']) })
    t.after(() => beside.kill())
    beside.prompt('/agents stop')
    assert.match(await told(beside, '/agents does nothing here.'), /agent/)
  })

  it('says why it does nothing where nobody could answer', async (t) => {
    const place = sandbox(t, [])
    const pi = spawnPi(place, ['-p', '/agents'])
    pi.stdin.end()
    assert.match(await text(pi.stderr), /\/agents does nothing here\. .*nobody could answer/)
  })
})
