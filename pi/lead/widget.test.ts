import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ExtensionContext } from '@mariozechner/pi-coding-agent'
import type { Component } from '@mariozechner/pi-tui'
import { hangs, type Lead, world } from '../../actors/testing/index.ts'
import { StatusWidget } from './widget.ts'

type Content = undefined | string[] | ((tui: unknown, theme: unknown) => Component)

const theme = { fg: (_: string, text: string) => text }

/** A host's screen: what was asked of it, and how often it was told to draw. */
class Screen {
  readonly asked: (readonly string[] | 'component' | undefined)[] = []
  draws = 0
  rows = 40
  #component: Component | undefined
  readonly ctx: ExtensionContext

  constructor(mode: 'tui' | 'rpc' | 'print') {
    const setWidget = (_: string, content: Content) => {
      this.draws += 1
      this.#component = undefined
      if (typeof content !== 'function') this.asked.push(content)
      else {
        this.asked.push('component')
        const requestRender = () => {
          this.draws += 1
        }
        this.#component = content({ requestRender, terminal: { rows: this.rows } }, theme)
      }
    }
    this.ctx = { mode, hasUI: mode !== 'print', ui: { setWidget } } as unknown as ExtensionContext
  }

  lines(width: number = 80): readonly string[] | undefined {
    return this.#component?.render(width).map((line) => line.trim())
  }
}

/** A lead with the widget on its screen. */
async function shown(mode: 'tui' | 'rpc' | 'print' = 'tui') {
  const lead = await world().lead()
  const { owner } = lead
  const screen = new Screen(mode)
  let asked = 0
  const widget = new StatusWidget(lead.process.clock, screen, {
    watch(watcher) {
      const ends = [owner.onChange(watcher), owner.onActivity(watcher)]
      return () => {
        for (const end of ends) end()
      }
    },
    lastSeen: async () => {
      asked += 1
      return { ...(await owner.lastSeen()), role: owner.role }
    },
  })
  return { lead, screen, widget, looks: () => asked }
}

/** The agent notes what it does. */
function notes(lead: Lead, label: string, line: string): void {
  const { activityFile } = lead.world.agent(label).order.paths
  const noted = JSON.stringify({ at: 1, lines: [line] })
  lead.world.machine.disk.plant(activityFile, 'file', Buffer.from(noted))
}

describe('the status widget', () => {
  it('is not there before the first delegation, and goes with the last agent', async () => {
    const { lead, screen } = await shown()
    await lead.world.advance(60_000)
    assert.deepEqual(screen.asked, [])
    await lead.delegate()
    await lead.world.until(() => screen.lines() !== undefined)
    await lead.settled()
    await lead.world.advance(1_000)
    assert.deepEqual(screen.asked, ['component', undefined])
  })

  it('draws nothing and asks for nothing to be drawn while nothing changes', async () => {
    const { lead, screen } = await shown()
    await lead.delegate(hangs())
    await lead.world.advance(1_000)
    const before = screen.draws
    assert.ok(before > 0)
    await lead.world.advance(120_000)
    assert.equal(screen.draws, before)
    assert.match(screen.lines()?.[1] ?? '', / 2m /) // whenever it is drawn, it tells the time that is
  })

  it('looks without causing the change it shows', async () => {
    const { lead, looks } = await shown()
    await lead.delegate(hangs())
    await lead.world.advance(10_000)
    const before = looks()
    await lead.world.advance(4_900)
    assert.ok(looks() - before <= 1, 'only the owner itself looks round every five seconds')
  })

  it('shows what an agent says it does as soon as it says it', async () => {
    const { lead, screen } = await shown()
    await lead.delegate(hangs())
    await lead.world.advance(1_000)
    notes(lead, 'scout', 'says Reading the parser.')
    await lead.world.advance(250)
    assert.match(screen.lines()?.[1] ?? '', /Reading the parser\./)
  })

  it('is drawn four times a second at most, and ends with what is so', async () => {
    const { lead, screen } = await shown()
    await lead.delegate(hangs())
    await lead.world.advance(1_000)
    const before = screen.draws
    for (let i = 0; i < 100; i++) {
      notes(lead, 'scout', `says word ${i}`)
      await lead.world.advance(20)
    }
    assert.ok(screen.draws - before > 1)
    assert.ok(screen.draws - before <= 9, `${screen.draws - before} draws in two seconds`)
    await lead.world.advance(250)
    assert.match(screen.lines()?.[1] ?? '', /word 99/)
  })

  it('shows a question and who asks it', async () => {
    const { lead, screen } = await shown()
    await lead.delegate(hangs())
    const { managed } = lead.world.agent('scout')
    assert.ok(managed)
    await lead.world.run(managed.ask({ text: 'which?' }))
    await lead.world.advance(1_000)
    assert.match(screen.lines()?.join('\n') ?? '', /1 asking.*\n\? scout asks: which\?\n/)
  })

  it('is hidden and shown again by its key, and stays hidden when something changes', async () => {
    const { lead, screen, widget } = await shown()
    await lead.delegate(hangs())
    await lead.world.advance(1_000)
    widget.toggle()
    assert.equal(screen.lines(), undefined)
    notes(lead, 'scout', 'says More.')
    await lead.world.advance(1_000)
    assert.equal(screen.lines(), undefined)
    widget.toggle()
    assert.match(screen.lines()?.[1] ?? '', /More\./)
  })

  it('becomes one line where the terminal is too low for its rows', async () => {
    const { lead, screen } = await shown()
    screen.rows = 10
    for (const label of ['a', 'b', 'c']) await lead.delegate(hangs(), { label })
    await lead.world.advance(1_000)
    assert.equal(screen.lines()?.length, 1)
  })

  it('is a list of plain lines for a client, and taken away in the end', async () => {
    const { lead, screen } = await shown('rpc')
    await lead.delegate()
    await lead.settled()
    await lead.world.advance(1_000)
    assert.ok(screen.asked.length > 1)
    assert.equal(screen.asked.at(-1), undefined)
    for (const lines of screen.asked.slice(0, -1)) {
      assert.ok(Array.isArray(lines))
      assert.match(lines[0] ?? '', /^agents 1 · 1 /)
      assert.ok(!lines.join('').includes('alt+a')) // nobody presses it there
    }
  })

  it('is nothing where nobody looks', async () => {
    const { lead, screen } = await shown('print')
    await lead.delegate(hangs())
    await lead.world.advance(10_000)
    assert.deepEqual(screen.asked, [])
  })

  it('is gone from the screen when its session ends, and comes back with no later change', async () => {
    const { lead, screen, widget } = await shown()
    await lead.delegate(hangs())
    await lead.world.advance(1_000)
    widget.end()
    notes(lead, 'scout', 'says More.')
    await lead.world.advance(10_000)
    assert.deepEqual(screen.asked, ['component', undefined])
  })
})
