import type { TestContext } from 'node:test'
import { HerdrClient } from '../client.ts'
import { PaneWatch, type Sight } from '../watch.ts'
import { HandClock } from './hand-clock.ts'
import { answers, RawServer } from './raw-server.ts'

export interface Placed {
  readonly pane_id: string
  readonly terminal_id: string
  readonly workspace_id: string
  readonly tab_id: string
}

/** Pane `p<n>` alone in tab `t<n>`. */
export const placed = (n: number, more: Partial<Placed> = {}): Placed => ({
  pane_id: `w1:p${n}`,
  terminal_id: `term_${n}`,
  workspace_id: 'w1',
  tab_id: `w1:t${n}`,
  ...more,
})

/** A watch over a server that a test fills with panes, on a clock moved by hand. */
export class WatchScene {
  readonly clock: HandClock = new HandClock()
  readonly server: RawServer
  readonly client: HerdrClient
  readonly watch: PaneWatch
  readonly sights: Sight[] = []
  /** What there is. */
  panes: Placed[] = [placed(1), placed(2)]

  private constructor(server: RawServer) {
    this.server = server
    this.client = new HerdrClient(server.socketPath, this.clock)
    this.watch = new PaneWatch(this.client, this.clock)
    server.conduct['session.snapshot'] = (...asked) =>
      answers({ type: 'session_snapshot', snapshot: this.#snapshot() })(...asked)
    server.conduct['events.subscribe'] = server.subscribes
  }

  static async open(t: TestContext): Promise<WatchScene> {
    const scene = new WatchScene(await RawServer.open(t))
    t.after(() => scene.watch.close())
    return scene
  }

  /** With a listener, a stream that stands, and a first look. */
  static async listening(t: TestContext): Promise<WatchScene> {
    const scene = await WatchScene.open(t)
    scene.watch.onChange((sight) => scene.sights.push(sight))
    await scene.clock.rest()
    return scene
  }

  get looks(): number {
    return this.server.count('session.snapshot')
  }

  /** What listeners were told: the ids of the panes there are, or the code of the failure. */
  get told(): readonly string[] {
    return this.sights.map((sight) =>
      'failure' in sight
        ? sight.failure.code
        : sight.inventory.panes.map(({ pane_id }) => pane_id.slice(3)).join(' '),
    )
  }

  /** An event on every open stream. It has arrived when this resolves, and no look it brought about at once is left. */
  async emit(event: string, data: object): Promise<void> {
    const line = `${JSON.stringify({ event, data: { type: event, ...data } })}\n`
    for (const stream of this.server.streams)
      await new Promise((resolve) => stream.write(line, resolve))
    await this.clock.rest()
  }

  exited(n: number): Promise<void> {
    return this.emit('pane_exited', { pane_id: `w1:p${n}`, workspace_id: 'w1' })
  }

  /** Ends every stream, with these last bytes. */
  async endStreams(bytes = ''): Promise<void> {
    for (const stream of this.server.streams)
      await new Promise((resolve) => {
        stream.once('close', resolve)
        stream.end(bytes)
      })
    await this.clock.rest()
  }

  #snapshot(): object {
    const tabs = this.panes.map(({ tab_id, workspace_id }) => ({ tab_id, workspace_id }))
    return { version: '0.9.2', protocol: 22, workspaces: [], tabs, panes: this.panes }
  }
}
