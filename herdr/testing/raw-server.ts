import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'

export interface Asked {
  readonly id: string
  readonly method: string
  readonly params: Readonly<Record<string, unknown>>
}

/** What a server does with one request line. */
export type Conduct = (socket: Socket, asked: Asked) => void

/** Writes one object as a line. */
export const say = (socket: Socket, message: object): void => {
  socket.write(`${JSON.stringify(message)}\n`)
}

/** Answers with a result, and hangs up, as a herdr does. */
export const answers =
  (result: object): Conduct =>
  (socket, { id }) => {
    say(socket, { id, result })
    socket.end()
  }

/** Sends these bytes, and hangs up. */
export const sends =
  (bytes: string | Uint8Array): Conduct =>
  (socket) => {
    socket.end(bytes)
  }

export const pong = {
  type: 'pong',
  version: '0.9.2',
  protocol: 22,
  capabilities: null,
} as const

/** A socket with nothing behind it but what a test says, method by method; a ping is answered unless it says so. */
export class RawServer {
  readonly socketPath: string
  readonly asked: Asked[] = []
  /** Bytes that came after a request line, and clients' ends before the server's own. */
  readonly breaches: string[] = []
  readonly conduct: Record<string, Conduct>
  readonly #sockets = new Set<Socket>()
  readonly #streams = new Set<Socket>()
  #server: Server | undefined

  private constructor(socketPath: string, conduct: Record<string, Conduct>) {
    this.socketPath = socketPath
    this.conduct = { ping: answers(pong), ...conduct }
  }

  static async open(t: TestContext, conduct: Record<string, Conduct> = {}): Promise<RawServer> {
    const directory = mkdtempSync(join(tmpdir(), 'herdr-raw-'))
    const server = new RawServer(join(directory, 'herdr.sock'), conduct)
    t.after(async () => {
      await server.stop()
      rmSync(directory, { recursive: true, force: true })
    })
    await server.listen()
    return server
  }

  async listen(): Promise<void> {
    const server = createServer({ allowHalfOpen: true }, (socket) => this.#serve(socket))
    this.#server = server
    await new Promise<void>((resolve) => server.listen(this.socketPath, resolve))
  }

  /** Hangs up on everybody; the socket is gone. */
  async stop(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    for (const socket of this.#sockets) socket.destroy()
    if (server !== undefined) await new Promise((resolve) => server.close(resolve))
  }

  get methods(): readonly string[] {
    return this.asked.map(({ method }) => method)
  }

  count(method: string): number {
    return this.methods.filter((each) => each === method).length
  }

  /** Open streams of events. */
  get streams(): readonly Socket[] {
    return [...this.#streams]
  }

  /** Connections that are still open. */
  get connections(): number {
    return this.#sockets.size
  }

  /** To be used as the conduct for a subscription: agrees, and keeps the stream. */
  readonly subscribes: Conduct = (socket, { id }) => {
    this.#streams.add(socket)
    say(socket, { id, result: { type: 'subscription_started' } })
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => {
      this.#sockets.delete(socket)
      this.#streams.delete(socket)
    })
    let text = ''
    let isAsked = false
    socket.on('end', () => {
      if (!socket.writableEnded) this.breaches.push('end')
      socket.end()
    })
    socket.on('data', (chunk) => {
      if (isAsked) this.breaches.push(`${chunk}`)
      text += chunk
      if (isAsked || !text.includes('\n')) return
      isAsked = true
      const asked = JSON.parse(text) as Asked
      this.asked.push(asked)
      this.conduct[asked.method]?.(socket, asked)
    })
  }
}
