import type { Ids, Processes, ProcessIdentity, ProcessPresence } from '../../mailbox/index.ts'
import { Crashed, MemoryFs } from '../../mailbox/testing/index.ts'
import { type ClockFace, VirtualClock } from './clock.ts'
import { sequentialIds } from './ids.ts'

export interface SpawnOptions {
  readonly parent?: VirtualProcess
  readonly env?: Readonly<Record<string, string>>
  readonly ignoresTerm?: boolean
  /** What it runs; cannot be told if left out. */
  readonly command?: string
  /** A pid that had another process before. */
  readonly pid?: number
  /** Another PID namespace, such as a container's: what lives in one proves nothing to the other. */
  readonly namespace?: string
}

/** A signal that reached a process: always one whose identity had been verified. */
export interface SentSignal {
  readonly signal: 'SIGTERM' | 'SIGKILL'
  readonly target: VirtualProcess
  readonly by: VirtualProcess
}

/** Processes of a boot have the pids above it. */
const firstPid = 100

/** One computer: a disk, a clock, and a table of processes that can die at any moment. */
export class Machine {
  readonly clock: VirtualClock = new VirtualClock()
  readonly ids: Ids
  readonly signals: SentSignal[] = []
  readonly host: string = 'machine'
  readonly namespace: string = 'pid:[1]'
  #disk: MemoryFs
  #boot: number
  #ticks = 0
  #lastPid = firstPid
  readonly #living = new Map<number, VirtualProcess>()
  readonly #endListeners = new Set<(process: VirtualProcess) => void>()

  /** @param boot how often it was started; another boot knows no process of the one before, nor its ids */
  constructor(disk: MemoryFs = new MemoryFs(), boot = 1) {
    this.#disk = disk
    this.#boot = boot
    this.ids = sequentialIds(boot * 100_000)
  }

  /** The disk as nobody's process sees it: it never crashes. */
  get disk(): MemoryFs {
    return this.#disk
  }

  get boot(): string {
    return `boot-${this.#boot}`
  }

  get living(): readonly VirtualProcess[] {
    return [...this.#living.values()].filter((process) => process.isAlive)
  }

  spawn(options: SpawnOptions = {}): VirtualProcess {
    const pid = options.pid ?? ++this.#lastPid
    const started = String(++this.#ticks)
    const { host, boot } = this
    const namespace = options.namespace ?? this.namespace
    const process = new VirtualProcess(this, { host, boot, namespace, pid, started }, options)
    this.#living.set(pid, process)
    return process
  }

  /** Calls back when some process ends. */
  onEnd(listener: (process: VirtualProcess) => void): () => void {
    this.#endListeners.add(listener)
    return () => this.#endListeners.delete(listener)
  }

  /**
   * All processes end, and the machine comes up with this disk: what survived the power cut, or all of it. Pids and
   * start times begin anew, as they do.
   */
  reboot(disk: MemoryFs = this.#disk): void {
    for (const process of [...this.#living.values()]) process.end()
    this.#disk = disk
    this.#boot++
    this.#ticks = 0
    this.#lastPid = firstPid
  }

  process(pid: number): VirtualProcess | undefined {
    const found = this.#living.get(pid)
    return found?.isAlive ? found : undefined
  }

  /** What this machine's kernel proves about a process to one in some namespace. */
  presence(wanted: ProcessIdentity, namespace: string = this.namespace): ProcessPresence {
    if (wanted.host !== this.host) return 'unknown'
    if (wanted.boot !== this.boot) return 'gone'
    if (wanted.namespace !== namespace) return 'unknown'
    return this.process(wanted.pid)?.identity.started === wanted.started ? 'live' : 'gone'
  }

  /** @internal for `VirtualProcess` */
  ended(process: VirtualProcess): void {
    const { pid } = process.identity
    if (this.#living.get(pid) === process) this.#living.delete(pid)
    for (const listener of [...this.#endListeners]) listener(process)
  }
}

/**
 * One process: everything it touches is reached through here, and once it is dead it touches nothing any more.
 *
 * Its file system may be set to crash at an operation; that ends the process too.
 */
export class VirtualProcess {
  readonly identity: ProcessIdentity
  readonly env: Readonly<Record<string, string>>
  readonly ignoresTerm: boolean
  readonly command: string | undefined
  readonly fs: MemoryFs
  readonly clock: ClockFace
  /** The clock of the host it runs in, so that timers of ours can be told from the host's. */
  readonly hostClock: ClockFace
  readonly processes: Processes
  readonly #machine: Machine
  #parent: VirtualProcess | undefined
  #watches = 0
  #isEnded = false

  constructor(machine: Machine, identity: ProcessIdentity, options: SpawnOptions) {
    this.#machine = machine
    this.identity = identity
    this.env = options.env ?? {}
    this.ignoresTerm = options.ignoresTerm ?? false
    this.command = options.command
    this.#parent = options.parent
    this.fs = machine.disk.peer()
    this.#countWatches(this.fs)
    this.clock = machine.clock.face()
    this.hostClock = machine.clock.face()
    this.processes = processesOf(machine, this)
  }

  get isAlive(): boolean {
    if (!this.#isEnded) this.#notice()
    return !this.#isEnded
  }

  /** The parent as long as it lives; orphans belong to nobody. */
  get parent(): VirtualProcess | undefined {
    return this.#parent?.isAlive ? this.#parent : undefined
  }

  /** Watches it has armed and not ended. */
  get watches(): number {
    return this.#watches
  }

  /** Throws in a process that is dead, so that it goes no further. */
  mustLive(): void {
    if (!this.isAlive) throw new Crashed(`process ${this.identity.pid} is dead`)
  }

  /** Ends it at once, as SIGKILL does: nothing of it runs any more, and nothing is tidied up. */
  end(): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.fs.crash()
    this.clock.die()
    this.hostClock.die()
    this.#machine.ended(this)
  }

  /** Lets it die before one of its next file operations. */
  crashAfterOperations(count: number): void {
    this.fs.crashAt(this.fs.operations + count)
  }

  #notice(): void {
    try {
      this.fs.entry('/')
    } catch (error) {
      if (error instanceof Crashed) this.end() // any other trouble of the disk, it lives through
    }
  }

  #countWatches(fs: MemoryFs): void {
    const watch = fs.watch.bind(fs)
    fs.watch = (path, hint) => {
      const end = watch(path, hint)
      let isArmed = true
      this.#watches++
      return () => {
        if (isArmed) this.#watches--
        isArmed = false
        end()
      }
    }
  }
}

function processesOf(machine: Machine, self: VirtualProcess): Processes {
  return {
    self: () => self.identity,
    identify: (pid) => machine.process(pid)?.identity,
    presence: (wanted) => machine.presence(wanted, self.identity.namespace),
    descendants(top, mark) {
      if (machine.presence(top, self.identity.namespace) !== 'live') return []
      const below = machine.living.filter(({ identity }) => identity.pid === top.pid)
      for (const parent of below)
        below.push(
          ...machine.living.filter(
            ({ parent: of, env }) =>
              of === parent &&
              (mark === undefined || [undefined, mark.value].includes(env[mark.variable])),
          ),
        )
      return below.slice(1).map(({ identity }) => identity)
    },
    command: (wanted) =>
      machine.presence(wanted) === 'live' ? machine.process(wanted.pid)?.command : undefined,
    seesMarks: true,
    marked: ({ variable, value }) =>
      machine.living
        .filter((process) => process !== self && process.env[variable] === value)
        .map(({ identity }) => identity),
    bearing: (variable) =>
      machine.living
        .filter((process) => process !== self && variable in process.env)
        .map(({ identity, env }) => ({ process: identity, environment: env })),
    signal(wanted, signal) {
      self.mustLive()
      const presence = machine.presence(wanted, self.identity.namespace)
      const target = machine.process(wanted.pid)
      if (presence !== 'live' || target === undefined)
        return presence === 'live' ? 'gone' : presence
      machine.signals.push({ signal, target, by: self })
      if (signal === 'SIGKILL' || !target.ignoresTerm) target.end()
      return 'sent'
    },
  }
}
