import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { it } from 'node:test'
import { environmentOf, isAlive, processRows } from './fake-processes.ts'
import { fact, Scene } from './fake-scene.ts'

interface Shell {
  readonly process_info: { readonly shell_pid: number }
}

const shellOf = async (scene: Scene, pane_id: string): Promise<number> =>
  (await scene.result<Shell>('pane.process_info', { pane_id })).process_info.shell_pid

it('comes back from a restart with the same ids, as plain shells in new terminals', async (t) => {
  const scene = await Scene.open(t)
  const { tab_id } = await scene.workspace({ label: 'home' })
  await scene.result('tab.rename', { tab_id, label: 'main' })
  const pane_id = await scene.run(['sleep', '60'], { label: 'worker' })
  await scene.result('pane.report_metadata', { pane_id, source: 'x', tokens: { run: 'r7' } })
  const before = await scene.pane(pane_id)
  const pid = await shellOf(scene, pane_id)
  const listener = await scene.subscribe('pane.exited')
  await scene.herdr.restart()
  await fact('connections have ended', () => listener.hasEnded)
  const after = await scene.pane(pane_id)
  assert.equal(isAlive(pid), false)
  assert.deepEqual([after.label, after.tab_id], ['worker', before.tab_id])
  assert.deepEqual([after.tokens, after.terminal_id === before.terminal_id], [undefined, false])
  await scene.result('pane.send_input', { pane_id, text: 'echo $((40+2))', keys: ['enter'] })
  await scene.shows(pane_id, '42')
  assert.equal((await scene.tab()).root_pane.pane_id, 'w1:p3')
})

it('gives the id of the last workspace again after a restart, if it was closed', async (t) => {
  const scene = await Scene.open(t)
  await scene.workspace()
  const { workspace_id } = await scene.workspace()
  await scene.result('workspace.close', { workspace_id })
  await scene.herdr.restart()
  assert.equal((await scene.workspace()).workspace_id, workspace_id)
})

it('knows no old id of a moved pane after a restart', async (t) => {
  const scene = await Scene.open(t)
  const { pane_id } = await scene.workspace()
  await scene.split(pane_id)
  const { pane_id: moved } = await scene.herdr.person.move(pane_id, 'new-workspace')
  await scene.herdr.restart()
  assert.equal((await scene.pane(moved)).pane_id, moved)
  assert.equal(await scene.code('pane.get', { pane_id }), 'pane_not_found')
})

it('starts nothing again when it stops after a handoff', async (t) => {
  const scene = await Scene.open(t)
  await scene.workspace()
  await scene.run(['sleep', '60'])
  const { herdr } = scene
  await herdr.handoff()
  await herdr.stop()
  await herdr.looked()
  const left = processRows().filter(
    ({ pid }) => environmentOf(pid).get('HERDR_SOCKET_PATH') === herdr.socketPath,
  )
  assert.deepEqual(left, [])
})

it('tells nothing of the time before a restart', async (t) => {
  const scene = await Scene.open(t)
  await scene.workspace()
  await scene.herdr.restart()
  const listener = await scene.subscribe('pane.created')
  const { pane_id } = (await scene.tab()).root_pane
  await fact('one has come', () => listener.events.length > 0)
  assert.match(JSON.stringify(listener.data[0]), new RegExp(`"${pane_id}"`))
})

it('keeps processes and ids over a handoff, and breaks connections and waits', async (t) => {
  const scene = await Scene.open(t)
  const { pane_id, terminal_id } = await scene.workspace()
  const pid = await shellOf(scene, pane_id)
  const match = { type: 'substring', value: 'never' }
  const wait = scene.listen('pane.wait_for_output', { pane_id, source: 'recent', match })
  const listener = await scene.subscribe('pane.exited')
  await scene.herdr.handoff()
  await fact('both have ended', () => wait.hasEnded && listener.hasEnded)
  assert.equal(await shellOf(scene, pane_id), pid)
  assert.notEqual((await scene.pane(pane_id)).terminal_id, terminal_id)
})

it('puts a shell where a command ends that came through a handoff', async (t) => {
  const scene = await Scene.open(t)
  await scene.workspace()
  const pane_id = await scene.run(['sh', '-c', 'read line'])
  const pid = await shellOf(scene, pane_id)
  await scene.herdr.handoff()
  await scene.result('pane.send_keys', { pane_id, keys: ['enter'] })
  await fact('another runs there', async () => (await shellOf(scene, pane_id)) !== pid)
})

it('ends everything when it stops, and takes its socket away', async (t) => {
  const scene = await Scene.open(t)
  const { pane_id } = await scene.workspace()
  const listener = await scene.subscribe('pane.exited')
  const pid = await shellOf(scene, pane_id)
  await scene.herdr.stop()
  await fact('all has ended', () => listener.hasEnded && !isAlive(pid))
  assert.equal(existsSync(scene.herdr.socketPath), false)
  assert.deepEqual(listener.events, [])
})

it('loses an adopted pane with its process', async (t) => {
  const scene = await Scene.open(t)
  const { pane_id } = await scene.workspace()
  const adopted = scene.herdr.adopt(await shellOf(scene, pane_id))
  await scene.result('pane.close', { pane_id })
  await fact('both are gone', async () => (await scene.paneIds()).length === 0)
  assert.equal(await scene.code('pane.get', { pane_id: adopted.pane_id }), 'pane_not_found')
})
