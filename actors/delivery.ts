import {
  type Clock,
  type Identity,
  limits,
  type MailboxFs,
  type RootPaths,
  resultPath,
} from '../mailbox/index.ts'
import { Actor } from './actor.ts'
import { keepText } from './cascade.ts'
import type { Observation } from './observation.ts'
import type { DeliveryIdentity, OwnerHost, ResultReport } from './ports.ts'

export interface DeliveryPorts {
  readonly fs: MailboxFs
  readonly clock: Clock
  readonly root: RootPaths
  readonly host: OwnerHost
  readonly observation?: Observation
  /** Called once for each result that is proven to be in the owner's history. */
  readonly onDelivered: (generation: string) => void
}

type Message = 'pump' | { readonly offer: ResultReport }

/**
 * Hands results to their owner, so that each is seen exactly once.
 *
 * A result is handed only to an idle owner, all that wait in one message, one message at a time. It counts as
 * delivered when it is found in the owner's durable history with its full identity: not when a call returned.
 * It is handed over again only when the run that should have brought it is over, the owner is idle, and the
 * history does not hold it.
 */
export class Delivery {
  readonly #ports: DeliveryPorts
  readonly #actor: Actor<Message, void>
  readonly #waiting = new Map<string, ResultReport>()
  /** Results whose place in the history is not known yet: of an earlier life, or handed over and not looked for. */
  readonly #inDoubt = new Set<string>()
  readonly #unsubscribe: () => void
  #isPumpQueued = false

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

  /** Takes a result that is durable. Offering it again is harmless. */
  offer(report: ResultReport): void {
    this.#tell({ offer: report })
  }

  /** Looks whether something can be handed over, or has arrived. */
  pump(): void {
    if (this.#isPumpQueued || this.#waiting.size === 0) return
    this.#isPumpQueued = true
    this.#tell('pump')
  }

  async stop(): Promise<void> {
    this.#unsubscribe()
    await this.#actor.stop('drop')
  }

  #tell(message: Message): void {
    if (this.#actor.state === 'running') this.#actor.tell(message)
  }

  async #handle(message: Message): Promise<void> {
    if (message !== 'pump') {
      const { generation } = message.offer.generation.identity
      if (this.#waiting.has(generation)) return
      this.#waiting.set(generation, message.offer)
      this.#inDoubt.add(generation)
      this.pump() // behind the offers that wait already, so that they go together
      return
    }
    this.#isPumpQueued = false
    await this.#look()
    await this.#send()
  }

  /** Looks in the history for what may be there. While a run goes on, absence proves nothing yet. */
  async #look(): Promise<void> {
    const { host, onDelivered } = this.#ports
    if (this.#inDoubt.size === 0) return
    const isIdle = host.isIdle()
    const wanted = [...this.#inDoubt].flatMap((name) => this.#waiting.get(name) ?? [])
    // A history that cannot be read says nothing, so nothing is sent; the next pump looks again.
    const seen = await host.seen(wanted.map(deliveryIdentity)).catch(() => undefined)
    if (seen === undefined) return
    for (const { generation } of seen) {
      this.#inDoubt.delete(generation)
      if (this.#waiting.delete(generation)) onDelivered(generation)
    }
    if (isIdle && host.isIdle()) this.#inDoubt.clear()
  }

  async #send(): Promise<void> {
    const { host } = this.#ports
    if (this.#waiting.size === 0 || this.#inDoubt.size > 0 || !host.isIdle()) return
    const reports = await this.#fitting([...this.#waiting.values()])
    // Marked first: once the host has it, a crash of ours must lead to a look, never to a second send.
    for (const name of this.#waiting.keys()) this.#inDoubt.add(name)
    if (host.trySend(reports) === 'busy') this.#inDoubt.clear()
  }

  /** One message holds all reports: longer texts give way, and their whole goes to a file first. */
  async #fitting(reports: readonly ResultReport[]): Promise<readonly ResultReport[]> {
    const share = Math.floor(limits.messageBytesMax / reports.length)
    return Promise.all(reports.map((report) => this.#shorten(report, share)))
  }

  async #shorten(report: ResultReport, bytesMax: number): Promise<ResultReport> {
    const { conclusion, generation } = report
    if (conclusion.kind === 'failure') return report
    const bytes = Buffer.byteLength(conclusion.text)
    if (bytes <= bytesMax) return report
    const file = resultPath(this.#ports.root, generation.identity.generation)
    const whole = conclusion.whole ?? { file, bytes }
    try {
      if (conclusion.whole === undefined) await keepText(this.#ports.fs, file, conclusion.text)
    } catch (error) {
      return { ...report, persistenceError: (error as Error).message }
    }
    return {
      ...report,
      conclusion: { ...conclusion, text: head(conclusion.text, bytesMax), whole },
    }
  }
}

/** What a delivery is recognised by. */
export function deliveryIdentity({ generation, conclusion }: ResultReport): DeliveryIdentity {
  return { ...generation.identity, request: conclusion.request }
}

/** One text that stands for a whole identity: equal only if every field is. */
export function deliveryKey(identity: DeliveryIdentity): string {
  const { generation, owner, session, sessionFile, label, cwd } = identity satisfies Identity
  return JSON.stringify([generation, owner, session, sessionFile, label, cwd, identity.request])
}

/** The beginning of a text, cut between characters. */
export function head(text: string, bytesMax: number): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= bytesMax) return text
  let end = bytesMax
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--
  return bytes.subarray(0, end).toString()
}
