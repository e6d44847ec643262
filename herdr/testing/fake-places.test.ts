import assert from 'node:assert/strict'
import { it } from 'node:test'
import { numberText } from './fake-ids.ts'
import type { PaneInfo, TabInfo, WorkspaceInfo } from './fake-records.ts'
import { fact, Scene } from './fake-scene.ts'

it('counts in bijective base 32', () => {
  assert.deepEqual([1, 9, 10, 31, 32, 33, 64, 65].map(numberText), [
    '1',
    '9',
    'A',
    'Z',
    '0',
    '11',
    '10',
    '21',
  ])
})

it('never gives the number of a closed pane or tab again', async (t) => {
  const scene = await Scene.open(t)
  await scene.workspace()
  const { root_pane: first } = await scene.tab()
  await scene.result('tab.close', { tab_id: first.tab_id })
  const { tab, root_pane: next } = await scene.tab()
  assert.deepEqual([first.tab_id, first.pane_id], ['w1:t2', 'w1:p2'])
  assert.deepEqual([next.tab_id, next.pane_id, tab.number], ['w1:t3', 'w1:p3', 3])
  assert.equal(tab.label, '2') // without a label of its own it is called by its position
})

it('takes no focus unless asked, or unless nothing had it', async (t) => {
  const scene = await Scene.open(t)
  const first = await scene.workspace()
  assert.equal(first.focused, true)
  const { root_pane: second } = await scene.tab()
  const third = await scene.split(first.pane_id)
  const other = await scene.workspace()
  assert.deepEqual(
    [second, third, other].map(({ focused }) => focused),
    [false, false, false],
  )
  const { root_pane: asked } = await scene.tab({ focus: true })
  assert.equal(asked.focused, true)
  const { pane } = await scene.result<{ pane: PaneInfo }>('pane.current')
  assert.equal(pane.pane_id, asked.pane_id)
})

it('takes the focus with a layout that replaces the active tab', async (t) => {
  const scene = await Scene.open(t)
  const { tab_id } = await scene.workspace()
  await scene.tab()
  const root = { type: 'pane', command: ['sleep', '60'] }
  await scene.result('layout.apply', { tab_id, root })
  const { snapshot } = await scene.result<{ snapshot: { focused_pane_id: string } }>(
    'session.snapshot',
  )
  assert.equal(snapshot.focused_pane_id, 'w1:p3')
  assert.deepEqual(await scene.paneIds(), ['w1:p2', 'w1:p3'])
})

it('answers what a caller asks about its own pane', async (t) => {
  const scene = await Scene.open(t)
  await scene.workspace()
  const { root_pane } = await scene.tab()
  const { pane } = await scene.result<{ pane: PaneInfo }>('pane.current', {
    caller_pane_id: root_pane.pane_id,
  })
  assert.equal(pane.terminal_id, root_pane.terminal_id)
})

it('keeps the id of a pane that moves inside its workspace', async (t) => {
  const scene = await Scene.open(t)
  const first = await scene.workspace()
  const second = await scene.split(first.pane_id)
  const { pane_id, terminal_id } = second
  const { move_result: moved } = await scene.result<{ move_result: { pane: PaneInfo } }>(
    'pane.move',
    { pane_id, destination: { type: 'new_tab' } },
  )
  assert.deepEqual([moved.pane.pane_id, moved.pane.terminal_id], [pane_id, terminal_id])
  assert.notEqual(moved.pane.tab_id, second.tab_id)
})

it('keeps the old id of a pane in another workspace for panes, not for agents', async (t) => {
  const scene = await Scene.open(t)
  const first = await scene.workspace()
  const { pane_id: old, terminal_id } = await scene.split(first.pane_id)
  const report = { source: 'x', agent: 'robot', state: 'idle' }
  await scene.result('pane.report_agent', { pane_id: old, ...report })
  await scene.herdr.person.move(old, 'new-workspace')
  const moved = await scene.pane(old)
  assert.deepEqual([moved.pane_id, moved.terminal_id], ['w2:p1', terminal_id])
  assert.equal(await scene.code('agent.get', { target: old }), 'agent_not_found')
  assert.equal((await scene.agent('w2:p1')).terminal_id, terminal_id)
  const start = { name: 'a', kind: 'pi', pane_id: old }
  assert.equal(await scene.code('agent.start', start), 'agent_pane_not_found')
  await scene.result('pane.close', { pane_id: old })
  assert.equal(await scene.code('pane.get', { pane_id: old }), 'pane_not_found')
})

it('does not move a pane into the tab it is in', async (t) => {
  const scene = await Scene.open(t)
  const { pane_id, tab_id } = await scene.workspace()
  const destination = { type: 'tab', tab_id, split: 'right' }
  const { move_result: result } = await scene.result<{
    move_result: { changed: boolean; reason: string }
  }>('pane.move', { pane_id, destination })
  assert.deepEqual([result.changed, result.reason], [false, 'same_tab'])
})

it('divides a tab by the ratio, and gives back the room of a closed pane', async (t) => {
  const scene = await Scene.open(t)
  const { pane_id } = await scene.workspace()
  const added = await scene.split(pane_id, { direction: 'down', ratio: 0.75 })
  assert.equal(added.scroll?.viewport_rows, 6)
  assert.equal((await scene.pane(pane_id)).scroll?.viewport_rows, 18)
  await scene.result('pane.layout', { pane_id })
  await scene.result('pane.close', { pane_id: added.pane_id })
  assert.equal((await scene.pane(pane_id)).scroll?.viewport_rows, 24)
  assert.equal(
    await scene.code('pane.split', { target_pane_id: pane_id, direction: 'down', ratio: 2 }),
    'invalid_ratio',
  )
})

it('builds a layout of several panes', async (t) => {
  const scene = await Scene.open(t)
  await scene.workspace()
  const leaf = (label: string) => ({ type: 'pane', label, command: ['sleep', '60'] })
  const split = { type: 'split', direction: 'right', ratio: 0.5, first: leaf('a') }
  const root = { ...split, second: { ...split, direction: 'down', second: leaf('b') } }
  await scene.result('layout.apply', { root, tab_label: 'three' })
  const { tabs } = await scene.result<{ tabs: TabInfo[] }>('tab.list', { workspace_id: 'w1' })
  assert.deepEqual([tabs[1]?.label, tabs[1]?.pane_count], ['three', 3])
  await scene.result('layout.export', { tab_id: tabs[1]?.tab_id })
  const deep = Array.from({ length: 16 }).reduce<object>(
    (second) => ({ ...split, second }),
    leaf('c'),
  )
  assert.equal(await scene.code('layout.apply', { root: deep }), 'invalid_layout')
})

it('applies no layout with a program that is not there', async (t) => {
  const scene = await Scene.open(t)
  await scene.workspace()
  const root = { type: 'pane', command: ['no-such-program'] }
  const { error } = await scene.ask('layout.apply', { root })
  assert.equal(error?.code, 'layout_apply_failed')
  assert.match(error?.message ?? '', /\/no-such-program/)
  assert.deepEqual(await scene.paneIds(), ['w1:p1'])
})

it('looks for a program in the PATH its pane will have', async (t) => {
  const scene = await Scene.open(t)
  await scene.workspace()
  const root = { type: 'pane', command: ['sleep', '60'], env: { PATH: '/nowhere' } }
  assert.equal(await scene.code('layout.apply', { root }), 'layout_apply_failed')
})

it('lists, names, focuses and closes workspaces and tabs', async (t) => {
  const scene = await Scene.open(t)
  await scene.workspace({ label: 'one' })
  const other = await scene.workspace({ label: 'two' })
  const { workspace_id, tab_id } = other
  await scene.result('workspace.rename', { workspace_id, label: 'second' })
  await scene.result('workspace.focus', { workspace_id })
  await scene.result('tab.get', { tab_id })
  const { workspaces } = await scene.result<{ workspaces: WorkspaceInfo[] }>('workspace.list')
  assert.deepEqual(
    workspaces.map(({ label, number, focused }) => [label, number, focused]),
    [
      ['one', 1, false],
      ['second', 2, true],
    ],
  )
  await scene.result('workspace.close', { workspace_id })
  assert.equal(await scene.code('workspace.get', { workspace_id }), 'workspace_not_found')
  assert.equal(await scene.code('tab.get', { tab_id }), 'tab_not_found')
  assert.equal((await scene.workspace()).workspace_id, 'w3')
})

it('does what a person does', async (t) => {
  const scene = await Scene.open(t)
  const { person } = scene.herdr
  const { pane_id, workspace_id } = await scene.workspace()
  const beside = await person.split(pane_id)
  const tab = await person.newTab(workspace_id)
  assert.equal(tab.focused, true)
  await person.type(beside, 'echo $((40+2))\r')
  await scene.shows(beside.pane_id, '42')
  await person.move(beside, { tab: tab.tab_id })
  await person.close(pane_id)
  await person.closeTab(tab.tab_id)
  await fact('nothing is left', async () => (await scene.paneIds()).length === 0)
})
