import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { AgentInfo } from './fake-records.ts'
import { fact, Scene } from './fake-scene.ts'

const profiles = ['0.8', '0.9.2'] as const

/** A pane in which pi runs and is seen. */
async function piPane(scene: Scene): Promise<string> {
  await scene.workspace()
  const pane_id = await scene.run([scene.installPi()])
  await fact('pi is seen', async () => (await scene.pane(pane_id)).agent === 'pi')
  return pane_id
}

const start = (scene: Scene, pane_id: string, more: object = {}) =>
  scene.ask('agent.start', { name: 'worker', kind: 'pi', pane_id, ...more })

it('sees pi by its process, and that it has left', async (t) => {
  const scene = await Scene.open(t)
  const { pane_id } = await scene.workspace()
  const path = scene.installPi()
  assert.equal(await scene.code('agent.get', { target: pane_id }), 'agent_not_found')
  await scene.result('pane.send_input', { pane_id, text: path, keys: ['enter'] })
  const agent = await fact('pi is seen', async () => {
    const { agents } = await scene.result<{ agents: AgentInfo[] }>('agent.list')
    return agents[0]
  })
  assert.deepEqual([agent.agent, agent.agent_status], ['pi', 'idle'])
  await scene.result('pane.send_keys', { pane_id, keys: ['ctrl+d'] })
  await fact('it has left', async () => (await scene.pane(pane_id)).agent === undefined)
})

it('sees any program that is named an agent by its environment', async (t) => {
  const scene = await Scene.open(t)
  await scene.workspace()
  const pane_id = await scene.run(['sleep', '60'], { env: { HERDR_AGENT: 'pi' } })
  await fact('it is seen', async () => (await scene.pane(pane_id)).agent === 'pi')
})

it('tells that an agent was seen and that it was released', async (t) => {
  const scene = await Scene.open(t, { profile: '0.9.2' })
  const listener = await scene.subscribe('pane.agent_detected', 'pane.exited')
  const pane_id = await piPane(scene)
  await scene.result('pane.send_keys', { pane_id, keys: ['ctrl+d'] })
  await fact('all has come', () => listener.events.length === 3)
  assert.deepEqual(listener.events, ['pane_agent_detected', 'pane_agent_detected', 'pane_exited'])
  assert.deepEqual(
    listener.data.map(({ released }) => released),
    [undefined, true, undefined],
  )
})

it('believes the official source about its state, once it has a session and counts', async (t) => {
  const scene = await Scene.open(t)
  const pane_id = await piPane(scene)
  const source = { pane_id, source: 'herdr:pi', agent: 'pi' }
  const statusAfter = async (more: object) => {
    await scene.result('pane.report_agent', { ...source, ...more })
    return (await scene.agent(pane_id)).agent_status
  }
  assert.equal(await statusAfter({ state: 'working' }), 'idle')
  assert.equal(await statusAfter({ state: 'working', seq: 1 }), 'idle')
  const session = { agent_session_path: '/s/a.jsonl', session_start_source: 'startup' }
  await scene.result('pane.report_agent_session', { ...source, ...session, seq: 5 })
  assert.equal(await statusAfter({ state: 'working' }), 'idle') // it has counted before
  assert.equal(await statusAfter({ state: 'working', seq: 5 }), 'idle')
  assert.equal(await statusAfter({ state: 'working', seq: 6 }), 'working')
  const agent = await scene.agent(pane_id)
  assert.equal(agent.screen_detection_skipped, true)
  assert.equal(agent.agent_session?.value, '/s/a.jsonl')
})

it('holds reports of the official source until its process is seen', async (t) => {
  const scene = await Scene.open(t)
  const { pane_id } = await scene.workspace()
  const report = { pane_id, source: 'herdr:pi', agent: 'pi', state: 'blocked', seq: 1 }
  await scene.result('pane.report_agent', { ...report, agent_session_id: 's' })
  assert.equal((await scene.pane(pane_id)).agent_status, 'unknown')
  await scene.result('pane.send_input', { pane_id, text: scene.installPi(), keys: ['enter'] })
  await fact('it counts', async () => (await scene.pane(pane_id)).agent_status === 'blocked')
})

it('drops what others say about a known agent, and answers ok', async (t) => {
  const scene = await Scene.open(t)
  const pane_id = await piPane(scene)
  const report = { pane_id, source: 'drover', state: 'working' }
  await scene.result('pane.report_agent', { ...report, agent: 'claude' })
  assert.equal((await scene.agent(pane_id)).agent_status, 'idle')
  const session = { pane_id, source: 'herdr:pi', agent: 'pi', agent_session_id: 's', seq: 1 }
  await scene.result('pane.report_agent_session', session)
  await scene.result('pane.report_agent', { ...report, agent: 'pi' })
  assert.equal((await scene.agent(pane_id)).agent_status, 'idle')
})

it('drops what does not count on, once a source has counted', async (t) => {
  const scene = await Scene.open(t)
  await scene.workspace()
  const pane_id = await scene.run(['sleep', '60'])
  const statusAfter = async (state: string, seq?: number) => {
    const report = { pane_id, source: 'x', agent: 'robot', state }
    await scene.result('pane.report_agent', { ...report, ...(seq !== undefined && { seq }) })
    return (await scene.pane(pane_id)).agent_status
  }
  assert.equal(await statusAfter('working'), 'working')
  assert.equal(await statusAfter('blocked', 2), 'blocked')
  assert.equal(await statusAfter('working', 2), 'blocked')
  assert.equal(await statusAfter('working'), 'blocked')
  assert.equal(await statusAfter('working', 3), 'working')
  const release = { pane_id, source: 'x', agent: 'robot', seq: 4 }
  await scene.result('pane.release_agent', release)
  assert.equal((await scene.pane(pane_id)).agent_status, 'unknown')
  await scene.result('pane.clear_agent_authority', { pane_id })
})

for (const profile of profiles) {
  it(`keeps an unknown agent beside a lone shell only in 0.8 (${profile})`, async (t) => {
    const scene = await Scene.open(t, { profile })
    const { pane_id } = await scene.workspace()
    const beside = await scene.run(['sleep', '60'])
    const report = { source: 'x', agent: 'robot', state: 'working' }
    for (const id of [pane_id, beside])
      await scene.result('pane.report_agent', { pane_id: id, ...report })
    await scene.herdr.looked()
    const labels = await Promise.all([pane_id, beside].map((id) => scene.pane(id)))
    assert.deepEqual(
      labels.map(({ agent }) => agent),
      profile === '0.8' ? ['robot', 'robot'] : [undefined, 'robot'],
    )
  })
}

it('is done when work ended out of view, and idle once looked at', async (t) => {
  const scene = await Scene.open(t)
  await scene.workspace()
  const pane_id = await scene.run(['sleep', '60'])
  const report = (state: string) =>
    scene.result('pane.report_agent', { pane_id, source: 'x', agent: 'robot', state })
  await report('working')
  await report('idle')
  assert.equal((await scene.agent(pane_id)).agent_status, 'done')
  const before = (await scene.agent(pane_id)).state_change_seq
  await scene.herdr.person.focus(pane_id)
  const agent = await scene.agent(pane_id)
  assert.deepEqual([agent.agent_status, agent.state_change_seq], ['idle', before + 1])
  await report('working')
  await report('idle')
  assert.equal((await scene.agent(pane_id)).agent_status, 'idle')
})

it('shows what a tab and a workspace have of most urgency', async (t) => {
  const scene = await Scene.open(t)
  const { pane_id, tab_id } = await scene.workspace()
  const beside = await scene.split(pane_id)
  const report = { source: 'x', agent: 'robot' }
  await scene.result('pane.report_agent', { pane_id, ...report, state: 'working' })
  const blocked = { pane_id: beside.pane_id, ...report, state: 'blocked' }
  await scene.result('pane.report_agent', blocked)
  const { tab } = await scene.result<{ tab: { agent_status: string } }>('tab.get', { tab_id })
  assert.equal(tab.agent_status, 'blocked')
})

it('starts an agent by typing its command, and calls it ready once it is', async (t) => {
  const scene = await Scene.open(t, { launchReadyMs: 30 })
  const pane_id = await scene.shellWithPi()
  const { result } = await start(scene, pane_id, { args: ['--a', "it's"] })
  const agent = result?.['agent'] as AgentInfo
  assert.deepEqual([agent.launch_pending, agent.interactive_ready], [true, undefined])
  assert.deepEqual(result?.['argv'], ['pi', '--a', "it's"])
  await scene.shows(pane_id, "pi with <--a it's>")
  await fact('it is ready', async () => (await scene.agent('worker')).interactive_ready)
  const prompted = await scene.ask('agent.prompt', { target: 'worker', text: 'hello' })
  assert.equal(prompted.error, undefined)
  await scene.shows(pane_id, '<hello>')
  const read = await scene.ask('agent.read', { target: 'worker', source: 'visible' })
  assert.match(JSON.stringify(read.result), /<hello>/)
  await scene.result('agent.send_keys', { target: 'worker', keys: ['x', 'enter'] })
  await scene.shows(pane_id, '<x>')
  await scene.result('agent.wait', { target: 'worker' })
})

it('starts no agent where a program runs, nor under a taken or wrong name', async (t) => {
  const scene = await Scene.open(t, { launchReadyMs: 30 })
  const pane_id = await scene.shellWithPi()
  const code = async (more: object) => (await start(scene, pane_id, more)).error?.code
  assert.equal(await code({ name: 'Wrong' }), 'invalid_agent_name')
  assert.equal(await code({ kind: 'toaster' }), 'unsupported_agent_kind')
  assert.equal(await code({ args: ['a\nb'] }), 'invalid_agent_argument')
  assert.equal(await code({ timeout_ms: 3_000 }), 'invalid_agent_timeout')
  assert.equal(await code({}), undefined)
  await scene.shows(pane_id, 'pi with <>')
  assert.equal(await code({ name: 'other' }), 'agent_pane_busy')
  const argv = await scene.run(['sleep', '60'])
  assert.equal(await code({ name: 'other', pane_id: argv }), 'agent_pane_busy')
  const { pane_id: free } = await scene.workspace()
  assert.equal(await code({ pane_id: free }), 'agent_name_taken')
  const { agent } = await scene.result<{ agent: AgentInfo }>('agent.rename', {
    target: pane_id,
    name: 'renamed',
  })
  assert.equal(agent.name, 'renamed')
  assert.equal(await scene.code('agent.get', { target: 'worker' }), 'agent_not_found')
})

it('prompts no agent that is not ready, and none with nothing', async (t) => {
  const scene = await Scene.open(t, { launchReadyMs: 60_000 })
  const pane_id = await scene.shellWithPi()
  await start(scene, pane_id)
  const prompt = (text: string) => scene.code('agent.prompt', { target: 'worker', text })
  assert.equal(await prompt('hello'), 'agent_not_ready')
  assert.equal(await prompt(' '), 'empty_agent_prompt')
})

it('waits for the end of the work a prompt begins', async (t) => {
  const scene = await Scene.open(t)
  await scene.workspace()
  const pane_id = await scene.run(['sh', '-c', 'while read line; do echo "<$line>"; done'])
  const report = (state: string) =>
    scene.result('pane.report_agent', { pane_id, source: 'x', agent: 'robot', state })
  await report('idle')
  const prompt = { target: pane_id, text: 'go', wait: {} }
  const listener = scene.listen('agent.prompt', prompt)
  await scene.shows(pane_id, '<go>')
  await report('working')
  assert.equal(listener.hasEnded, false)
  await report('idle')
  await fact('it is answered', () => listener.hasEnded)
  assert.match(JSON.stringify(listener.lines), /"agent_prompted"/)
})

it('stops waiting for an agent that leaves or moves', async (t) => {
  const scene = await Scene.open(t)
  const pane_id = await piPane(scene)
  const leaving = scene.code('agent.wait', { target: pane_id, until: ['working'] })
  await fact('it waits', () => scene.herdr.requests.some(({ method }) => method === 'agent.wait'))
  await scene.result('pane.send_keys', { pane_id, keys: ['ctrl+d'] })
  assert.equal(await leaving, 'agent_not_running')
})

it('shows tokens and titles as others want, and forgets them again', async (t) => {
  const scene = await Scene.open(t, { profile: '0.9.2' })
  const { pane_id, workspace_id } = await scene.workspace()
  const listener = await scene.subscribe('pane.updated', 'workspace.metadata_updated')
  const report = async (more: object) => {
    await scene.result('pane.report_metadata', { pane_id, source: 'drover:main', ...more })
    return scene.pane(pane_id)
  }
  const long = `  ${'x'.repeat(100)}\u0007 `
  const { tokens, title, revision } = await report({ tokens: { run: 'r7', long }, title: 'T' })
  assert.deepEqual([tokens, title, revision], [{ run: 'r7', long: 'x'.repeat(80) }, 'T', 1])
  assert.deepEqual((await report({ tokens: { long: null, run: 'r8' }, seq: 2 })).tokens, {
    run: 'r8',
  })
  assert.deepEqual((await report({ tokens: { run: 'r9' }, seq: 2 })).tokens, { run: 'r8' })
  assert.deepEqual((await report({ tokens: { run: 'r9' } })).tokens, { run: 'r8' })
  await report({ tokens: { soon: 'gone' }, seq: 3, ttl_ms: 1 })
  await fact('it has run out', async () => !('soon' in ((await scene.pane(pane_id)).tokens ?? {})))
  const space = { workspace_id, source: 'x', tokens: { run: 'r7' } }
  await scene.result('workspace.report_metadata', space)
  await fact('all has come', () => listener.events.includes('workspace_metadata_updated'))
})

it('refuses metadata that breaks its rules', async (t) => {
  const scene = await Scene.open(t)
  const { pane_id } = await scene.workspace()
  const code = (more: object) =>
    scene.code('pane.report_metadata', { pane_id, source: 'x', ...more })
  const many = (count: number, prefix = 'k') =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`${prefix}${at}`, 'v']))
  assert.equal(await code({ source: 'a b' }), 'invalid_metadata_source')
  assert.equal(await code({ tokens: { 'a b': 'x' } }), 'invalid_metadata_token')
  assert.equal(await code({ ttl_ms: 0 }), 'invalid_metadata_ttl')
  assert.equal(await code({ state_labels: { asleep: 'zzz' } }), 'invalid_state_label')
  assert.equal(await code({ tokens: many(17) }), 'metadata_token_limit')
  assert.equal(await code({ tokens: many(16) }), undefined)
  assert.equal(await code({ tokens: many(16, 'm') }), undefined)
  assert.equal(await code({ tokens: { more: 'x' } }), 'metadata_token_limit')
  for (let at = 0; at < 32; at += 1) await code({ source: `s${at}`, seq: 1 })
  assert.equal(await code({ source: 'one-more', seq: 1 }), 'metadata_sequence_source_limit')
})
