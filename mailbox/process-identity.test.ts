import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { after, describe, it } from 'node:test'
import { MailboxError } from './errors.ts'
import type { ProcessIdentity } from './ports.ts'
import { systemProcesses } from './process-identity.ts'

const processes = systemProcesses()
const isLinux = process.platform === 'linux'
const linuxOnly = isLinux ? false : 'needs /proc'

const started: ChildProcess[] = []
after(() => {
  for (const child of started) child.kill('SIGKILL')
})

interface Child {
  readonly child: ChildProcess
  readonly identity: ProcessIdentity
  /** Ends it, and waits until nothing is left of it. */
  readonly end: () => Promise<void>
}

function start(command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Child {
  const child = spawn(command, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  })
  started.push(child)
  const identity = processes.identify(child.pid ?? 0)
  assert.ok(identity)
  const end = async (): Promise<void> => {
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
  }
  return { child, identity, end }
}

const sleeper = (env?: NodeJS.ProcessEnv): Child => start('sleep', ['1000'], env)

/** The pids a shell script prints, one a line. */
async function pidsFrom({ child }: Child, count: number): Promise<number[]> {
  let text = ''
  for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
    text += chunk
    if (text.split('\n').length > count) break
  }
  return text.trim().split('\n').map(Number)
}

/** Waits for a fact about other processes: they tell nobody when it comes true. */
async function until(fact: () => boolean, what: string): Promise<void> {
  const deadline = performance.now() + 10_000
  while (!fact()) {
    assert.ok(performance.now() < deadline, `never: ${what}`)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

const statOf = (pid: number): string[] => {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

const forged = (identity: ProcessIdentity, changed: Partial<ProcessIdentity>): ProcessIdentity => ({
  ...identity,
  ...changed,
})

describe('the identity of a process', () => {
  it('of this one is whole, stays the same, and is found by its pid', () => {
    const self = processes.self()
    assert.equal(self.pid, process.pid)
    for (const field of ['host', 'boot', 'started'] as const) assert.ok(self[field].length > 0)
    assert.deepEqual(processes.self(), self)
    assert.deepEqual(systemProcesses().self(), self)
    assert.deepEqual(processes.identify(process.pid), self)
    assert.equal(processes.presence(self), 'live')
  })

  it('is live as long as it runs, and gone once it has ended', async () => {
    const { identity, end } = sleeper()
    assert.equal(processes.presence(identity), 'live')
    await end()
    assert.equal(processes.presence(identity), 'gone')
    assert.equal(processes.identify(identity.pid), undefined)
    assert.equal(processes.signal(identity, 'SIGTERM'), 'gone')
  })

  it('is live while it is stopped: it may go on any time', async () => {
    const { child, identity, end } = sleeper()
    child.kill('SIGSTOP')
    if (isLinux) await until(() => statOf(identity.pid)[0] === 'T', 'it is stopped')
    assert.equal(processes.presence(identity), 'live')
    await end()
  })

  it('is gone while nobody has asked for its exit', { skip: linuxOnly }, async () => {
    // The shell becomes `sleep`, which waits for no child; only then does the child end.
    const child = 'until grep -q sleep /proc/$PPID/comm; do :; done'
    const parent = start('sh', ['-c', `sh -c '${child}' & echo $!; exec sleep 1000`])
    const [zombie = 0] = await pidsFrom(parent, 1)
    await until(() => statOf(zombie)[0] === 'Z', 'it is a zombie')
    assert.ok(isAlive(zombie)) // a signal would be taken
    assert.equal(processes.identify(zombie), undefined)
    const identity = forged(parent.identity, { pid: zombie, started: statOf(zombie)[19] ?? '' })
    assert.equal(processes.presence(identity), 'gone')
    assert.equal(processes.signal(identity, 'SIGKILL'), 'gone')
    await parent.end()
  })

  it('is read right whatever the process calls itself', { skip: linuxOnly }, async () => {
    const name = ') Z 1 (\n'
    const script = `require('fs').writeFileSync('/proc/self/comm', ${JSON.stringify(name)}); console.log(process.pid); setInterval(() => {}, 1e6)`
    const odd = start(process.execPath, ['-e', script])
    const [pid] = await pidsFrom(odd, 1)
    assert.equal(pid, odd.identity.pid)
    assert.ok(readFileSync(`/proc/${pid}/stat`, 'latin1').includes(') Z 1 ('))
    assert.equal(processes.presence(odd.identity), 'live')
    await odd.end()
  })
})

describe('another process under the same pid', () => {
  it('is not the one that was meant, and is never signalled', async () => {
    const { identity, child, end } = sleeper()
    const earlier = forged(identity, { started: `${Number(identity.started) - 1}` })
    assert.equal(processes.presence(earlier), 'gone')
    assert.equal(processes.signal(earlier, 'SIGKILL'), 'gone')
    assert.deepEqual(processes.descendants(earlier), [])
    assert.equal(processes.presence(identity), 'live')
    assert.equal(child.signalCode, null)
    await end()
  })

  const pidFile = '/proc/sys/kernel/ns_last_pid'
  const noReuse = ((): string | false => {
    try {
      writeFileSync(pidFile, readFileSync(pidFile))
      return false
    } catch {
      return `cannot choose the next pid: ${pidFile} is not ours to write`
    }
  })()

  it('is told apart when the kernel really gives a pid again', { skip: noReuse }, async () => {
    const wanted = 20
    let reused = 0
    for (let attempt = 0; attempt < 500 && reused < wanted; attempt++) {
      const first = sleeper()
      await first.end()
      // Two lives within one tick of the kernel's clock would look alike; a pid does not come back that fast.
      const tick = Number(first.identity.started)
      await until(
        () => Number(readFileSync('/proc/uptime', 'utf8').split(' ')[0]) * 100 > tick + 1,
        'a tick',
      )
      writeFileSync(pidFile, String(first.identity.pid - 1))
      const second = sleeper()
      if (second.identity.pid === first.identity.pid) {
        reused++
        assert.notEqual(second.identity.started, first.identity.started)
        assert.equal(processes.presence(first.identity), 'gone')
        assert.equal(processes.signal(first.identity, 'SIGKILL'), 'gone')
        assert.equal(processes.presence(second.identity), 'live')
      }
      await second.end()
      assert.equal(second.child.signalCode, 'SIGKILL')
    }
    console.log(`# pid reuse: ${reused} pids given again, the wrong process signalled 0 times`)
    assert.equal(reused, wanted)
  })
})

describe('a process of elsewhere', () => {
  const elsewhere: readonly (readonly [string, Partial<ProcessIdentity>, 'gone' | 'unknown'])[] = [
    ['another boot of this machine', { boot: 'another' }, 'gone'],
    ['another PID namespace', { namespace: 'pid:[1]' }, 'unknown'],
    ['another machine', { host: 'another' }, 'unknown'],
    ['another machine and boot', { host: 'another', boot: 'another' }, 'unknown'],
    ['another boot and namespace', { boot: 'another', namespace: 'pid:[1]' }, 'gone'],
  ]
  for (const [where, changed, presence] of elsewhere)
    it(`of ${where} is ${presence}, and nothing of ours is signalled for it`, async () => {
      const { identity, child, end } = sleeper()
      const other = forged(identity, changed)
      assert.equal(processes.presence(other), presence)
      for (const signal of ['SIGTERM', 'SIGKILL'] as const)
        assert.equal(processes.signal(other, signal), presence)
      assert.deepEqual(processes.descendants(other), [])
      assert.equal(processes.presence(identity), 'live')
      assert.equal(child.signalCode, null)
      await end()
    })

  const canUnshare = isLinux && spawnSync('unshare', ['-fp', '--mount-proc', 'true']).status === 0
  const noNamespace = canUnshare ? false : 'no PID namespace can be made here'
  it('that runs in a namespace of its own is unknown', { skip: noNamespace }, async () => {
    const url = JSON.stringify(new URL('./process-identity.ts', import.meta.url).href)
    const script = `
      import { systemProcesses } from ${url}
      console.log(JSON.stringify(systemProcesses().self()))
      setInterval(() => {}, 1e6)`
    const child = spawn(
      'unshare',
      ['-fp', '--kill-child', '--mount-proc', process.execPath, '--import', 'tsx'].concat(
        '--input-type=module',
        '-e',
        script,
      ),
      { stdio: ['ignore', 'pipe', 'inherit'] },
    )
    started.push(child)
    const [line] = await once(child.stdout, 'data')
    const inside = JSON.parse(String(line)) as ProcessIdentity
    const self = processes.self()
    assert.equal(inside.boot, self.boot)
    assert.notEqual(inside.namespace, self.namespace)
    assert.equal(processes.presence(inside), 'unknown')
    assert.equal(processes.signal(inside, 'SIGKILL'), 'unknown')
    child.kill('SIGKILL')
    await once(child, 'exit')
  })
})

describe('a signal', () => {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const)
    it(`${signal} reaches the process that was meant`, async () => {
      const { identity, child } = sleeper()
      const exited = once(child, 'exit')
      assert.equal(processes.signal(identity, signal), 'sent')
      assert.deepEqual(await exited, [null, signal])
      assert.equal(processes.signal(identity, signal), 'gone')
    })
})

describe('the descendants of a process', () => {
  it('are all that live below it, nearest first, without itself', async () => {
    const script = 'sleep 1000 & echo $!; sh -c "sleep 1000 & echo \\$!; echo \\$\\$; wait" & wait'
    const top = start('sh', ['-c', script])
    const [child = 0, grandchild = 0, middle = 0] = sortedBy(
      await pidsFrom(top, 3),
      top.identity.pid,
    )
    const found = processes.descendants(top.identity)
    assert.deepEqual(new Set(found.map(({ pid }) => pid)), new Set([child, grandchild, middle]))
    assert.equal(found.at(-1)?.pid, grandchild)
    for (const each of found) assert.equal(processes.presence(each), 'live')
    assert.ok(processes.descendants(processes.self()).some(({ pid }) => pid === grandchild))
    for (const each of found) assert.equal(processes.signal(each, 'SIGKILL'), 'sent')
    await until(() => found.every((each) => processes.presence(each) === 'gone'), 'all are gone')
    await until(() => processes.presence(top.identity) === 'gone', 'the shell has ended')
    assert.deepEqual(processes.descendants(top.identity), [])
  })

  /** The pids as the child, the grandchild, and the shell between it and the top, whoever printed first. */
  function sortedBy(pids: readonly number[], top: number): number[] {
    const parentOf = (pid: number): number => Number(statOf(pid)[1])
    const middle = pids.find((pid) => pids.some((below) => parentOf(below) === pid)) ?? 0
    const child = pids.find((pid) => pid !== middle && parentOf(pid) === top) ?? 0
    const grandchild = pids.find((pid) => parentOf(pid) === middle) ?? 0
    return [child, grandchild, middle]
  }
})

describe('the command of a process', () => {
  it('is what it runs, its arguments after one another', { skip: linuxOnly }, async () => {
    const { identity, end } = start('node', ['-e', 'setInterval(() => {}, 1e3)\n', 'a b'])
    const command = 'node -e setInterval(() => {}, 1e3)\n a b'
    await until(() => processes.command(identity) === command, 'it runs that')
    await end()
    assert.equal(processes.command(identity), undefined)
  })

  it('is its beginning where it is long', { skip: linuxOnly }, async () => {
    const { identity, end } = start('node', ['-e', 'setInterval(() => {}, 1e3)', 'x'.repeat(9_999)])
    await until(() => processes.command(identity)?.startsWith('node -e') === true, 'it runs that')
    assert.equal(processes.command(identity)?.length, 4_096)
    await end()
  })

  it('is never that of another process, nor of one that ended or is elsewhere', async () => {
    const { identity, end } = sleeper()
    for (const other of [{ started: '0' }, { namespace: 'pid:[1]' }, { host: 'x' }, { boot: 'x' }])
      assert.equal(processes.command({ ...identity, ...other }), undefined)
    await end()
  })
})

describe('marked processes', () => {
  it('are those that were started with that very variable', { skip: linuxOnly }, async () => {
    const mark = `mark-${process.pid}`
    const ours = sleeper({ DROVER_TEST_MARK: mark })
    const others = [
      sleeper({ DROVER_TEST_MARK: `${mark}x` }),
      sleeper({ XDROVER_TEST_MARK: mark }),
      sleeper({ OTHER: `DROVER_TEST_MARK=${mark}` }),
    ]
    await until(
      () => processes.marked({ variable: 'DROVER_TEST_MARK', value: mark }).length > 0,
      'its environment can be read',
    )
    assert.deepEqual(processes.marked({ variable: 'DROVER_TEST_MARK', value: mark }), [
      ours.identity,
    ])
    assert.deepEqual(processes.marked({ variable: 'DROVER_TEST_MARK', value: '' }), [])
    assert.deepEqual(
      new Map(
        processes
          .bearing('DROVER_TEST_MARK')
          .map(({ process, environment }) => [process.pid, environment['DROVER_TEST_MARK']]),
      ),
      new Map([
        [ours.identity.pid, mark],
        [others[0]?.identity.pid, `${mark}x`],
      ]),
      'or, asked for any value, all that were started with one',
    )
    for (const { end } of [ours, ...others]) await end()
    assert.deepEqual(processes.marked({ variable: 'DROVER_TEST_MARK', value: mark }), [])
  })
})

describe('a machine where processes cannot be told apart', () => {
  it('is refused with a code that says stop', () => {
    const real = Object.getOwnPropertyDescriptor(process, 'platform')
    assert.ok(real)
    Object.defineProperty(process, 'platform', { ...real, value: 'win32' })
    try {
      assert.throws(
        () => systemProcesses(),
        (error) =>
          error instanceof MailboxError &&
          error.code === 'DROVER_PLATFORM_UNSUPPORTED' &&
          error.remedy === 'stop' &&
          error.message.includes('win32'),
      )
    } finally {
      Object.defineProperty(process, 'platform', real)
    }
  })

  const canUnmount = isLinux && spawnSync('unshare', ['-m', 'umount', '-l', '/proc']).status === 0
  const noUnmount = canUnmount ? false : '/proc cannot be taken away here'
  it('is refused with that code where /proc is missing', { skip: noUnmount }, () => {
    const url = JSON.stringify(new URL('./process-identity.ts', import.meta.url).href)
    const script = `
      import { systemProcesses } from ${url}
      try { console.log(systemProcesses().self()) } catch (error) { console.log(error.code) }`
    const args = ['-m', 'sh', '-c', 'umount -l /proc && exec "$0" "$@"', process.execPath]
    const { stdout } = spawnSync(
      'unshare',
      [...args, '--import', 'tsx', '--input-type=module', '-e', script],
      { encoding: 'utf8' },
    )
    assert.equal(stdout.trim(), 'DROVER_PLATFORM_UNSUPPORTED')
  })
})
