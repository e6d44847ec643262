import assert from 'node:assert/strict'
import { it } from 'node:test'
import { EventRing, EventsLost, LiveFeed } from './fake-events.ts'
import { Faults } from './fake-faults.ts'
import { fact, Scene } from './fake-scene.ts'

const profiles = ['0.8', '0.9.2'] as const
const all = [
  'workspace.created',
  'workspace.closed',
  'workspace.renamed',
  'workspace.focused',
  'tab.created',
  'tab.closed',
  'tab.renamed',
  'tab.focused',
  'pane.created',
  'pane.closed',
  'pane.updated',
  'pane.focused',
  'pane.moved',
  'pane.exited',
  'pane.agent_detected',
  'layout.updated',
]

/** The events of one deed, in the order in which a version that keeps it tells them. */
async function told(scene: Scene, deed: () => Promise<unknown>): Promise<readonly string[]> {
  const listener = await scene.subscribe(...all)
  await deed()
  await scene.result('workspace.create', { label: 'mark' }) // its events come after all of the deed's
  await fact('the mark', () =>
    listener.lines.some(({ data }) => JSON.stringify(data ?? '').includes('"mark"')),
  )
  listener.close()
  return listener.events.slice(0, listener.events.lastIndexOf('workspace_created'))
}

/** A live version, with two tabs: one of one pane, one of two. */
async function furnished(t: Parameters<typeof Scene.open>[0]) {
  const scene = await Scene.open(t, { profile: '0.9.2' })
  const alone = await scene.workspace()
  const { root_pane: first } = await scene.tab()
  const second = await scene.split(first.pane_id)
  return { scene, alone, first, second }
}

it('tells what came to be', async (t) => {
  const { scene, alone } = await furnished(t)
  assert.deepEqual(await told(scene, () => scene.workspace()), [
    'workspace_created',
    'tab_created',
    'pane_created',
    'layout_updated',
  ])
  assert.deepEqual(await told(scene, () => scene.tab()), [
    'tab_created',
    'pane_created',
    'layout_updated',
  ])
  assert.deepEqual(await told(scene, () => scene.split(alone.pane_id)), [
    'pane_created',
    'layout_updated',
  ])
  assert.deepEqual(await told(scene, () => scene.run(['sleep', '60'])), [
    'tab_created',
    'pane_created',
    'layout_updated',
  ])
})

it('tells that a pane exited, and not that anything closed', async (t) => {
  const { scene, alone, second } = await furnished(t)
  const leaves = (pane_id: string) => async () => {
    await scene.result('pane.send_text', { pane_id, text: 'exit\n' })
    await fact('it is gone', async () => !(await scene.paneIds()).includes(pane_id))
  }
  assert.deepEqual(await told(scene, leaves(second.pane_id)), ['pane_exited', 'layout_updated'])
  assert.deepEqual(await told(scene, leaves(alone.pane_id)), ['pane_exited'])
})

it('tells that a pane was closed, but not its tab', async (t) => {
  const { scene, alone, second } = await furnished(t)
  const closes = (pane_id: string) => () => scene.result('pane.close', { pane_id })
  assert.deepEqual(await told(scene, closes(second.pane_id)), ['pane_closed', 'layout_updated'])
  assert.deepEqual(await told(scene, closes(alone.pane_id)), ['pane_closed'])
})

it('tells that a workspace closed with its last pane or tab', async (t) => {
  const { scene } = await furnished(t)
  const other = await scene.workspace()
  assert.deepEqual(
    await told(scene, () => scene.result('pane.close', { pane_id: other.pane_id })),
    ['pane_closed', 'workspace_closed'],
  )
  const { tab_id } = await scene.workspace()
  assert.deepEqual(await told(scene, () => scene.result('tab.close', { tab_id })), [
    'tab_closed',
    'workspace_closed',
  ])
})

it('tells that a tab or workspace was closed, and nothing of its panes', async (t) => {
  const { scene, first } = await furnished(t)
  const { tab_id, workspace_id } = first
  assert.deepEqual(await told(scene, () => scene.result('tab.close', { tab_id })), ['tab_closed'])
  assert.deepEqual(await told(scene, () => scene.result('workspace.close', { workspace_id })), [
    'workspace_closed',
  ])
})

it('tells of the focus in three events, even if only the pane changed', async (t) => {
  const { scene, first, second } = await furnished(t)
  const three = ['workspace_focused', 'tab_focused', 'pane_focused']
  await scene.herdr.person.focus(first)
  assert.deepEqual(await told(scene, () => scene.herdr.person.focus(second)), three)
  const tab = { tab_id: first.tab_id }
  assert.deepEqual(await told(scene, () => scene.result('tab.focus', tab)), three)
})

it('tells of names of tabs, not of panes', async (t) => {
  const { scene, first } = await furnished(t)
  const { tab_id, pane_id } = first
  const label = 'named'
  assert.deepEqual(await told(scene, () => scene.result('tab.rename', { tab_id, label })), [
    'tab_renamed',
  ])
  assert.deepEqual(await told(scene, () => scene.result('pane.rename', { pane_id, label })), [])
  assert.equal((await scene.pane(pane_id)).label, label)
})

it('tells of a move what it made and unmade', async (t) => {
  const { scene, alone, first, second } = await furnished(t)
  const move = (pane_id: string, destination: object) => () =>
    scene.result('pane.move', { pane_id, destination })
  const away = { type: 'new_workspace' }
  assert.deepEqual(await told(scene, move(second.pane_id, away)), [
    'workspace_created',
    'tab_created',
    'pane_moved',
    'layout_updated',
    'layout_updated',
  ])
  const beside = { type: 'tab', tab_id: first.tab_id, split: 'down' }
  assert.deepEqual(await told(scene, move(alone.pane_id, beside)), [
    'tab_closed',
    'pane_moved',
    'layout_updated',
  ])
})

it('replaces a tab by a layout', async (t) => {
  const { scene, first } = await furnished(t)
  const root = { type: 'pane', command: ['sleep', '60'] }
  const order = { tab_id: first.tab_id, root }
  assert.deepEqual(await told(scene, () => scene.result('layout.apply', order)), [
    'tab_closed',
    'tab_created',
    'pane_created',
    'layout_updated',
  ])
})

it('replays what it remembers to a new subscription of 0.8, one per kind and tick', async (t) => {
  const scene = await Scene.open(t, { tickMs: 30 })
  await scene.workspace()
  for (let count = 0; count < 3; count += 1) await scene.tab()
  const listener = await scene.subscribe('tab.created', 'pane.created')
  await fact('all have come', () => listener.events.length === 8)
  const { events } = listener
  for (const at of [0, 2, 4, 6])
    assert.deepEqual(events.slice(at, at + 2), ['tab_created', 'pane_created'])
})

it('forgets in 0.8 what is beyond its ring, without notice', async (t) => {
  const scene = await Scene.open(t, { ringMax: 4 })
  const { tab_id } = await scene.workspace()
  for (const label of ['a', 'b', 'c', 'd', 'e', 'f'])
    await scene.result('tab.rename', { tab_id, label })
  const listener = await scene.subscribe('tab.renamed')
  const labels = () => listener.data.map(({ label }) => label)
  await fact('the last has come', () => labels().includes('f'))
  assert.deepEqual(labels(), ['c', 'd', 'e', 'f'])
})

it('begins now in 0.9.2, and sends a burst whole and in order', async (t) => {
  const scene = await Scene.open(t, { profile: '0.9.2', tickMs: 200 })
  const { tab_id } = await scene.workspace()
  const listener = await scene.subscribe('tab.renamed', 'tab.created')
  for (const label of ['a', 'b', 'c']) await scene.result('tab.rename', { tab_id, label })
  await scene.tab()
  await fact('something has come', () => listener.events.length > 0)
  await fact('all have come', () => listener.events.length === 4)
  assert.deepEqual(listener.events, ['tab_renamed', 'tab_renamed', 'tab_renamed', 'tab_created'])
})

it('tells a reader of 0.9.2 that is too far behind that events were lost', async (t) => {
  const scene = await Scene.open(t, { profile: '0.9.2', tickMs: 600, ringMax: 3 })
  const { tab_id } = await scene.workspace()
  const listener = await scene.subscribe('tab.renamed')
  for (const label of ['a', 'b', 'c', 'd', 'e']) await scene.result('tab.rename', { tab_id, label })
  await fact('it has ended', () => listener.hasEnded)
  const { id, error } = listener.lines.at(-1) as { id: string; error: { code: string } }
  assert.deepEqual([id, error.code], ['long', 'events_lost'])
})

it('knows that a live reader has lost events only when it has', () => {
  const ring = new EventRing(2, new Faults())
  const feed = new LiveFeed(ring, new Set(['a']))
  ring.push('a', {})
  ring.push('b', {})
  assert.deepEqual(
    feed.poll().map(({ event }) => event),
    ['a'],
  )
  for (const kind of ['a', 'a', 'a']) ring.push(kind, {})
  assert.throws(() => feed.poll(), EventsLost)
})

it('names plain events with underscores and their type, those of one pane with dots', async (t) => {
  const scene = await Scene.open(t)
  const { pane_id } = await scene.workspace()
  const match = { type: 'regex', value: '^seen$' }
  const listener = await scene.subscribe('pane.created', {
    type: 'pane.output_matched',
    pane_id,
    source: 'recent',
    match,
  })
  await scene.shows(pane_id, '$') // what is echoed before the prompt would share a line with it
  await scene.result('pane.send_input', { pane_id, text: 'echo seen', keys: ['enter'] })
  const dotted = await fact('output matched', () =>
    listener.lines.find(({ event }) => event === 'pane.output_matched'),
  )
  assert.equal((dotted['data'] as { matched_line: string }).matched_line, 'seen')
  assert.equal('type' in (dotted['data'] as object), false)
  assert.ok(listener.data.some(({ type }) => type === 'pane_created'))
})

for (const profile of profiles) {
  it(`is silent for ever about the status of a dead pane (${profile})`, async (t) => {
    const scene = await Scene.open(t, { profile })
    await scene.workspace()
    const pane_id = await scene.run(['sleep', '60'])
    const listener = await scene.subscribe({ type: 'pane.agent_status_changed', pane_id })
    const report = { pane_id, source: 'x', agent: 'robot', state: 'working' }
    await scene.result('pane.report_agent', report)
    await fact('a status has come', () => listener.events.length === 1)
    await scene.result('pane.close', { pane_id })
    const later = await scene.subscribe('pane.closed')
    await scene.tab()
    later.close()
    assert.deepEqual([listener.events, listener.hasEnded], [['pane.agent_status_changed'], false])
  })

  it(`refuses a subscription to an absent pane as a whole, under an id of its own (${profile})`, async (t) => {
    const scene = await Scene.open(t, { profile })
    const subscriptions = [
      { type: 'pane.exited' },
      { type: 'pane.scroll_changed', pane_id: 'w9:p1' },
    ]
    const { id, error } = await scene.ask('events.subscribe', { subscriptions })
    assert.deepEqual([id, error?.code], ['events.subscribe:sub:1:probe', 'pane_not_found'])
  })
}

it('sends the status it has already when it is the one asked for', async (t) => {
  const scene = await Scene.open(t)
  const { pane_id } = await scene.workspace()
  const type = 'pane.agent_status_changed'
  const listener = await scene.subscribe({ type, pane_id, agent_status: 'unknown' })
  await fact('it has come', () => listener.events.length === 1)
})

it('waits for one status of one pane, and for nothing else', async (t) => {
  const scene = await Scene.open(t)
  const { pane_id } = await scene.workspace()
  const wanted = { event: 'pane_agent_status_changed', pane_id, agent_status: 'working' }
  const listener = scene.listen('events.wait', { match_event: wanted })
  await fact('it has arrived', () => scene.herdr.requests.length === 2)
  const report = { pane_id, source: 'x', agent: 'robot', state: 'working' }
  await scene.result('pane.report_agent', report)
  await fact('it has been answered', () => listener.hasEnded)
  assert.match(JSON.stringify(listener.lines[0]), /"wait_matched"/)
  const other = { match_event: { event: 'pane_closed', pane_id } }
  assert.equal(await scene.code('events.wait', other), 'unsupported_event_wait_match')
  const blocked = { ...wanted, agent_status: 'blocked' }
  const order = { match_event: blocked, timeout_ms: 20 }
  assert.equal(await scene.code('events.wait', order), 'timeout')
})

it('loses events when told to', async (t) => {
  const scene = await Scene.open(t, { profile: '0.9.2' })
  const { tab_id } = await scene.workspace()
  scene.herdr.faults.loseEvents = 1
  const listener = await scene.subscribe('tab.renamed')
  for (const label of ['a', 'b']) await scene.result('tab.rename', { tab_id, label })
  await fact('one has come', () => listener.events.length === 1)
  assert.equal(listener.data[0]?.['label'], 'b')
})
