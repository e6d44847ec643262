import type { ExtensionAPI } from '@mariozechner/pi-coding-agent'
import type { Clock } from '../../mailbox/index.ts'
import { serveCommand } from '../launch.ts'

/** Longer than any assignment; the longest a timer can wait, ms. */
const forEverMs = 2 ** 31 - 1

/**
 * The command an agent's process is started with: it returns, and with it the process ends, when the assignment is
 * over. It is always there: a command nobody knows would go to the model as a prompt.
 */
export function registerServeCommand(
  pi: ExtensionAPI,
  clock: Clock,
  serving: () => Promise<void> | undefined,
): void {
  pi.registerCommand(serveCommand, {
    description: 'Used by Drover to run an agent; does nothing in a session of your own',
    async handler() {
      const left = serving()
      if (left === undefined)
        throw new Error(
          `/${serveCommand} runs agents that Drover started; this session is not one of them.`,
        )
      const letGo = clock.after(forEverMs, () => {}) // nothing else keeps a process without a terminal alive
      try {
        await left
      } finally {
        letGo()
      }
    },
  })
}
