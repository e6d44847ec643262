import type { DeliveryIdentity, OwnerHost, ResultReport } from '../../actors/index.ts'
import { History } from '../history.ts'
import type { HostGate } from '../host.ts'
import { resultMessage } from '../messages.ts'

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

  trySend(reports: readonly ResultReport[]): 'sent' | 'busy' {
    return this.#gate.trySend(resultMessage(reports))
  }

  seen(identities: readonly DeliveryIdentity[]): Promise<readonly DeliveryIdentity[]> {
    return this.#history.seen(identities)
  }

  onChange(listener: () => void): () => void {
    return this.#gate.onChange(listener)
  }
}
