import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { systemClock } from '../mailbox/index.ts'
import { HerdrClient } from './client.ts'
import { fact, Scene } from './testing/fake-scene.ts'
import type { FakeOptions } from './testing/index.ts'
import { PaneWatch, type Sight } from './watch.ts'

/** A watch that listens to a herdr with one workspace of one shell. */
async function watching(t: TestContext, options: Partial<FakeOptions>) {
  const scene = await Scene.open(t, options)
  const first = await scene.workspace()
  const watch = new PaneWatch(new HerdrClient(scene.herdr.socketPath, systemClock), systemClock)
  t.after(() => watch.close())
  const sights: Sight[] = []
  watch.onChange((sight) => sights.push(sight))
  const streams = () =>
    scene.herdr.requests.filter(({ method }) => method === 'events.subscribe').length
  const looks = () =>
    scene.herdr.requests.filter(({ method }) => method === 'session.snapshot').length
  await fact('a first look', () => looks() > 0)
  await watch.panes(60_000)
  const last = () => {
    const sight = sights.at(-1)
    return sight !== undefined && 'inventory' in sight ? sight.inventory : undefined
  }
  const has = (pane_id: string) => last()?.panes.some((pane) => pane.pane_id === pane_id)
  return { scene, watch, first, sights, last, has, streams, looks }
}

for (const profile of ['0.8', '0.9.2'] as const)
  describe(`with a herdr ${profile}`, () => {
    it('sees panes come, exit, close and move', async (t) => {
      const { scene, first, last, has } = await watching(t, { profile })
      const exits = await scene.run(['sh', '-c', 'read line'])
      await fact('it came', () => has(exits))
      await scene.result('pane.send_text', { pane_id: exits, text: 'go\n' })
      await fact('it exited', () => has(exits) === false)
      const { pane_id } = await scene.split(first.pane_id)
      await fact('another came', () => has(pane_id))
      await scene.result('pane.move', { pane_id, destination: { type: 'new_tab' } })
      await fact('it moved', () =>
        last()?.panes.some((pane) => pane.pane_id === pane_id && pane.tab_id !== first.tab_id),
      )
      await scene.result('pane.close', { pane_id })
      await fact('it closed', () => has(pane_id) === false)
    })

    it('sees a change though every event is lost', async (t) => {
      const { scene, has } = await watching(t, { profile })
      scene.herdr.faults.loseEvents = () => true
      const { root_pane } = await scene.tab()
      await fact('it came', () => has(root_pane.pane_id))
    })

    it('sees other terminals after a restart and after a handoff, and listens again', async (t) => {
      const { scene, first, last, has, streams } = await watching(t, { profile })
      let terminal = first.terminal_id
      for (const change of ['restart', 'handoff'] as const) {
        const before = streams()
        await scene.herdr[change]()
        await fact(`other terminals after a ${change}`, () => {
          const now = last()?.panes.find((pane) => pane.pane_id === first.pane_id)?.terminal_id
          if (now === undefined || now === terminal) return false
          terminal = now
          return true
        })
        await fact('it listens again', () => streams() > before)
      }
      const { root_pane } = await scene.tab()
      await fact('it hears', () => has(root_pane.pane_id))
    })
  })

it('looks seldom while a herdr 0.8 repeats what it remembers', async (t) => {
  const scene = await Scene.open(t, { profile: '0.8', tickMs: 2 })
  await scene.workspace()
  for (let n = 0; n < 60; n++) {
    const { root_pane } = await scene.tab()
    await scene.result('pane.close', { pane_id: root_pane.pane_id })
  }
  const watch = new PaneWatch(new HerdrClient(scene.herdr.socketPath, systemClock), systemClock)
  t.after(() => watch.close())
  watch.onChange(() => {})
  const mark = await scene.subscribe('pane.created', 'pane.closed')
  await fact('all was repeated', () => mark.events.length >= 120)
  const looks = scene.herdr.requests.filter(({ method }) => method === 'session.snapshot').length
  assert.ok(looks <= 8, `${looks} looks`)
})
