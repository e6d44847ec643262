import { HerdrClient } from '../herdr/index.ts'
import { FakeHerdr } from '../herdr/testing/index.ts'
import { systemClock } from '../mailbox/index.ts'
import { generations } from './evidence.ts'
import type { Observer } from './observer.ts'
import type { Sandbox } from './pi-process.ts'
import type { Timeline } from './timeline.ts'

/** Between two looks at the panes, ms. */
const lookMs = 20

/** How much of a screen is shown. */
const screenLines = 7

/** What should be true, and whether it is. */
export type Fact = readonly [text: string, isTrue: boolean]

/** Which pane the agents' own records name, by their labels. */
interface Placed {
  readonly label: string
  readonly pane: string
  readonly terminal: string
}

interface Audience {
  readonly sandbox: Sandbox
  readonly timeline: Timeline
  readonly observer: Observer
}

/** What is awaited on the screen of an agent, to be shown then. */
interface Sight {
  readonly label: string
  readonly text: string
}

/**
 * A stand-in for herdr with one pane, in which the lead lives: its shell is this process. What is told of it is asked
 * for through its socket, as any program can.
 */
export class Panes {
  readonly #herdr: FakeHerdr
  readonly #client: HerdrClient
  readonly #own: { readonly pane_id: string; readonly terminal_id: string }
  readonly #sandbox: Sandbox
  readonly #timeline: Timeline
  readonly #observer: Observer
  readonly #sight: Sight
  readonly #agents = new Map<string, Placed>()
  readonly #seen = new Set<string>()
  readonly #focused = new Set<string | undefined>()
  readonly #told = new Set<'panes' | 'screen'>()
  #looking: Promise<void> | undefined
  readonly #timer: NodeJS.Timeout

  private constructor(herdr: FakeHerdr, { sandbox, timeline, observer }: Audience, sight: Sight) {
    this.#herdr = herdr
    this.#client = new HerdrClient(herdr.socketPath, systemClock)
    this.#own = herdr.adopt(process.pid)
    this.#sandbox = sandbox
    this.#timeline = timeline
    this.#observer = observer
    this.#sight = sight
    this.#timer = setInterval(() => {
      this.#looking ??= this.#look()
        .catch(() => {}) // it looks again, and what is never seen fails a fact
        .finally(() => {
          this.#looking = undefined
        })
    }, lookMs)
  }

  /** Whoever is started in the sandbox from here on is told that it lives in the pane. */
  static async open(audience: Audience, sight: Sight): Promise<Panes> {
    const { sandbox } = audience
    const { PATH, TMPDIR, LANG } = process.env
    const herdr = await FakeHerdr.start({
      directory: sandbox.directory,
      profile: '0.9.2',
      env: { PATH, TMPDIR, LANG, HOME: sandbox.home },
      cwd: sandbox.project,
    })
    const panes = new Panes(herdr, audience, sight)
    sandbox.around = herdr.environment(panes.ownPane)
    return panes
  }

  get ownPane(): string {
    return this.#own.pane_id
  }

  /** What held so far, of `count` agents. */
  async facts(count: number): Promise<readonly Fact[]> {
    const { panes } = await this.#snapshot()
    const placed = [...this.#agents.values()]
    const own = new Set([this.#own.terminal_id, ...placed.map(({ terminal }) => terminal)])
    const where = placed.map(({ label, pane }) => `${label} in ${pane}`).join(', ')
    return [
      [
        `each agent had a pane of its own: ${where}`,
        placed.length === count &&
          own.size === count + 1 &&
          placed.every(({ terminal }) => this.#seen.has(terminal)),
      ],
      [
        'no pane of an agent is left',
        panes.length === 1 && panes[0]?.terminal_id === this.#own.terminal_id,
      ],
      [
        `the focus stayed with ${this.ownPane}, the pane of the lead`,
        this.#focused.size === 1 && this.#focused.has(this.ownPane),
      ],
    ]
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#looking
    await this.#herdr.stop()
  }

  async #look(): Promise<void> {
    const snapshot = await this.#snapshot()
    for (const pane of snapshot.panes) this.#seen.add(pane.terminal_id)
    for (const { records } of generations(this.#sandbox))
      for (const record of records) {
        if (record.kind !== 'placed') continue
        const { pane } = record['placement'] as { pane?: { pane: string; terminal: string } }
        const { label } = record['identity'] as { label: string }
        if (pane !== undefined) this.#agents.set(label, { label, ...pane })
      }
    if (!this.#told.has('panes')) this.#tellPanes(snapshot)
    if (!this.#told.has('screen')) await this.#tellScreen()
  }

  async #snapshot(): Promise<Snapshot> {
    const snapshot = await snapshotOf(this.#client)
    this.#focused.add(snapshot.focused_pane_id)
    return snapshot
  }

  /** Once, when both agents have theirs, and their names on them. */
  #tellPanes({ tabs, panes, focused_pane_id }: Snapshot): void {
    if (this.#agents.size < 2 || panes.filter(({ label }) => label !== undefined).length < 2) return
    this.#told.add('panes')
    this.#observer.look() // what led to it comes first
    this.#timeline.event('herdr', `has ${panes.length} panes in ${tabs.length} tabs:`)
    for (const { tab_id, label } of tabs) {
      this.#timeline.under(`tab ${tab_id} "${label}"`)
      const its = panes.filter((pane) => pane.tab_id === tab_id)
      for (const [index, { pane_id, label = 'lead' }] of its.entries()) {
        const branch = index === its.length - 1 ? '└─' : '├─'
        const focus = pane_id === focused_pane_id ? ', has the focus' : ''
        this.#timeline.under(`${branch} pane ${pane_id} "${label}"${focus}`)
      }
    }
  }

  /** Once, when the awaited text is on the screen. */
  async #tellScreen(): Promise<void> {
    const placed = this.#agents.get(this.#sight.label)
    if (placed === undefined) return
    const { pane: pane_id } = placed
    const text = await this.#client.request('pane.read', { pane_id, source: 'visible' }).then(
      ({ read }) => read.text,
      () => '',
    ) // it may be gone by now
    if (!text.includes(this.#sight.text) || this.#told.has('screen')) return
    this.#told.add('screen')
    this.#observer.look()
    this.#timeline.event('herdr', `shows in pane ${pane_id}, that of the ${placed.label}:`)
    for (const line of endOf(text)) this.#timeline.under(`│ ${line}`)
  }
}

const snapshotOf = async (client: HerdrClient) =>
  (await client.request('session.snapshot', {})).snapshot

type Snapshot = Awaited<ReturnType<typeof snapshotOf>>

/** The last lines with something to read on them. */
function endOf(screen: string): readonly string[] {
  const lines = screen.split('\n').map((line) => line.trim().replace(/ {3,}/g, '   '))
  return lines.filter((line) => !/^─*$/.test(line)).slice(-screenLines)
}
