import { chmodSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { AgentState } from './fake-agent.ts'
import { lookAtPanes } from './fake-agents.ts'
import { Connection } from './fake-connection.ts'
import { type SeenRequest, serve } from './fake-dispatch.ts'
import { paneVariables } from './fake-environment.ts'
import { Faults } from './fake-faults.ts'
import { newTerminalId } from './fake-ids.ts'
import { paneInfo } from './fake-info.ts'
import { Metadata } from './fake-metadata.ts'
import { adoptPane } from './fake-open.ts'
import { Person } from './fake-person.ts'
import { environmentOf, processRows, signal } from './fake-processes.ts'
import type { PaneInfo, Profile, Setting } from './fake-records.ts'
import { becomeShell } from './fake-shut.ts'
import { Stage } from './fake-stage.ts'
import type { Pane } from './fake-world.ts'

export interface FakeOptions {
  /** The socket is `herdr.sock` in it, for its owner alone. */
  readonly directory: string
  readonly profile?: Profile
  /** What is started in a pane that no command is given for; default `/bin/sh`. */
  readonly shell?: string
  /** The server's own environment; default that of this process. */
  readonly env?: NodeJS.ProcessEnv
  /** Where panes begin that no folder is given for; default that of this process. */
  readonly cwd?: string
  /** As TUIOS: no layouts, no environment in creates, and pong says `server: "tuios"`. */
  readonly withoutLayout?: boolean
  /** Between two looks for events, default 100; agents are looked for every third. */
  readonly tickMs?: number
  /** How many events are kept, default 512. */
  readonly ringMax?: number
  /** How long `agent.start` stays pending at least, ms; default 3000 as in herdr. */
  readonly launchReadyMs?: number
}

/**
 * Stands in for a herdr server: its socket API, with real processes in real ptys, and no screen of its own.
 * `stop` ends everything it started.
 */
export class FakeHerdr {
  readonly socketPath: string
  /** What goes wrong. */
  readonly faults: Faults = new Faults()
  /** What a person at the keyboard does. */
  readonly person: Person
  readonly #stage: Stage
  readonly #requests: SeenRequest[] = []
  readonly #sockets = new Set<Socket>()
  #server: Server | undefined
  #timer: NodeJS.Timeout | undefined

  private constructor(setting: Setting) {
    this.socketPath = setting.socketPath
    this.#stage = new Stage(setting, this.faults)
    this.person = new Person(this.#stage)
  }

  static async start(options: FakeOptions): Promise<FakeHerdr> {
    const herdr = new FakeHerdr(settingOf(options))
    await herdr.#listen()
    herdr.#look()
    return herdr
  }

  /** Everything that was asked, in order. */
  get requests(): readonly SeenRequest[] {
    return this.#requests
  }

  /** How many connections it holds now. */
  get connections(): number {
    return this.#sockets.size
  }

  /**
   * A pane in which a process the server did not start is the shell; alone in a new tab, and in a new workspace
   * unless one is named. Without a process, `bind` names it later.
   */
  adopt(pid?: number, workspaceId?: string): PaneInfo {
    const { world } = this.#stage
    const workspace = workspaceId === undefined ? undefined : world.workspace(workspaceId)
    return paneInfo(world, adoptPane(this.#stage, pid, workspace))
  }

  /** Says which process is the shell of an adopted pane. */
  bind(paneId: string, pid: number): void {
    this.#stage.world.pane(paneId).terminal.bind(pid)
  }

  /** The variables by which a process knows that it is in this pane. */
  environment(pane: string | PaneInfo): Record<string, string> {
    return paneVariables(this.#stage.setting, this.#pane(pane))
  }

  /** Looks at every pane at once: which agents run, what has run out. It does so by itself every third tick. */
  looked(): Promise<void> {
    return this.#stage.run(() => lookAtPanes(this.#stage))
  }

  panes(): readonly PaneInfo[] {
    const { world } = this.#stage
    return world.panes.map((pane) => paneInfo(world, pane))
  }

  /** What a pane shows, as far as it has arrived. */
  screen(pane: string | PaneInfo): string {
    return this.#pane(pane).terminal.screen.read('visible').text
  }

  /**
   * As if it had crashed and been started again: processes die; workspaces, tabs, panes, ids and labels come back
   * as plain shells in new terminals; connections end. A workspace id that was the last and is closed comes again.
   */
  async restart(): Promise<void> {
    const { world, ring } = this.#stage
    await this.#close()
    await this.#stage.run(async () => {
      await Promise.all(world.panes.map(({ terminal }) => terminal.isOurs && terminal.end()))
      ring.forget()
      world.recount()
      for (const workspace of world.workspaces) workspace.metadata = new Metadata()
      for (const pane of world.panes) {
        pane.agent = new AgentState()
        pane.metadata = new Metadata()
        pane.revision = 0
        becomeShell(this.#stage, pane)
      }
    })
    await this.#listen()
  }

  /** Another server takes over: processes and ids stay, terminal ids change, connections and waits break. */
  async handoff(): Promise<void> {
    const { world, ring } = this.#stage
    await this.#close()
    await this.#stage.run(() => {
      ring.forget()
      for (const pane of world.panes) {
        pane.terminal.id = newTerminalId()
        pane.isHandedOver = true
        pane.agent.dropAuthority()
      }
    })
    await this.#listen()
  }

  /** Ends every process it started, also those that left their session, and removes the socket. */
  async stop(): Promise<void> {
    const stage = this.#stage
    stage.isStopping = true
    clearTimeout(this.#timer)
    await this.#close()
    await stage.run(async () => {
      const ours = stage.world.panes.map(({ terminal }) => terminal).filter((each) => each.isOurs)
      for (const pid of this.#strays()) signal(pid, 'SIGKILL')
      await Promise.all(
        ours.map(async (terminal) => {
          for (const pid of terminal.members()) signal(pid, 'SIGKILL')
          await terminal.gone
        }),
      )
    })
  }

  #pane(pane: string | PaneInfo): Pane {
    return this.#stage.world.pane(typeof pane === 'string' ? pane : pane.pane_id)
  }

  /** What runs in the environment of a pane this server filled itself. */
  #strays(): readonly number[] {
    const { adopted } = this.#stage
    return processRows()
      .map(({ pid }) => pid)
      .filter((pid) => {
        if (pid === process.pid) return false
        const variables = environmentOf(pid)
        const paneId = variables.get('HERDR_PANE_ID')
        return (
          variables.get('HERDR_SOCKET_PATH') === this.socketPath &&
          paneId !== undefined &&
          !adopted.has(paneId)
        )
      })
  }

  #look(): void {
    this.#timer = setTimeout(async () => {
      await this.looked()
      if (!this.#stage.isStopping) this.#look()
    }, this.#stage.setting.tickMs * 3)
    this.#timer.unref()
  }

  async #listen(): Promise<void> {
    const server = createServer({ allowHalfOpen: true }, (socket) => {
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
      serve(this.#stage, new Connection(socket), (request) => this.#requests.push(request))
    })
    this.#server = server
    rmSync(this.socketPath, { force: true })
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(this.socketPath, resolve)
    })
    chmodSync(this.socketPath, 0o600)
  }

  async #close(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    if (server === undefined) return
    const closed = new Promise((resolve) => server.close(resolve))
    for (const socket of this.#sockets) socket.destroy()
    await closed
    rmSync(this.socketPath, { force: true })
  }
}

function settingOf(options: FakeOptions): Setting {
  const { directory, profile = '0.8', env = process.env } = options
  return {
    socketPath: join(directory, 'herdr.sock'),
    profile,
    shell: options.shell ?? '/bin/sh',
    env,
    cwd: options.cwd ?? process.cwd(),
    withoutLayout: options.withoutLayout ?? false,
    tickMs: options.tickMs ?? 100,
    ringMax: options.ringMax ?? 512,
    launchReadyMs: options.launchReadyMs ?? 3_000,
    ...(profile === '0.8' ? { cols: 80, rows: 24 } : { cols: 120, rows: 40 }),
  }
}
