import {
  type Clock,
  type Ids,
  keepText,
  limits,
  type MailboxFs,
  type RootPaths,
  resultPath,
} from '../mailbox/index.ts'
import { Actor } from './actor.ts'
import type { Observation } from './observation.ts'
import type { DeliveryIdentity, NoticeReport, OwnerHost, Report } from './ports.ts'

export interface DeliveryPorts {
  readonly fs: MailboxFs
  readonly clock: Clock
  readonly ids: Ids
  readonly root: RootPaths
  readonly host: OwnerHost
  readonly observation?: Observation
  /** What is so now of a notice that is about to be told; undefined where it is over. */
  readonly recheck: (report: NoticeReport) => Promise<NoticeReport | undefined>
  /** Called when a report is proven to be in the owner's history; may be called again for the same. */
  readonly onDelivered: (identity: DeliveryIdentity) => void
}

/** What there is to tell of one generation now: it takes the place of what waited before. */
interface Offer {
  readonly generation: string
  readonly reports: readonly Report[]
}

type Message = 'pump' | Offer

/**
 * Hands reports to their owner, so that each is seen exactly once.
 *
 * A report is handed only to an idle owner, all that wait in one message, one message at a time. It counts as
 * delivered when it is found in the owner's durable history with its full identity: not when a call returned.
 * It is handed over again only when the run that should have brought it is over, the owner is idle, and the
 * history does not hold it.
 */
export class Delivery {
  readonly #ports: DeliveryPorts
  readonly #actor: Actor<Message, void>
  readonly #waiting = new Map<string, Report>()
  /** Reports whose place in the history is not known yet: of an earlier life, or handed over and not looked for. */
  readonly #inDoubt = new Set<string>()
  readonly #told = new Set<string>()
  readonly #unsubscribe: () => void
  #isPumpQueued = false
  /** How many want nothing to be handed over now. */
  #holds = 0

  constructor(ports: DeliveryPorts) {
    this.#ports = ports
    this.#actor = new Actor<Message, void>({
      name: 'delivery',
      clock: ports.clock,
      ...(ports.observation && { observation: ports.observation }),
      handle: (message) => this.#handle(message),
    })
    this.#unsubscribe = ports.host.onChange(() => this.pump())
  }

  /** Takes all there is to tell of a generation, each durable; none where there is nothing any more. */
  offer(generation: string, reports: readonly Report[]): void {
    this.#tell({ generation, reports })
  }

  /** Looks whether something can be handed over, or has arrived. */
  pump(): void {
    if (this.#isPumpQueued || this.#waiting.size === 0) return
    this.#isPumpQueued = true
    this.#tell('pump')
  }

  /** Hands nothing over until the answer is called: what is told starts a run. */
  hold(): () => void {
    this.#holds++
    return () => {
      this.#holds--
      this.pump()
    }
  }

  async stop(): Promise<void> {
    this.#unsubscribe()
    await this.#actor.stop('drop')
  }

  #tell(message: Message): void {
    if (this.#actor.state === 'running') this.#actor.tell(message)
  }

  async #handle(message: Message): Promise<void> {
    if (message !== 'pump') return this.#take(message)
    this.#isPumpQueued = false
    await this.#look()
    await this.#send()
  }

  #take({ generation, reports }: Offer): void {
    const keys = new Set(reports.map(keyOf))
    for (const [key, report] of this.#waiting)
      if (report.generation.identity.generation === generation && !keys.has(key)) this.#drop(key)
    let isMore = false
    for (const report of reports) {
      const key = keyOf(report)
      if (this.#told.has(key)) this.#ports.onDelivered(deliveryIdentity(report))
      else if (!this.#waiting.has(key)) {
        this.#waiting.set(key, report)
        this.#inDoubt.add(key)
        isMore = true
      }
    }
    // Behind the offers that wait already, so that they go together. What is there already waits for a hint: a look at
    // a notice offers it again, and would otherwise ask a host that refuses for ever.
    if (isMore) this.pump()
  }

  #drop(key: string): void {
    this.#waiting.delete(key)
    this.#inDoubt.delete(key)
  }

  /** Looks in the history for what may be there. While a run goes on, absence proves nothing yet. */
  async #look(): Promise<void> {
    const { host, onDelivered } = this.#ports
    if (this.#inDoubt.size === 0) return
    const isIdle = host.isIdle()
    const wanted = [...this.#inDoubt].flatMap((key) => this.#waiting.get(key) ?? [])
    // A history that cannot be read says nothing, so nothing is sent; the next pump looks again.
    const seen = await host.seen(wanted.map(deliveryIdentity)).catch(() => undefined)
    if (seen === undefined) return
    for (const identity of seen) {
      const key = deliveryKey(identity)
      this.#drop(key)
      this.#told.add(key)
      onDelivered(identity)
    }
    if (isIdle && host.isIdle()) this.#inDoubt.clear()
  }

  async #send(): Promise<void> {
    const { host } = this.#ports
    if (this.#holds > 0 || this.#waiting.size === 0) return
    if (this.#inDoubt.size > 0 || !host.isIdle()) return
    const current = await this.#current()
    if (current.length === 0) return
    const reports = await this.#fitting(current)
    // Stopped or held meanwhile: what is sent now would start another run.
    if (this.#actor.state !== 'running' || this.#holds > 0) return
    // Marked first: once the host has it, a crash of ours must lead to a look, never to a second send.
    for (const key of current.map(keyOf)) this.#inDoubt.add(key)
    try {
      if (host.trySend(reports) === 'busy') this.#inDoubt.clear()
    } catch {
      // It may have taken them: they stay in doubt, and the history tells.
    }
  }

  /** What has to be told. A notice is looked at once more: it says what is so now, or nothing. */
  async #current(): Promise<readonly Report[]> {
    const rechecked = [...this.#waiting].map(async ([key, report]) => {
      if (!('notice' in report)) return report
      const now = await this.#ports.recheck(report).catch(() => undefined)
      if (now !== undefined && keyOf(now) === key) return now
      this.#drop(key)
      return []
    })
    return (await Promise.all(rechecked)).flat()
  }

  /** One message holds all reports: longer texts give way, and their whole goes to a file first. */
  async #fitting(reports: readonly Report[]): Promise<readonly Report[]> {
    const share = shareOf(reports)
    return Promise.all(reports.map((report) => this.#shorten(report, share)))
  }

  async #shorten(report: Report, bytesMax: number): Promise<Report> {
    if ('notice' in report) return shortenNotice(report, bytesMax)
    if ('ask' in report) {
      const { ask } = report
      return { ...report, ask: { ...ask, text: head(ask.text, bytesMax) } }
    }
    const { conclusion, generation } = report
    if (conclusion.kind === 'failure')
      return {
        ...report,
        conclusion: { ...conclusion, message: head(conclusion.message, bytesMax) },
      }
    const file = resultPath(this.#ports.root, generation.identity.generation)
    // The record is the agent's word; the place of whole texts is ours.
    if (conclusion.whole !== undefined && conclusion.whole.file !== file) {
      const { whole: _, ...rest } = conclusion
      const persistenceError = 'the agent named a file that is not where whole results are kept'
      return this.#shorten({ ...report, conclusion: rest, persistenceError }, bytesMax)
    }
    const bytes = Buffer.byteLength(conclusion.text)
    if (bytes <= bytesMax) return report
    const whole = conclusion.whole ?? { file, bytes }
    const text = head(conclusion.text, bytesMax)
    try {
      if (conclusion.whole === undefined)
        await keepText(this.#ports.fs, this.#ports.ids, file, conclusion.text)
    } catch (error) {
      return { ...report, persistenceError: (error as Error).message }
    }
    return { ...report, conclusion: { ...conclusion, text, whole } }
  }
}

/** Room of each text in one message, bytes: a notice without the agent's own words needs next to none. */
export function shareOf(reports: readonly Report[]): number {
  const texts = reports.filter((each) => !('notice' in each) || each.notice.capture !== undefined)
  return Math.floor(limits.messageBytesMax / Math.max(1, texts.length))
}

/** What a delivery is recognised by. */
export function deliveryIdentity(report: Report): DeliveryIdentity {
  const { identity } = report.generation
  if ('ask' in report) return { ...identity, request: report.ask.request, ask: report.ask.id }
  if ('notice' in report) {
    const { request, episode } = report.notice
    return { ...identity, request, notice: episode }
  }
  return { ...identity, request: report.conclusion.request }
}

/** One text that stands for a whole identity: equal only if every field is. */
export function deliveryKey(identity: DeliveryIdentity): string {
  const { generation, owner, session, sessionFile, label, cwd, request } = identity
  const { ask = '', notice = '' } = identity
  return JSON.stringify([generation, owner, session, sessionFile, label, cwd, request, ask, notice])
}

const keyOf = (report: Report): string => deliveryKey(deliveryIdentity(report))

/** The last of what an agent did is what tells most. */
function shortenNotice(report: NoticeReport, bytesMax: number): NoticeReport {
  const { capture } = report.notice
  if (capture === undefined) return report
  const lines = [...capture.lines]
  while (Buffer.byteLength(lines.join('\n')) > bytesMax) lines.shift()
  const truncated = capture.truncated || lines.length < capture.lines.length
  return { ...report, notice: { ...report.notice, capture: { lines, truncated } } }
}

/** The beginning of a text, cut between characters. */
export function head(text: string, bytesMax: number): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= bytesMax) return text
  let end = bytesMax
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--
  return bytes.subarray(0, end).toString()
}
