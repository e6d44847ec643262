import { connect, type Socket } from 'node:net'

/** One answer line; an error has a code. */
export interface Answer {
  readonly id: string
  readonly result?: Readonly<Record<string, unknown>> & { readonly type: string }
  readonly error?: { readonly code: string; readonly message: string }
}

/** A connection on which nothing comes for so long has failed. */
const patienceMs = 20_000

/** Writes bytes on a connection of its own, and gives all that came before the server ended it. */
export function exchange(socketPath: string, bytes: string | Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(socketPath)
    let received = ''
    socket.setEncoding('utf8')
    socket.setTimeout(patienceMs, () => socket.destroy())
    socket.on('data', (text) => {
      received += text
    })
    socket.on('close', () => resolve(received))
    socket.on('error', (cause: NodeJS.ErrnoException) => {
      // the server may close a line it refuses before all of it was written
      if (cause.code !== 'EPIPE' && cause.code !== 'ECONNRESET') reject(cause)
    })
    socket.write(bytes)
  })
}

/** Asks for one thing, once. Undefined when no whole answer came. */
export async function ask(
  socketPath: string,
  method: string,
  params: object = {},
): Promise<Answer | undefined> {
  const line = JSON.stringify({ id: method, method, params })
  const received = await exchange(socketPath, `${line}\n`)
  return received.endsWith('\n') ? (JSON.parse(received) as Answer) : undefined
}

/** A connection that stays: what came on it so far, line by line. */
export class Listener {
  readonly lines: Record<string, unknown>[] = []
  hasEnded = false
  readonly #socket: Socket

  constructor(socketPath: string, method: string, params: object) {
    this.#socket = connect(socketPath)
    let rest = ''
    this.#socket.setEncoding('utf8')
    this.#socket.on('data', (text) => {
      const parts = (rest + text).split('\n')
      rest = parts.pop() ?? ''
      this.lines.push(...parts.map((part) => JSON.parse(part)))
    })
    this.#socket.on('error', () => {})
    this.#socket.on('close', () => {
      this.hasEnded = true
    })
    this.#socket.write(`${JSON.stringify({ id: 'long', method, params })}\n`)
  }

  /** Names of the events that came, in order. */
  get events(): readonly string[] {
    return this.lines.map(({ event }) => event).filter((event) => typeof event === 'string')
  }

  /** What the events that came carry, in order. */
  get data(): readonly Record<string, unknown>[] {
    return this.lines.map(({ data }) => data as Record<string, unknown>).filter(Boolean)
  }

  /** Sends something although it should not. */
  say(text: string): void {
    this.#socket.write(text)
  }

  /** Ends its own side only. */
  halfClose(): void {
    this.#socket.end()
  }

  /** Reads no more until told to. */
  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }

  close(): void {
    this.#socket.destroy()
  }
}
