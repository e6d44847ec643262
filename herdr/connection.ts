import { connect, type Socket } from 'node:net'
import type { Clock } from '../mailbox/index.ts'
import { misfit, type Origin } from './answer.ts'
import { HerdrError } from './errors.ts'
import { Lines } from './lines.ts'
import { requestBytesMax } from './protocol.ts'
import { addressOf, connectError } from './socket.ts'

/** One request on its own connection. A herdr reads one line and takes any more, even an end, for a hang-up. */
export interface Exchange extends Origin {
  readonly params: object
  /** How long the first line may take, ms. */
  readonly timeoutMs: number
  /** One line that came. Throwing ends the connection with what is thrown. */
  readonly onLine: (line: Uint8Array) => void
  /** Called once, unless it was closed before. Says nothing of what came before. */
  readonly onEnd: (error: HerdrError) => void
}

export class Connection {
  readonly #exchange: Exchange
  readonly #lines = new Lines()
  readonly #socket: Socket
  readonly #cancelDeadline: () => void
  #isConnected = false
  #isAnswered = false
  #isClosed = false
  #failure: unknown

  /** @throws HerdrError `request_too_long` */
  constructor(exchange: Exchange, clock: Clock) {
    this.#exchange = exchange
    const request = encode(exchange)
    this.#socket = connect({ path: addressOf(exchange.socketPath) })
    this.#socket.write(request) // in the same tick: a herdr that finds no line at once sleeps first
    this.#socket.on('connect', () => {
      this.#isConnected = true
    })
    this.#socket.on('data', (chunk) => this.#take(chunk))
    this.#socket.on('error', (error) => {
      this.#failure = error
    })
    this.#socket.on('close', () => this.#end(this.#broken()))
    this.#cancelDeadline = clock.after(exchange.timeoutMs, () => this.#end(this.#late()))
  }

  /** From now on it keeps no process alive. */
  unref(): void {
    this.#socket.unref()
  }

  /** Hangs up; nothing is called any more. */
  close(): void {
    this.#isClosed = true
    this.#cancelDeadline()
    this.#socket.destroy()
  }

  #take(chunk: Uint8Array): void {
    try {
      for (const line of this.#lines.push(chunk)) {
        if (this.#isClosed) return
        this.#isAnswered = true
        this.#cancelDeadline()
        this.#exchange.onLine(line)
      }
      if (this.#lines.isTooLong) throw misfit(this.#exchange, 'is too long')
    } catch (error) {
      if (!(error instanceof HerdrError)) throw error
      this.#end(error)
    }
  }

  #end(error: HerdrError): void {
    if (this.#isClosed) return
    this.close()
    this.#exchange.onEnd(error)
  }

  #broken(): HerdrError {
    const { method, socketPath } = this.#exchange
    if (!this.#isConnected) return connectError(socketPath, method, this.#failure)
    const what = this.#isAnswered
      ? 'ended'
      : this.#lines.rest > 0
        ? 'ended in the middle of its answer'
        : 'ended without an answer'
    return new HerdrError({
      code: 'no_answer',
      method,
      outcome: 'unknown',
      message: `The connection for ${method} to herdr at ${socketPath} ${what}. Herdr may have stopped: look whether it runs.`,
      cause: this.#failure,
    })
  }

  #late(): HerdrError {
    const { method, socketPath, timeoutMs } = this.#exchange
    return new HerdrError({
      code: 'timeout',
      method,
      outcome: this.#isConnected ? 'unknown' : 'refused',
      message: `Herdr at ${socketPath} did not answer ${method} within ${timeoutMs} ms. It may be busy, or hang: look at it.`,
    })
  }
}

function encode({ method, params, socketPath }: Exchange): Buffer {
  const line = Buffer.from(`${JSON.stringify({ id: 'drover', method, params })}\n`)
  if (line.length <= requestBytesMax) return line
  throw new HerdrError({
    code: 'request_too_long',
    method,
    outcome: 'refused',
    message: `${method} for herdr at ${socketPath} takes ${line.length} bytes; a request may have ${requestBytesMax}. Shorten it.`,
  })
}
