import { lstatSync, realpathSync } from 'node:fs'
import { HerdrError } from './errors.ts'

const isWindows = process.platform === 'win32'

/** Longest path of a socket, in bytes. A longer one would be cut, and might lead elsewhere. */
const pathBytesMax = process.platform === 'darwin' ? 103 : 107

/** What to connect to: on Windows a pipe is named for the path. */
export const addressOf = (socketPath: string): string =>
  isWindows ? `\\\\.\\pipe\\${socketPath}` : socketPath

/**
 * Refuses a socket that another user could have put there: whoever listens to it gets to say what runs.
 *
 * @throws HerdrError `not_running`, `not_permitted`
 */
export function verifySocket(
  socketPath: string,
  method: string,
  uid: number | undefined = process.getuid?.(),
): void {
  if (isWindows) return
  if (Buffer.byteLength(socketPath) > pathBytesMax)
    throw unreachable(socketPath, method, `the path is over ${pathBytesMax} bytes`)
  let owner: number
  try {
    owner = lstatSync(realpathSync(socketPath)).uid
  } catch (error) {
    throw connectError(socketPath, method, error)
  }
  if (uid !== undefined && owner !== uid && owner !== 0)
    throw forbidden(socketPath, method, `it belongs to user ${owner}`)
}

/** Why no connection came about. Nothing was sent. */
export function connectError(socketPath: string, method: string, error: unknown): HerdrError {
  const code = (error as NodeJS.ErrnoException | undefined)?.code
  return code === 'EACCES' || code === 'EPERM'
    ? forbidden(socketPath, method, code, error)
    : unreachable(socketPath, method, code ?? String(error), error)
}

function forbidden(socketPath: string, method: string, why: string, cause?: unknown): HerdrError {
  return new HerdrError({
    code: 'not_permitted',
    method,
    outcome: 'refused',
    message: `The socket ${socketPath} is not ours to use for ${method}: ${why}. Check HERDR_SOCKET_PATH and the owner of the socket.`,
    cause,
  })
}

function unreachable(socketPath: string, method: string, why: string, cause?: unknown): HerdrError {
  return new HerdrError({
    code: 'not_running',
    method,
    outcome: 'refused',
    message: `No herdr can be reached at ${socketPath} for ${method}: ${why}. Start herdr, or check HERDR_SOCKET_PATH.`,
    cause,
  })
}
