import { lstatSync, realpathSync, statSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { dirname } from 'node:path'
import { StringDecoder } from 'node:string_decoder'
import { HerdrError } from './errors.ts'

/** Longest request the server reads, bytes. */
const requestBytesMax = 1_048_576
/** Longest answer line that is read, bytes: an inventory of thousands of panes is far below. */
const lineBytesMax = 16_777_216

export interface Connection {
  /** Ends it; nothing is told after that. */
  close(): void
  /** Keeps no process alive by itself from now on. */
  unref(): void
}

export interface Line {
  readonly onLine: (line: string) => void
  /** Told once, when no line comes any more. `error` where it was not simply closed. */
  readonly onEnd: (error?: HerdrError) => void
}

/**
 * One request on its own connection; what comes back is a line, or many. Nothing more is ever sent on it, and it is not
 * half-closed: to the server either means that we have left.
 *
 */
export function send(
  socketPath: string,
  method: string,
  request: string,
  { onLine, onEnd }: Line,
): Connection {
  if (Buffer.byteLength(request) >= requestBytesMax)
    throw new HerdrError(
      'request_too_long',
      method,
      'refused',
      `the request ${method} is longer than the ${requestBytesMax} bytes that herdr reads`,
    )
  checkOwner(socketPath, method)
  let isOver = false
  let wasSent = false
  const socket: Socket = connect(socketPath)
  const over = (error?: HerdrError) => {
    if (isOver) return
    isOver = true
    socket.destroy()
    onEnd(error)
  }
  // In the same tick: what is not there at the server's first look waits for the next one.
  socket.write(`${request}\n`)
  socket.once('connect', () => {
    wasSent = true
  })
  socket.on('error', (error: NodeJS.ErrnoException) =>
    over(connectionError(socketPath, method, error, wasSent)),
  )
  socket.once('close', () => over())
  const decoder = new StringDecoder('utf8')
  let rest = ''
  socket.on('data', (bytes) => {
    const lines = (rest + decoder.write(bytes as Buffer)).split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > lineBytesMax)
      return over(
        new HerdrError(
          'invalid_response',
          method,
          'unknown',
          `${socketPath} answered ${method} with a line of over ${lineBytesMax} bytes`,
        ),
      )
    for (const line of lines) if (!isOver) onLine(line)
  })
  return {
    close: () => {
      isOver = true
      socket.destroy()
    },
    unref: () => socket.unref(),
  }
}

/** A socket of somebody else could tell us anything. */
function checkOwner(socketPath: string, method: string): void {
  const ours = process.getuid?.()
  if (ours === undefined) return
  const fail = (code: string, message: string, cause?: unknown) =>
    new HerdrError(code, method, 'refused', message, cause)
  let owner: number
  try {
    const path = realpathSync(socketPath)
    if (!lstatSync(path).isSocket()) throw fail('not_running', `${socketPath} is no socket`)
    owner = lstatSync(path).uid
    const above = statSync(dirname(path))
    const isOpen = (above.mode & 0o002) !== 0 && (above.mode & 0o1000) === 0
    if (isOpen) throw fail('not_permitted', `anybody could replace the socket ${socketPath}`)
  } catch (error) {
    if (error instanceof HerdrError) throw error
    throw connectionError(socketPath, method, error as NodeJS.ErrnoException, false)
  }
  if (owner !== ours && owner !== 0)
    throw fail('not_permitted', `the socket ${socketPath} belongs to another user`)
}

function connectionError(
  socketPath: string,
  method: string,
  error: NodeJS.ErrnoException,
  wasSent: boolean,
): HerdrError {
  const outcome = wasSent ? 'unknown' : 'refused'
  switch (error.code) {
    case 'ENOENT':
    case 'ENOTDIR':
    case 'ECONNREFUSED':
      return new HerdrError(
        'not_running',
        method,
        'refused',
        `no herdr answers at ${socketPath} (${error.code})`,
        error,
      )
    case 'EACCES':
    case 'EPERM':
      return new HerdrError(
        'not_permitted',
        method,
        'refused',
        `the socket ${socketPath} may not be used (${error.code})`,
        error,
      )
    default:
      return new HerdrError(
        'no_answer',
        method,
        outcome,
        `herdr at ${socketPath} broke off ${method} (${error.message})`,
        error,
      )
  }
}
