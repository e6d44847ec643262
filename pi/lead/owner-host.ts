import type { DeliveryIdentity, OwnerHost, Report } from '../../actors/index.ts'
import { History } from '../history.ts'
import type { HostGate } from '../host.ts'
import { mailMessage } from '../messages.ts'

/** The host session agents report to. */
export class PiOwnerHost implements OwnerHost {
  readonly #gate: HostGate
  readonly #history: History

  constructor(gate: HostGate) {
    this.#gate = gate
    this.#history = new History(() => gate.ctx?.sessionManager.getSessionFile())
  }

  isIdle(): boolean {
    return this.#gate.isIdle()
  }

  trySend(reports: readonly Report[]): 'sent' | 'busy' {
    if (!this.#gate.isIdle()) return 'busy'
    try {
      this.#history.mend()
    } catch {
      return 'busy' // what cannot be mended cannot be written either
    }
    return this.#gate.trySend(mailMessage(reports))
  }

  seen(identities: readonly DeliveryIdentity[]): Promise<readonly DeliveryIdentity[]> {
    return this.#history.seen(identities)
  }

  onChange(listener: () => void): () => void {
    return this.#gate.onChange(listener)
  }
}
