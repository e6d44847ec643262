import type { ExtensionAPI } from '@mariozechner/pi-coding-agent'

/** The event by which extensions tell herdr's integration of Pi that a person is waited for. */
const channel = 'herdr:blocked'

/** What is shown as the reason. */
export const ownerLabel = 'waits for its owner'

/**
 * Tells whoever shows this process that it waits for its owner, and hears from other extensions that a person is
 * waited for: a dialog of theirs is on the screen.
 */
export class BlockedSignal {
  readonly #pi: ExtensionAPI
  readonly #own = new WeakSet<object>()
  readonly #end: () => void
  #dialogs = 0
  #isWaiting = false

  /** @param onDialog told when a person is waited for, and when no more */
  constructor(pi: ExtensionAPI, onDialog: (isOpen: boolean) => void) {
    this.#pi = pi
    this.#end = pi.events.on(channel, (data) => {
      if (typeof data !== 'object' || data === null || this.#own.has(data)) return
      const { active } = data as { active?: unknown }
      if (typeof active !== 'boolean') return
      this.#dialogs = Math.max(0, this.#dialogs + (active ? 1 : -1))
      onDialog(this.#dialogs > 0)
    })
  }

  /** @returns whether that is new */
  show(isWaiting: boolean): boolean {
    if (isWaiting === this.#isWaiting) return false
    this.#isWaiting = isWaiting
    const event = { active: isWaiting, label: ownerLabel }
    this.#own.add(event)
    this.#pi.events.emit(channel, event)
    return true
  }

  end(): void {
    this.show(false)
    this.#end()
  }
}
