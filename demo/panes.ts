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

type PaneInfo = ReturnType<FakeHerdr['panes']>[number]

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

/** A stand-in for herdr with one pane, in which the lead lives: its shell is this process. Tells what it shows. */
export class Panes {
  readonly #herdr: FakeHerdr
  readonly #client: HerdrClient
  readonly #own: PaneInfo
  readonly #sandbox: Sandbox
  readonly #timeline: Timeline
  readonly #observer: Observer
  readonly #sight: Sight
  readonly #agents = new Map<string, Placed>()
  readonly #seen = new Set<string>()
  readonly #focused = new Set<string | undefined>()
  readonly #told = new Set<'panes' | 'screen'>()
  readonly #timer: NodeJS.Timeout

  private constructor(herdr: FakeHerdr, { sandbox, timeline, observer }: Audience, sight: Sight) {
    this.#herdr = herdr
    this.#client = new HerdrClient(herdr.socketPath, systemClock)
    this.#own = herdr.adopt(process.pid)
    this.#sandbox = sandbox
    this.#timeline = timeline
    this.#observer = observer
    this.#sight = sight
    this.#timer = setInterval(() => this.#look(), lookMs)
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
    sandbox.around = herdr.environment(panes.#own)
    return panes
  }

  get ownPane(): string {
    return this.#own.pane_id
  }

  /** What held so far, of `count` agents. */
  facts(count: number): readonly Fact[] {
    const left = this.#look()
    const placed = [...this.#agents.values()]
    const terminals = new Set([this.#own.terminal_id, ...placed.map(({ terminal }) => terminal)])
    const where = placed.map(({ label, pane }) => `${label} in ${pane}`).join(', ')
    return [
      [
        `each agent had a pane of its own: ${where}`,
        placed.length === count &&
          terminals.size === count + 1 &&
          placed.every(({ terminal }) => this.#seen.has(terminal)),
      ],
      [
        'no pane of an agent is left',
        left.length === 1 && left[0]?.terminal_id === this.#own.terminal_id,
      ],
      [
        `the focus stayed with ${this.ownPane}, the pane of the lead`,
        this.#focused.size === 1 && this.#focused.has(this.ownPane),
      ],
    ]
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#herdr.stop()
  }

  #look(): readonly PaneInfo[] {
    const panes = this.#herdr.panes()
    this.#focused.add(panes.find(({ focused }) => focused)?.pane_id)
    for (const { terminal_id } of panes) this.#seen.add(terminal_id)
    for (const { records } of generations(this.#sandbox))
      for (const record of records) {
        if (record.kind !== 'placed') continue
        const { pane } = record['placement'] as { pane?: { pane: string; terminal: string } }
        const { label } = record['identity'] as { label: string }
        if (pane !== undefined) this.#agents.set(label, { label, ...pane })
      }
    this.#tellPanes(panes)
    this.#tellScreen()
    return panes
  }

  /** Once, when both agents have theirs, and their names on them. */
  #tellPanes(panes: readonly PaneInfo[]): void {
    if (this.#told.has('panes') || this.#agents.size < 2) return
    if (panes.filter(({ label }) => label !== undefined).length < 2) return
    this.#told.add('panes')
    void this.#client
      .request('session.snapshot', {})
      .then(({ snapshot }) => this.#showTabs(snapshot.tabs, panes))
  }

  #showTabs(tabs: readonly { tab_id: string; label: string }[], panes: readonly PaneInfo[]): void {
    this.#observer.look() // what led to it comes first
    this.#timeline.event('herdr', `has ${panes.length} panes in ${tabs.length} tabs:`)
    for (const { tab_id, label } of tabs) {
      this.#timeline.under(`tab ${tab_id} "${label}"`)
      const its = panes.filter((pane) => pane.tab_id === tab_id)
      for (const [index, { pane_id, label = 'lead', focused }] of its.entries()) {
        const branch = index === its.length - 1 ? '└─' : '├─'
        const focus = focused ? ', has the focus' : ''
        this.#timeline.under(`${branch} pane ${pane_id} "${label}"${focus}`)
      }
    }
  }

  /** Once, when the awaited text is on the screen. */
  #tellScreen(): void {
    const placed = this.#agents.get(this.#sight.label)
    if (this.#told.has('screen') || placed === undefined) return
    if (!this.#herdr.panes().some(({ pane_id }) => pane_id === placed.pane)) return
    const text = this.#herdr.screen(placed.pane)
    if (!text.includes(this.#sight.text)) return
    this.#told.add('screen')
    this.#observer.look()
    this.#timeline.event('herdr', `shows in pane ${placed.pane}, that of the ${placed.label}:`)
    for (const line of endOf(text)) this.#timeline.under(`│ ${line}`)
  }
}

/** The last lines with something to read on them. */
function endOf(screen: string): readonly string[] {
  const lines = screen.split('\n').map((line) => line.trim().replace(/ {3,}/g, '   '))
  return lines.filter((line) => !/^─*$/.test(line)).slice(-screenLines)
}
