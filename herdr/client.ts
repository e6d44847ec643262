import type { z } from 'zod'
import type { Clock } from '../mailbox/index.ts'
import { fit, foreign, isObject, misfit, parseLine, readAnswer, refusalIn } from './answer.ts'
import { Connection } from './connection.ts'
import { HerdrError } from './errors.ts'
import type { Method, Params, Result, Subscription } from './protocol.ts'
import { protocolMin } from './protocol.ts'
import type { HerdrEvent, Pong } from './records.ts'
import { event, results, subscribed } from './schemas.ts'
import { verifySocket } from './socket.ts'

/** How long a server may take, ms. */
const answerMs = 5_000
/** A read of an idle full-screen program makes it scroll first. */
const readMs = 20_000

/** Errors after which another server may answer at the same socket. */
const endings = new Set(['not_running', 'no_answer', 'foreign_server'])

interface Ask<T> {
  readonly method: string
  readonly params: object
  readonly schema: z.ZodType<T>
  readonly timeoutMs: number
}

/**
 * Talks to one herdr, one request per connection.
 *
 * Unknown: a request that rejects with `outcome: 'unknown'` may have been carried out; with `refused` it was not.
 * Ordered: not at all between two requests under way; await the first where it matters.
 * Costs: up to about 100 ms each, and one ping before the first and whenever the server has gone away.
 */
export class HerdrClient {
  readonly socketPath: string
  readonly #clock: Clock
  #server: Promise<Pong> | undefined

  constructor(socketPath: string, clock: Clock) {
    this.socketPath = socketPath
    this.#clock = clock
  }

  /**
   * Asks for one thing. Nothing is sent before `server()` has shown a herdr we can use.
   *
   * @throws HerdrError any code of ours or the server's
   */
  async request<M extends Method>(
    method: M,
    params: Params<M>,
    timeoutMs: number = method === 'pane.read' ? readMs : answerMs,
  ): Promise<Result<M>> {
    await this.#greet(method)
    const schema = results[method] as z.ZodType<Result<M>>
    return this.#ask({ method, params, schema, timeoutMs })
  }

  /**
   * Who answers here: asked once, and again after it has gone away.
   *
   * @throws HerdrError `foreign_server`, `unsupported_protocol`, or why it cannot be asked
   */
  server(): Promise<Pong> {
    if (this.#server !== undefined) return this.#server
    const asked = this.#ping()
    this.#server = asked
    asked.catch(() => {
      if (this.#server === asked) this.#server = undefined
    })
    return asked
  }

  /**
   * Opens a stream of events, and resolves once the server has agreed; events can come just before that.
   * The stream alone keeps no process alive. `onEnd` is called once, unless the stream is closed first.
   *
   * @returns closes the stream; nothing is called any more
   * @throws HerdrError as a request does
   */
  async subscribe(
    subscriptions: readonly Subscription[],
    onEvent: (event: HerdrEvent) => void,
    onEnd: (error: HerdrError) => void,
  ): Promise<() => void> {
    const method = 'events.subscribe'
    await this.#greet(method)
    const origin = { method, socketPath: this.socketPath }
    return new Promise((resolve, reject) => {
      let isOpen = false
      const exchange = {
        ...origin,
        params: { subscriptions },
        timeoutMs: answerMs,
        onLine: (line: Uint8Array) => {
          if (isOpen) return deliver(line, origin, onEvent)
          readAnswer(line, subscribed, origin)
          isOpen = true
          connection.unref()
          resolve(() => connection.close())
        },
        onEnd: (error: HerdrError) => {
          this.#noteEnd(error)
          if (isOpen) onEnd(error)
          else reject(error)
        },
      }
      const connection = new Connection(exchange, this.#clock)
    })
  }

  /** An error while greeting is one of the method, which was never sent. */
  async #greet(method: string): Promise<void> {
    if (method === 'ping') return
    try {
      await this.server()
    } catch (error) {
      if (!(error instanceof HerdrError)) throw error
      const { code, message } = error
      throw new HerdrError({ code, message, method, outcome: 'refused', cause: error })
    }
  }

  async #ping(): Promise<Pong> {
    const origin = { method: 'ping', socketPath: this.socketPath }
    const ask = { method: 'ping', params: {}, schema: results.ping, timeoutMs: answerMs }
    const pong = await this.#ask(ask).catch((error: unknown) => {
      const isOdd = error instanceof HerdrError && error.code === 'invalid_response'
      throw isOdd ? foreign(origin, true) : error
    })
    if (pong.protocol >= protocolMin) return pong
    throw new HerdrError({
      ...origin,
      code: 'unsupported_protocol',
      outcome: 'refused',
      message: `Herdr ${pong.version} at ${this.socketPath} speaks protocol ${pong.protocol}; ${protocolMin} is the least that works. Update herdr and restart it.`,
    })
  }

  async #ask<T>({ method, params, schema, timeoutMs }: Ask<T>): Promise<T> {
    const origin = { method, socketPath: this.socketPath }
    if (method === 'ping') verifySocket(this.socketPath, method)
    return new Promise<T>((resolve, reject) => {
      const exchange = {
        ...origin,
        params,
        timeoutMs,
        onLine: (line: Uint8Array) => {
          const result = readAnswer(line, schema, origin)
          connection.close()
          resolve(result)
        },
        onEnd: (error: HerdrError) => {
          this.#noteEnd(error)
          reject(error)
        },
      }
      const connection = new Connection(exchange, this.#clock)
    })
  }

  #noteEnd({ code }: HerdrError): void {
    if (endings.has(code)) this.#server = undefined
  }
}

/** One line of a stream. What is not understood is left alone; what cannot be one, or says no, ends it. */
function deliver(
  line: Uint8Array,
  origin: { readonly method: string; readonly socketPath: string },
  onEvent: (event: HerdrEvent) => void,
): void {
  const message = parseLine(line)
  if (!isObject(message)) throw misfit(origin, 'is not a JSON object')
  const refusal = refusalIn(message, origin)
  if (refusal !== undefined) throw refusal
  const fits = fit(event, message)
  if ('value' in fits) onEvent(fits.value)
}
