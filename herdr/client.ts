import type { Clock } from '../mailbox/index.ts'
import { type Connection, send } from './connection.ts'
import { HerdrError } from './errors.ts'
import { type Method, type Params, protocolLowest, type Result, results } from './protocol.ts'

/** A plain request waits for the server's own loop, ms. */
const plainMs = 5_000
/** Reading the screen of a full-screen program makes the server scroll it, ms. */
const readMs = 20_000
/** Closing a pane waits for its processes, one after another, ms. */
const closeMs = 10_000

const deadlines: Partial<Record<Method, number>> = { 'pane.read': readMs, 'pane.close': closeMs }

/** An event stream that nothing reads keeps no process alive by itself, and is closed with this. */
export type Unsubscribe = () => void

/** Talks to one herdr server over its socket: each request on a connection of its own. */
export class HerdrClient {
  readonly socketPath: string
  readonly #clock: Clock
  #server: Promise<Result<'ping'>> | undefined
  #count = 0

  constructor(socketPath: string, clock: Clock) {
    this.socketPath = socketPath
    this.#clock = clock
  }

  /**
   * What answers there: asked once, until it is forgotten.
   *
   * @throws HerdrError unsupported_protocol, foreign_server, and those of `request`
   */
  server(): Promise<Result<'ping'>> {
    this.#server ??= this.#ping().catch((error: unknown) => {
      this.#server = undefined
      throw error
    })
    return this.#server
  }

  /** Another server may be there from now on. */
  forgetServer(): void {
    this.#server = undefined
  }

  async #ping(): Promise<Result<'ping'>> {
    const pong = await this.request('ping', {})
    if (pong.protocol >= protocolLowest) return pong
    throw new HerdrError(
      'unsupported_protocol',
      'ping',
      'refused',
      `herdr ${pong.version} at ${this.socketPath} speaks protocol ${pong.protocol}; ${protocolLowest} is the oldest that is understood. Update herdr, then restart its server`,
    )
  }

  /**
   * @throws HerdrError - with the server's code, or one of ours; its `outcome` says whether it may have been done
   */
  request<M extends Method>(
    method: M,
    params: Params[M],
    timeoutMs: number = deadlines[method] ?? plainMs,
  ): Promise<Result<M>> {
    return new Promise((resolve, reject) => {
      const done = () => {
        cancel()
        connection?.close()
      }
      const fail = (error: HerdrError) => {
        done()
        reject(error)
      }
      const cancel = this.#clock.after(timeoutMs, () =>
        fail(
          this.#error('timeout', method, 'unknown', `did not answer within ${timeoutMs / 1_000} s`),
        ),
      )
      let connection: Connection | undefined
      try {
        connection = send(this.socketPath, method, this.#encode(method, params), {
          onLine: (line) => {
            try {
              const result = this.#decode(method, line)
              done()
              resolve(result)
            } catch (error) {
              fail(error as HerdrError)
            }
          },
          onEnd: (error) =>
            fail(error ?? this.#error('no_answer', method, 'unknown', 'closed without an answer')),
        })
      } catch (error) {
        cancel()
        reject(error as HerdrError)
      }
    })
  }

  /**
   * Opens a stream of events of these kinds.
   *
   * @param onEvent told of each event, whatever it says
   * @param onEnd told once, when none come any more
   * @returns once the server has taken it; its end
   * @throws HerdrError - see `request`
   */
  subscribe(
    kinds: readonly string[],
    onEvent: () => void,
    onEnd: (error?: HerdrError) => void,
  ): Promise<Unsubscribe> {
    const method = 'events.subscribe'
    const params = { subscriptions: kinds.map((type) => ({ type })) }
    return new Promise((resolve, reject) => {
      let isTaken = false
      const cancel = this.#clock.after(plainMs, () =>
        over(
          this.#error('timeout', method, 'unknown', `did not answer within ${plainMs / 1_000} s`),
        ),
      )
      let connection: Connection | undefined
      const over = (error?: HerdrError) => {
        cancel()
        connection?.close()
        if (isTaken) onEnd(error)
        else
          reject(error ?? this.#error('no_answer', method, 'refused', 'closed without an answer'))
      }
      try {
        connection = send(this.socketPath, method, this.#encode(method, params), {
          onLine: (line) => {
            try {
              const answer = this.#parse(method, line)
              if (isTaken) return onEvent()
              if (!('result' in answer)) throw this.#unfit(method, line)
              isTaken = true
              cancel()
              connection?.unref()
              resolve(() => connection?.close())
            } catch (error) {
              over(error as HerdrError)
            }
          },
          onEnd: over,
        })
      } catch (error) {
        cancel()
        reject(error as HerdrError)
      }
    })
  }

  #encode(method: string, params: object): string {
    return JSON.stringify({ id: `drover-${++this.#count}`, method, params })
  }

  #decode<M extends Method>(method: M, line: string): Result<M> {
    const answer = this.#parse(method, line)
    const parsed = results[method].safeParse(answer['result'])
    if (!parsed.success) throw this.#unfit(method, line)
    return parsed.data as Result<M>
  }

  /** @throws HerdrError - it is an error, or nothing that herdr says */
  #parse(method: string, line: string): Record<string, unknown> {
    let answer: unknown
    try {
      answer = JSON.parse(line)
    } catch {
      throw this.#foreign(method, line)
    }
    if (typeof answer !== 'object' || answer === null || 'jsonrpc' in answer)
      throw this.#foreign(method, line)
    const { error } = answer as { error?: unknown }
    if (error === undefined) return answer as Record<string, unknown>
    const { code, message } = (error ?? {}) as Record<string, unknown>
    if (typeof code !== 'string') throw this.#foreign(method, line)
    const outcome = ['timeout', 'internal_error'].includes(code) ? 'unknown' : 'refused'
    throw this.#error(code, method, outcome, `said ${code}: ${message}`)
  }

  #foreign(method: string, line: string): HerdrError {
    const said = JSON.stringify(line.slice(0, 80))
    return this.#error('foreign_server', method, 'unknown', `is no herdr: it answered ${said}`)
  }

  #unfit(method: string, line: string): HerdrError {
    const said = JSON.stringify(line.slice(0, 80))
    return this.#error('invalid_response', method, 'unknown', `answered what is no answer: ${said}`)
  }

  #error(code: string, method: string, outcome: 'refused' | 'unknown', what: string): HerdrError {
    return new HerdrError(code, method, outcome, `${this.socketPath} ${what} (${method})`)
  }
}
