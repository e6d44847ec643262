import { lstatSync, mkdirSync, realpathSync } from 'node:fs'
import { dirname } from 'node:path'
import { MailboxError, mailboxError } from './errors.ts'

/**
 * The real path of the agent directory, made if it is not there, once all that leads to it can be trusted: owned
 * by us or root, and not writable by others unless sticky. Whoever can move a directory above can replace it all.
 *
 * @throws MailboxError DROVER_MAILBOX_UNSAFE - names the directory and what is wrong with it; remedy `report`
 */
export function trustedAgentDirectory(agentDirectory: string): string {
  const real = makeDirectory(agentDirectory)
  for (let path = real; ; path = dirname(path)) {
    const { uid, mode } = lstatSync(path)
    if (uid !== process.getuid?.() && uid !== 0)
      refuse(path, 'belongs to another user', 'Choose another PI_CODING_AGENT_DIR.')
    if ((mode & 0o002) !== 0 && (mode & 0o1000) === 0)
      refuse(path, 'can be written by everyone', `Run: chmod o-w ${path}`)
    if (path === dirname(path)) break
  }
  return real
}

function makeDirectory(path: string): string {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 })
    return realpathSync(path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // A file or a link that leads nowhere has its name, or that of a directory above.
    if (code === 'EEXIST' || code === 'ENOTDIR' || code === 'ENOENT' || code === 'ELOOP')
      refuse(path, `cannot be made: ${code}`, 'Move away what is in its place.')
    throw mailboxError(error, 'make directory', path)
  }
}

function refuse(path: string, what: string, remedy: string): never {
  throw new MailboxError('DROVER_MAILBOX_UNSAFE', 'report', `${path} ${what}. ${remedy}`)
}
