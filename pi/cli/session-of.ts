import { readlinkSync } from 'node:fs'
import type { ProcessIdentity } from '../../mailbox/index.ts'
import { findSession } from '../saved-sessions.ts'
import type { CliWorld } from './compose.ts'

/** How a session is opened again: by its file where that can be found, else by its id. */
export function openCommand({ agentDirectory }: CliWorld, session: string): string {
  const found = findSession(agentDirectory, process.cwd(), session)
  return `pi --session ${quotedForShell('file' in found ? found.file : session)}`
}

/** As a shell reads one word. */
export function quotedForShell(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}

/** A process as a person finds it: its number, its terminal, what it runs. */
export function processWords({ processes }: CliWorld, process: ProcessIdentity): string {
  const terminal = terminalOf(process.pid)
  const command = processes.command(process)
  return [
    `process ${process.pid}`,
    ...(terminal === undefined ? [] : [`on ${terminal}`]),
    ...(command === undefined ? [] : [`(${command})`]),
  ].join(' ')
}

/** The terminal it reads from; undefined where it has none or that cannot be told. */
function terminalOf(pid: number): string | undefined {
  try {
    const target = readlinkSync(`/proc/${pid}/fd/0`)
    return /^\/dev\/(pts\/|tty)/.test(target) ? target : undefined
  } catch {
    return undefined
  }
}
