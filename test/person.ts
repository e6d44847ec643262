import assert from 'node:assert/strict'
import type { PiEvent, PiProcess } from '../demo/pi-process.ts'

/** Somebody who answers the dialogs of a Pi in RPC mode, one after another. */
export class Person {
  readonly #lead: PiProcess
  #answered = 0

  constructor(lead: PiProcess) {
    this.#lead = lead
  }

  get #dialogs(): readonly PiEvent[] {
    return this.#lead.events.filter(
      (event) =>
        event.type === 'extension_ui_request' &&
        ['select', 'confirm', 'input'].includes(String(event['method'])),
    )
  }

  types(command: string): void {
    this.#lead.prompt(command)
  }

  /** The dialog that waits for an answer. */
  asked(): Promise<PiEvent> {
    return this.#lead.until(() => this.#dialogs[this.#answered])
  }

  async chooses(part: string): Promise<PiEvent> {
    const dialog = await this.asked()
    const options = dialog['options'] as string[]
    const value = options.find((option) => option.includes(part))
    assert.ok(value !== undefined, `${part} is not in ${dialog['title']}: ${options.join(' | ')}`)
    return this.#answer(dialog, { value })
  }

  async says(value: string): Promise<PiEvent> {
    return this.#answer(await this.asked(), { value })
  }

  async confirms(confirmed: boolean): Promise<PiEvent> {
    return this.#answer(await this.asked(), { confirmed })
  }

  async leaves(times: number = 1): Promise<void> {
    for (let left = times; left > 0; left--) this.#answer(await this.asked(), { cancelled: true })
  }

  /** Does not answer: another dialog has taken its place. */
  async ignores(): Promise<void> {
    await this.asked()
    this.#answered++
  }

  #answer(dialog: PiEvent, answer: Record<string, unknown>): PiEvent {
    this.#answered++
    this.#lead.send({ type: 'extension_ui_response', id: dialog['id'], ...answer })
    return dialog
  }
}
