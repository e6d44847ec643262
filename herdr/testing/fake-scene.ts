import assert from 'node:assert/strict'
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type Answer, ask, Listener } from './fake-client.ts'
import type { AgentInfo, PaneInfo, TabInfo } from './fake-records.ts'
import { FakeHerdr, type FakeOptions } from './fake-server.ts'
import { misshapen } from './shape-check.ts'

/** A fake herdr for one test: ends with it. Every line that comes is held against the known shapes. */
export class Scene {
  readonly directory: string
  readonly herdr: FakeHerdr
  readonly #listeners: Listener[] = []

  private constructor(directory: string, herdr: FakeHerdr) {
    this.directory = directory
    this.herdr = herdr
  }

  static async open(t: TestContext, options: Partial<FakeOptions> = {}): Promise<Scene> {
    const directory = realpathSync(mkdtempSync(join(tmpdir(), 'fake-herdr-')))
    const env = { PATH: process.env['PATH'], HOME: directory, PS1: '$ ' }
    const rest = { tickMs: 10, env, cwd: directory, ...options }
    const herdr = await FakeHerdr.start({ directory, ...rest })
    const scene = new Scene(directory, herdr)
    t.after(async () => {
      for (const listener of scene.#listeners) listener.close()
      await herdr.stop()
      rmSync(directory, { recursive: true, force: true })
      const lines = scene.#listeners.flatMap((listener) => listener.lines)
      assert.deepEqual(lines.flatMap(misshapen), [])
    })
    return scene
  }

  async ask(method: string, params: object = {}): Promise<Answer> {
    const answer = await ask(this.herdr.socketPath, method, params)
    assert.ok(answer !== undefined, `${method} was not answered`)
    assert.deepEqual(misshapen(answer), [])
    return answer
  }

  /** The result of what must succeed. */
  async result<T = Record<string, unknown>>(method: string, params: object = {}): Promise<T> {
    const { result, error } = await this.ask(method, params)
    assert.equal(error, undefined)
    return result as T
  }

  /** The code of what must fail. */
  async code(method: string, params: object = {}): Promise<string | undefined> {
    return (await this.ask(method, params)).error?.code
  }

  listen(method: string, params: object): Listener {
    const listener = new Listener(this.herdr.socketPath, method, params)
    this.#listeners.push(listener)
    return listener
  }

  /** A subscription that has been acknowledged. */
  async subscribe(...subscriptions: readonly (string | object)[]): Promise<Listener> {
    const entries = subscriptions.map((each) => (typeof each === 'string' ? { type: each } : each))
    const listener = this.listen('events.subscribe', { subscriptions: entries })
    await fact('a subscription is acknowledged', () => listener.lines.length > 0)
    return listener
  }

  /** A workspace with one shell. */
  async workspace(params: object = {}): Promise<PaneInfo> {
    return (await this.result<{ root_pane: PaneInfo }>('workspace.create', params)).root_pane
  }

  async tab(params: object = {}): Promise<{ tab: TabInfo; root_pane: PaneInfo }> {
    return this.result('tab.create', params)
  }

  async split(pane: string, params: object = {}): Promise<PaneInfo> {
    const order = { target_pane_id: pane, direction: 'right', ...params }
    return (await this.result<{ pane: PaneInfo }>('pane.split', order)).pane
  }

  /** A new tab with exactly this command; the id of its pane. */
  async run(command: readonly string[], more: object = {}): Promise<string> {
    const root = { type: 'pane', command, ...more }
    const { layout } = await this.result<{ layout: { focused_pane_id: string } }>('layout.apply', {
      root,
    })
    return layout.focused_pane_id
  }

  async pane(pane_id: string): Promise<PaneInfo> {
    return (await this.result<{ pane: PaneInfo }>('pane.get', { pane_id })).pane
  }

  async agent(target: string): Promise<AgentInfo> {
    return (await this.result<{ agent: AgentInfo }>('agent.get', { target })).agent
  }

  async paneIds(): Promise<readonly string[]> {
    const { panes } = await this.result<{ panes: readonly PaneInfo[] }>('pane.list')
    return panes.map(({ pane_id }) => pane_id)
  }

  async read(pane_id: string, source: string, more: object = {}): Promise<ReadText> {
    return (await this.result<{ read: ReadText }>('pane.read', { pane_id, source, ...more })).read
  }

  /** A program named pi, that shows what it was started with and then what it reads. */
  installPi(): string {
    const path = join(this.directory, 'pi')
    const script = 'echo "pi with <$*>"; while read line; do echo "<$line>"; done'
    writeFileSync(path, `#!/bin/sh\n${script}\n`, { mode: 0o700 })
    return path
  }

  /** A workspace with a shell that finds that pi. */
  async shellWithPi(): Promise<string> {
    this.installPi()
    const env = { PATH: `${this.directory}:${process.env['PATH']}` }
    return (await this.workspace({ env })).pane_id
  }

  /** Waits until a pane shows a text. */
  async shows(pane_id: string, value: string): Promise<void> {
    await fact(`${pane_id} shows ${value}`, () => this.herdr.screen(pane_id).includes(value))
  }
}

export interface ReadText {
  readonly text: string
  readonly truncated: boolean
}

/** Waits for a fact about the world outside. */
export async function fact<T>(
  what: string,
  isTrue: () => Promise<T | undefined | false> | T | undefined | false,
  timeoutMs: number = 10_000,
): Promise<T> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    const value = await isTrue()
    if (value !== undefined && value !== false) return value
    assert.ok(performance.now() < deadline, `not within ${timeoutMs} ms: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
