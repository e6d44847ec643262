import type { Socket } from 'node:net'
import type { Fault } from './fake-faults.ts'

const lineBytesMax = 1024 * 1024
const lineWithinMs = 5_000
const writeWithinMs = 5_000

/**
 * One connection: one line comes, one or more go, and it ends. Whatever the client does after its line,
 * also ending its side, means that it has left.
 */
export class Connection {
  readonly #socket: Socket
  readonly #left = new AbortController()

  constructor(socket: Socket) {
    this.#socket = socket
    socket.on('error', () => socket.destroy())
    socket.on('close', () => this.#left.abort())
  }

  get signal(): AbortSignal {
    return this.#left.signal
  }

  /** The first line; undefined when there is none in time, or it is too long. */
  line(): Promise<string | undefined> {
    return new Promise((resolve) => {
      let bytes = Buffer.alloc(0)
      const done = (line: string | undefined) => {
        clearTimeout(timer)
        this.#socket.off('data', onData).off('end', onEnd).off('close', onEnd)
        this.#watchClient()
        if (line === undefined) this.close()
        resolve(line)
      }
      const onEnd = () => done(undefined)
      const onData = (more: Buffer) => {
        bytes = Buffer.concat([bytes, more])
        const at = bytes.indexOf(0x0a)
        if (at > lineBytesMax || (at < 0 && bytes.length > lineBytesMax)) return done(undefined)
        if (at >= 0) {
          if (at + 1 < bytes.length) queueMicrotask(() => this.#left.abort())
          done(bytes.subarray(0, at).toString('utf8'))
        }
      }
      const timer = setTimeout(() => done(undefined), lineWithinMs)
      this.#socket.on('data', onData).on('end', onEnd).on('close', onEnd)
    })
  }

  /** Sends one line as a fault has it; a reader that takes none of it for too long is cut off. */
  async send(line: object, fault: Fault | undefined): Promise<void> {
    const bytes = Buffer.from(`${JSON.stringify(line)}\n`)
    if (fault?.kind === 'split') return this.#writeInPieces(bytes, fault.bytes ?? 7)
    if (fault?.kind === 'cut') await this.#write(bytes.subarray(0, bytes.length >> 1))
    if (fault?.kind === 'cut' || fault?.kind === 'dropAfter') return this.end()
    await this.#write(bytes)
  }

  /** Sends the last line, and ends. */
  async answer(line: object, fault: Fault | undefined): Promise<void> {
    await this.send(line, fault)
    this.end()
  }

  /** For a request that is never answered. */
  closeOnceLeft(): void {
    this.signal.addEventListener('abort', () => this.close())
  }

  /** Ends after what was written. */
  end(): void {
    this.#socket.end(() => this.#socket.destroy())
  }

  /** Ends at once. */
  close(): void {
    this.#socket.destroy()
  }

  #watchClient(): void {
    const left = () => this.#left.abort()
    this.#socket.on('data', left).on('end', left)
  }

  async #writeInPieces(bytes: Buffer, size: number): Promise<void> {
    for (let at = 0; at < bytes.length; at += size) {
      await this.#write(bytes.subarray(at, at + size))
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  #write(bytes: Buffer): Promise<void> {
    return new Promise((resolve) => {
      if (this.#socket.destroyed) return resolve()
      const done = () => {
        clearTimeout(timer)
        this.#socket.off('close', done)
        resolve()
      }
      const timer = setTimeout(() => this.close(), writeWithinMs)
      this.#socket.once('close', done)
      this.#socket.write(bytes, done)
    })
  }
}
