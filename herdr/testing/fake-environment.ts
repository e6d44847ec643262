import { accessSync, constants } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'
import { Refusal, type Setting } from './fake-records.ts'
import { isDirectory } from './fake-terminal.ts'
import type { Pane } from './fake-world.ts'

export type Variables = Readonly<Record<string, string>>

/** The variables by which a process knows the pane it is in. */
export function paneVariables(setting: Setting, pane: Pane): Record<string, string> {
  return {
    HERDR_ENV: '1',
    HERDR_SOCKET_PATH: setting.socketPath,
    HERDR_WORKSPACE_ID: pane.workspace.id,
    HERDR_TAB_ID: pane.tab.id,
    HERDR_PANE_ID: pane.id,
  }
}

/** All a pane's process gets: the server's own, the terminal's, the caller's, and the pane's above all. */
export function paneEnvironment(
  setting: Setting,
  pane: Pane,
  caller: Variables,
): Record<string, string> {
  const { CODEX_THREAD_ID: _, ...own } = setting.env
  const inherited = Object.entries(own).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  )
  return {
    ...Object.fromEntries(inherited),
    TERM: 'xterm-256color',
    COLORTERM: 'truecolor',
    ...(setting.profile !== '0.8' && { TERM_PROGRAM: 'herdr' }),
    ...caller,
    ...paneVariables(setting, pane),
  }
}

/** @throws Refusal invalid_env - a name or value no process can have; unsupported - where no caller may set any */
export function checkEnvironment(setting: Setting, caller: Variables): void {
  const names = Object.keys(caller)
  if (setting.withoutLayout && names.length > 0)
    throw new Refusal('unsupported', 'env is not supported')
  for (const name of names)
    if (name === '' || /[=\0]/.test(name) || caller[name]?.includes('\0'))
      throw new Refusal('invalid_env', `invalid environment variable: ${JSON.stringify(name)}`)
}

/**
 * Where the program is, by the PATH its pane will have.
 *
 * @throws Refusal layout_apply_failed - nowhere; the message has every place that was looked at
 */
export function findProgram(name: string, path: string, cwd: string): string {
  const tried = name.includes('/')
    ? [resolve(cwd, name)]
    : path
        .split(delimiter)
        .filter((folder) => folder !== '')
        .map((folder) => join(folder, name))
  const found = tried.find(isProgram)
  if (found === undefined)
    throw new Refusal('layout_apply_failed', `${name} not found; tried ${tried.join(', ')}`)
  return found
}

function isProgram(path: string): boolean {
  if (isDirectory(path)) return false
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
