#!/usr/bin/env node
import { MailboxError } from '../mailbox/index.ts'
import { close } from './cli/close.ts'
import { openCliWorld } from './cli/compose.ts'
import { diagnose } from './cli/doctor/index.ts'
import { list } from './cli/ls.ts'
import { show } from './cli/show.ts'
import { tail } from './cli/tail.ts'
import { Terminal } from './cli/terminal.ts'
import { exit, type Invocation, parseInvocation, usage } from './cli/usage.ts'
import { build } from './launch.ts'
import { shownText } from './shown.ts'

// Whoever reads may stop reading: `drover ls | head`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  process.exit(error.code === 'EPIPE' ? exit.done : exit.failed)
})

process.exitCode = await main(new Terminal(), parseInvocation(process.argv.slice(2)))

async function main(terminal: Terminal, invocation: Invocation): Promise<number> {
  switch (invocation.kind) {
    case 'version':
      terminal.line(build)
      return exit.done
    case 'help':
      terminal.line(usage)
      return exit.done
    case 'wrong':
      terminal.note(`${shownText(invocation.why)}\n\n${usage}`)
      return exit.wrongUsage
    case 'command':
      try {
        return await run(terminal, invocation)
      } catch (error) {
        if (!(error instanceof MailboxError)) throw error
        terminal.note(shownText(error.message))
        return exit.couldNotLook
      }
  }
}

async function run(
  terminal: Terminal,
  { command, agent, json, yes, lines }: Extract<Invocation, { kind: 'command' }>,
): Promise<number> {
  if (command === 'doctor') return diagnose(terminal, json)
  const world = openCliWorld()
  switch (command) {
    case 'ls':
      return list(world, terminal, json)
    case 'show':
      return show(world, terminal, agent, json)
    case 'tail':
      return tail(world, terminal, agent, { json, lines })
    case 'close':
      return close(world, terminal, agent, { json, yes })
  }
}
