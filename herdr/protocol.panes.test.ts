import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { systemClock } from '../mailbox/index.ts'
import { HerdrClient } from './client.ts'
import { HerdrError, isNotFound, isUnsupported } from './errors.ts'
import type { Method } from './protocol.ts'
import { results } from './schemas.ts'
import { fact, Scene } from './testing/fake-scene.ts'

const coded = (code: string, outcome: string) => (error: unknown) => {
  assert.ok(error instanceof HerdrError, String(error))
  assert.deepEqual([error.code, error.outcome], [code, outcome])
  return true
}

for (const profile of ['0.8', '0.9.2'] as const)
  describe(`with a herdr ${profile}`, () => {
    it('every method is answered in a way that fits', async (t) => {
      const scene = await Scene.open(t, { profile })
      const client = new HerdrClient(scene.herdr.socketPath, systemClock)
      const { workspace_id, tab_id, pane_id } = await scene.workspace({ cwd: scene.directory })

      const { snapshot } = await client.request('session.snapshot', {})
      assert.deepEqual(
        snapshot.panes.map((pane) => pane.pane_id),
        [pane_id],
      )
      const created = await client.request('tab.create', {
        ...{ workspace_id, label: 'ours', focus: false },
      })
      assert.notEqual(created.root_pane.tab_id, tab_id)

      const split = await client.request('pane.split', {
        ...{ target_pane_id: pane_id, direction: 'down', focus: false },
      })
      const id = { pane_id: split.pane.pane_id }
      await client.request('pane.rename', { ...id, label: 'lower' })
      await client.request('pane.focus', id)
      const { pane } = await client.request('pane.get', id)
      assert.deepEqual(pane, { ...split.pane, focused: true })

      await fact('the shell asks', () => scene.herdr.screen(id.pane_id).includes('$'))
      await client.request('pane.send_input', { ...id, text: 'echo $((6*7))', keys: ['enter'] })
      await scene.shows(id.pane_id, '42')
      const { read } = await client.request('pane.read', { ...id, source: 'visible', lines: 80 })
      assert.ok(read.text.includes('42'))

      const root = { type: 'pane', label: 'worker', command: ['sleep', '60'] } as const
      const applied = await client.request('layout.apply', {
        ...{ workspace_id, tab_label: 'x', focus: false, root },
      })
      const worker = { pane_id: applied.layout.focused_pane_id }
      const info = (await client.request('pane.process_info', worker)).process_info
      assert.equal(info.shell_pid, info.foreground_processes[0]?.pid)

      const report = { ...worker, source: 'drover:x', agent: 'drover-worker', seq: 1 }
      await client.request('pane.report_agent', { ...report, state: 'blocked', message: 'asks' })
      const tokens = { drover: 'r7' }
      await client.request('pane.report_metadata', { ...worker, source: 'drover:y', tokens })
      const { agent } = await client.request('agent.get', { target: worker.pane_id })
      assert.equal(agent.agent_status, 'blocked')
      assert.deepEqual((await scene.pane(worker.pane_id)).tokens, { drover: 'r7' })
      await client.request('pane.release_agent', { ...report, seq: 2 })
      await client.request('pane.close', worker)

      const asked = new Set(scene.herdr.requests.map(({ method }) => method))
      assert.deepEqual(
        (Object.keys(results) as Method[]).filter((each) => !asked.has(each)),
        [],
      )
    })

    it('refusals come as the server words them', async (t) => {
      const scene = await Scene.open(t, { profile })
      const client = new HerdrClient(scene.herdr.socketPath, systemClock)
      await scene.workspace()
      const gone = await client.request('pane.close', { pane_id: 'w1:p99' }).catch((error) => error)
      assert.ok(isNotFound(gone))
      const odd = client.request('agent.nothing' as 'agent.get', { target: 'x' })
      assert.ok(isUnsupported(await odd.catch((error) => error)))
    })

    it('an answer that is lost, cut or late leaves the outcome open; one in pieces does not', async (t) => {
      const scene = await Scene.open(t, { profile })
      const client = new HerdrClient(scene.herdr.socketPath, systemClock)
      const { workspace_id } = await scene.workspace()
      const create = (timeoutMs?: number) =>
        client.request('tab.create', { workspace_id, label: 'x', focus: false }, timeoutMs)
      const { faults } = scene.herdr
      faults.on('tab.create', { kind: 'dropAfter' })
      await assert.rejects(create(), coded('no_answer', 'unknown'))
      faults.on('tab.create', { kind: 'cut' })
      await assert.rejects(create(), coded('no_answer', 'unknown'))
      faults.on('tab.create', { kind: 'silent' })
      await assert.rejects(create(50), coded('timeout', 'unknown'))
      faults.on('tab.create', { kind: 'split', bytes: 3 })
      const { root_pane } = await create()
      const { tabs } = (await client.request('session.snapshot', {})).snapshot
      assert.deepEqual([tabs.length, tabs.at(-1)?.tab_id], [4, root_pane.tab_id])
    })
  })

it('a server without layouts says so', async (t) => {
  const scene = await Scene.open(t, { withoutLayout: true })
  const client = new HerdrClient(scene.herdr.socketPath, systemClock)
  assert.equal((await client.server()).server, 'tuios')
  const { workspace_id } = await scene.workspace()
  const call = client.request('layout.apply', {
    ...{ workspace_id, tab_label: 'x', focus: false },
    root: { type: 'pane', label: 'x', command: ['true'] },
  })
  assert.ok(isUnsupported(await call.catch((error) => error)))
})
