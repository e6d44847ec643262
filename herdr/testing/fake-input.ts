import { keyBytes } from './fake-keys.ts'
import type { Stage } from './fake-stage.ts'
import type { Pane } from './fake-world.ts'

/** Types text and presses keys; every key is checked before anything is written. */
export function sendInput(stage: Stage, pane: Pane, text: string, keys: readonly string[]): void {
  const { screen } = pane.terminal
  const pressed = keyBytes(keys, screen.wantsApplicationArrows)
  if (text !== '') sendRaw(stage, pane, screen.wantsMarkedPaste ? pasted(text) : text)
  for (const key of pressed) sendRaw(stage, pane, key)
}

/** Bytes as they are; where text is always a paste, without what controls a terminal. */
export function sendText(stage: Stage, pane: Pane, text: string): void {
  if (!stage.setting.withoutLayout) sendRaw(stage, pane, text)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed
  else sendInput(stage, pane, text.replace(/[\x00-\x08\x0b-\x1f\x7f]/g, ''), [])
}

export function sendRaw({ faults }: Stage, { terminal }: Pane, text: string): void {
  if (performance.now() - terminal.startedAt < faults.swallowInputMs) return
  terminal.write(Buffer.from(text).subarray(0, faults.inputBytesMax).toString())
}

const pasted = (text: string): string => `\x1b[200~${text}\x1b[201~`
