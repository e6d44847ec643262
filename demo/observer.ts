import type { Placement } from '../mailbox/index.ts'
import { generations, type LivingGeneration } from './evidence.ts'
import type { Sandbox } from './pi-process.ts'
import { brief, type Timeline } from './timeline.ts'

/** Between two looks at the mailboxes, ms. Only this demo polls; Drover itself is woken. */
const lookMs = 20

/** Tells the timeline what appears in the mailboxes: the agents' side of the story, from the files alone. */
export class Observer {
  readonly #sandbox: Sandbox
  readonly #timeline: Timeline
  readonly #told = new Set<string>()
  readonly #living = new Map<string, string>()
  readonly #timer: NodeJS.Timeout

  constructor(sandbox: Sandbox, timeline: Timeline) {
    this.#sandbox = sandbox
    this.#timeline = timeline
    this.#timer = setInterval(() => this.look(), lookMs)
  }

  /** Whether a conclusion of every agent that still has a mailbox is durable, and there are so many. */
  concluded(count: number): boolean {
    const all = generations(this.#sandbox)
    return (
      all.length === count &&
      all.every(({ records }) =>
        records.some(({ kind }) => kind === 'result' || kind === 'failure'),
      )
    )
  }

  look(): void {
    const now = generations(this.#sandbox)
    for (const generation of now) this.#tell(generation)
    const names = new Set(now.map(({ path }) => nameOf(path)))
    for (const [name, label] of this.#living)
      if (!names.has(name)) {
        this.#timeline.event(label, 'is settled: its process is gone and its mailbox removed')
        this.#living.delete(name)
      }
  }

  stop(): void {
    clearInterval(this.#timer)
    this.look()
  }

  #tell({ path, records }: LivingGeneration): void {
    const isInPane = records.some(
      ({ kind, placement }) => kind === 'placed' && (placement as Placement).pane !== undefined,
    )
    for (const record of records) {
      if (record.kind === 'ready' && !isInPane) continue // its process has been told already
      const { label } = record['identity'] as { label: string }
      this.#living.set(nameOf(path), label)
      const key = `${nameOf(path)} ${record.kind} ${String(record['id'] ?? '')}`
      const text = story(record)
      if (this.#told.has(key) || text === undefined) continue
      this.#told.add(key)
      this.#timeline.event(label, text)
    }
  }
}

const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1)

function story(record: LivingGeneration['records'][number]): string | undefined {
  switch (record.kind) {
    case 'task':
      return `gets a mailbox with its task: "${brief(String(record['text']))}"`
    case 'placed':
      return startOf(record['placement'] as Placement)
    case 'ready':
      return `is there, as process ${(record['runtime'] as { process: { pid: number } }).process.pid}`
    case 'ack':
      return 'accepts the task'
    case 'result':
      return `has a durable result: "${brief(String(record['text']))}"`
    case 'failure':
      return `has failed, durably: ${String(record['code'])}: ${brief(String(record['message']))}`
    default:
      return undefined
  }
}

const startOf = ({ pane, process }: Placement): string =>
  pane === undefined ? `is started as process ${process?.pid}` : `is started in pane ${pane.pane}`
