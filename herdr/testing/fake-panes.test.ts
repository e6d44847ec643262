import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { isAlive } from './fake-processes.ts'
import { fact, Scene } from './fake-scene.ts'

interface ProcessInfo {
  readonly shell_pid: number
  readonly foreground_process_group_id: number
  readonly foreground_processes: readonly { pid: number; name: string; argv: readonly string[] }[]
}

async function processInfo(scene: Scene, pane_id: string): Promise<ProcessInfo> {
  const answer = await scene.result<{ process_info: ProcessInfo }>('pane.process_info', { pane_id })
  return answer.process_info
}

/** A script that writes lines to a file, line by line as they are there. */
async function written(scene: Scene, name: string): Promise<readonly string[]> {
  const path = join(scene.directory, name)
  return fact(`${name} is written`, () => {
    try {
      const text = readFileSync(path, 'utf8')
      return text.endsWith('.\n') && text.split('\n').slice(0, -2)
    } catch {
      return false
    }
  })
}

it('runs exact arguments without a shell', async (t) => {
  const scene = await Scene.open(t)
  await scene.workspace()
  const script = 'for each; do echo "<$each>"; done >args; echo . >>args; read line'
  await scene.run(['sh', '-c', script, 'name', 'a b', '$HOME', '"'])
  assert.deepEqual(await written(scene, 'args'), ['<a b>', '<$HOME>', '<">'])
})

it('gives each pane the variables of its own, over what a caller wants', async (t) => {
  const scene = await Scene.open(t)
  await scene.workspace()
  const env = { HERDR_PANE_ID: 'mine', TERM: 'dumb', RUN: 'r7' }
  const echo = 'echo $HERDR_ENV $HERDR_PANE_ID $HERDR_TAB_ID $HERDR_WORKSPACE_ID'
  const script = `${echo} $HERDR_SOCKET_PATH $TERM $RUN $COLORTERM >env; echo . >>env; read line`
  await scene.run(['sh', '-c', script], { env })
  const socket = scene.herdr.socketPath
  assert.deepEqual(await written(scene, 'env'), [`1 w1:p2 w1:t2 w1 ${socket} dumb r7 truecolor`])
  assert.equal(scene.herdr.environment('w1:p2')['HERDR_PANE_ID'], 'w1:p2')
})

it('gives a shell the environment and folder it was asked for', async (t) => {
  const scene = await Scene.open(t)
  await scene.workspace()
  const cwd = join(scene.directory, 'inner')
  mkdirSync(cwd)
  const { root_pane } = await scene.tab({ cwd, env: { RUN: 'r7' } })
  const beside = await scene.split(root_pane.pane_id, { env: { RUN: 'r8' } })
  const say = { text: 'echo "$RUN:$(pwd):"', keys: ['enter'] }
  for (const { pane_id } of [root_pane, beside])
    await scene.result('pane.send_input', { pane_id, ...say })
  await scene.shows(root_pane.pane_id, 'r7:/')
  await scene.shows(beside.pane_id, 'r8:/')
  const { text } = await scene.read(beside.pane_id, 'recent_unwrapped')
  assert.match(text, /inner:/)
})

it('begins silently at home where the folder is none, and shows what was asked', async (t) => {
  const scene = await Scene.open(t)
  const pane = await scene.workspace({ cwd: '/no/such/folder' })
  assert.equal(pane.cwd, '/no/such/folder')
  const { foreground_cwd } = await fact('it runs', async () => {
    const { foreground_cwd } = await scene.pane(pane.pane_id)
    return foreground_cwd !== undefined && { foreground_cwd }
  })
  assert.equal(foreground_cwd, scene.directory)
})

it('refuses names and values no environment has', async (t) => {
  const scene = await Scene.open(t)
  await scene.workspace()
  for (const env of [{ '': 'x' }, { 'A=B': 'x' }, { 'A\0': 'x' }, { A: '\0' }])
    assert.equal(await scene.code('tab.create', { env }), 'invalid_env')
  assert.deepEqual(await scene.paneIds(), ['w1:p1'])
})

it('ends every process of a closed pane, also those that ignore being asked', async (t) => {
  const scene = await Scene.open(t)
  await scene.workspace()
  const script = 'trap "" HUP TERM; sleep 60 & echo $! >pids; echo $$ >>pids; echo . >>pids; wait'
  const pane_id = await scene.run(['sh', '-c', script])
  const pids = (await written(scene, 'pids')).map(Number)
  await scene.result('pane.close', { pane_id })
  assert.deepEqual(pids.filter(isAlive), [])
})

it('spares a child that left its session, until the server stops', async (t) => {
  const scene = await Scene.open(t)
  await scene.workspace()
  const inner = 'echo $$ >pid; echo . >>pid; exec sleep 60'
  const pane_id = await scene.run(['sh', '-c', `setsid sh -c '${inner}' & sleep 60`])
  const [pid] = (await written(scene, 'pid')).map(Number)
  assert.ok(pid !== undefined)
  await scene.result('pane.close', { pane_id })
  assert.equal(isAlive(pid), true)
  await scene.herdr.stop()
  await fact('it has ended', () => !isAlive(pid))
})

it('loses a pane with its direct child, whatever else runs there', async (t) => {
  const scene = await Scene.open(t)
  await scene.workspace()
  const pane_id = await scene.run(['sh', '-c', 'sleep 60 & exit 3'])
  await fact('it is gone', async () => !(await scene.paneIds()).includes(pane_id))
  assert.equal(await scene.code('pane.read', { pane_id, source: 'visible' }), 'pane_not_found')
  assert.equal(await scene.code('pane.close', { pane_id }), 'pane_not_found')
})

it('says who runs in the foreground', async (t) => {
  const scene = await Scene.open(t)
  const { pane_id } = await scene.workspace()
  const shell = await processInfo(scene, pane_id)
  assert.deepEqual(
    shell.foreground_processes.map(({ pid }) => pid),
    [shell.shell_pid],
  )
  await scene.result('pane.send_input', { pane_id, text: 'sleep 61 | cat', keys: ['enter'] })
  const busy = await fact('two run', async () => {
    const info = await processInfo(scene, pane_id)
    return info.foreground_processes.some(({ name }) => name === 'cat') && info
  })
  assert.equal(busy.shell_pid, shell.shell_pid)
  assert.notEqual(busy.foreground_process_group_id, shell.shell_pid)
  assert.deepEqual(busy.foreground_processes[0]?.argv, ['sleep', '61'])
})

it('takes a process it did not start for the shell of an adopted pane', async (t) => {
  const scene = await Scene.open(t)
  const pane = scene.herdr.adopt(process.pid)
  assert.equal((await processInfo(scene, pane.pane_id)).shell_pid, process.pid)
  const later = scene.herdr.adopt(undefined, pane.workspace_id)
  assert.deepEqual([later.pane_id, later.tab_id], ['w1:p2', 'w1:t2'])
  scene.herdr.bind(later.pane_id, process.pid)
  assert.equal((await processInfo(scene, later.pane_id)).shell_pid, process.pid)
  await scene.result('pane.close', { pane_id: later.pane_id }) // never ends the process of a test
  assert.deepEqual(await scene.paneIds(), [pane.pane_id])
})

it('reads what is seen and what has scrolled off', async (t) => {
  const scene = await Scene.open(t)
  await scene.workspace()
  const pane_id = await scene.run(['sh', '-c', 'seq 1500; read line'])
  await scene.shows(pane_id, '1500')
  const lines = async (source: string, more: object = {}) => {
    const { text, truncated } = await scene.read(pane_id, source, more)
    const all = text.split('\n')
    return [all.length, all[0], all.at(-1), truncated]
  }
  assert.deepEqual(await lines('visible'), [23, '1478', '1500', false])
  assert.deepEqual(await lines('recent'), [80, '1421', '1500', true])
  assert.deepEqual(await lines('recent', { lines: 5 }), [5, '1496', '1500', true])
  assert.deepEqual(await lines('recent', { lines: 5_000 }), [1_000, '501', '1500', true])
})

it('counts rows before it puts lines together again', async (t) => {
  const scene = await Scene.open(t)
  await scene.workspace()
  const pane_id = await scene.run(['sh', '-c', 'printf "a%.0s" $(seq 200); echo; echo z; read l'])
  await scene.shows(pane_id, 'z')
  const wide = 'a'.repeat(80)
  const rest = 'a'.repeat(40)
  const read = async (source: string, lines: number) =>
    (await scene.read(pane_id, source, { lines })).text
  assert.equal(await read('recent', 10), [wide, wide, rest, 'z'].join('\n'))
  assert.equal(await read('recent_unwrapped', 10), ['a'.repeat(200), 'z'].join('\n'))
  assert.equal(await read('recent_unwrapped', 2), [rest, 'z'].join('\n'))
})

it('checks every key before it types anything', async (t) => {
  const scene = await Scene.open(t)
  const { pane_id } = await scene.workspace()
  const bad = { pane_id, text: 'echo no', keys: ['enter', 'pagedown'] }
  assert.equal(await scene.code('pane.send_input', bad), 'invalid_key')
  await scene.result('pane.send_input', { pane_id, text: "echo o''k", keys: ['enter'] })
  await scene.shows(pane_id, 'ok')
  assert.equal(scene.herdr.screen(pane_id).includes('no'), false)
})

it('types keys as a terminal does', async (t) => {
  const scene = await Scene.open(t)
  await scene.workspace()
  const script = 'stty raw -echo; echo ready; dd bs=1 count=14 2>/dev/null | od -An -c; read line'
  const pane_id = await scene.run(['sh', '-c', script])
  await scene.shows(pane_id, 'ready')
  const keys = [
    'ctrl+a',
    'C-b',
    'esc',
    'tab',
    'up',
    'shift+x',
    'alt+y',
    'backspace',
    'space',
    'plus',
  ]
  await scene.result('pane.send_keys', { pane_id, keys: [...keys, 'enter'] })
  await scene.shows(pane_id, '\\r')
  const shown = scene.herdr.screen(pane_id).replace(/\s+/g, ' ')
  assert.match(shown, /001 002 033 \\t 033 \[ A X 033 y 177 \+ \\r/)
})

it('marks a paste where the program wants that, and sends raw text as it is', async (t) => {
  const scene = await Scene.open(t)
  await scene.workspace()
  const script =
    'stty raw -echo; printf "\\033[?2004hready"; dd bs=1 count=16 2>/dev/null | od -An -c; read line'
  const pane_id = await scene.run(['sh', '-c', script])
  await scene.shows(pane_id, 'ready')
  await scene.result('pane.send_text', { pane_id, text: 'ab' })
  await scene.result('pane.send_input', { pane_id, text: 'cd' })
  await scene.shows(pane_id, '~')
  const shown = scene.herdr.screen(pane_id).replace(/\s+/g, ' ')
  assert.match(shown, /a b 033 \[ 2 0 0 ~ c d 033 \[ 2 0 1/)
})

it('waits for output, also for what is there already', async (t) => {
  const scene = await Scene.open(t)
  const { pane_id } = await scene.workspace()
  const wait = (match: object, more: object = {}) =>
    scene.ask('pane.wait_for_output', { pane_id, source: 'recent', match, ...more })
  await scene.shows(pane_id, '$') // what is echoed before the prompt would share a line with the answer
  await scene.result('pane.send_input', { pane_id, text: 'echo $((40+2))', keys: ['enter'] })
  const { result } = await wait({ type: 'regex', value: '^4[0-9]$' })
  assert.equal(result?.['matched_line'], '42')
  assert.equal((await wait({ type: 'substring', value: '42' })).error, undefined)
  const never = { type: 'substring', value: 'never' }
  assert.equal((await wait(never, { timeout_ms: 20 })).error?.code, 'timeout')
  assert.equal((await wait({ type: 'regex', value: '(' })).error?.code, 'invalid_regex')
  const dying = wait(never)
  await fact('it waits', () => scene.herdr.requests.length === 7)
  await scene.result('pane.close', { pane_id })
  assert.equal((await dying).error?.code, 'pane_not_found')
})

it('shows the title of a terminal, without its spinner too', async (t) => {
  const scene = await Scene.open(t, { profile: '0.9.2' })
  await scene.workspace()
  const listener = await scene.subscribe('pane.updated')
  const pane_id = await scene.run(['sh', '-c', 'printf "\\033]0;⠋ pi - repo\\007"; read line'])
  await fact('an update has come', () => listener.events.length === 1)
  const { terminal_title, terminal_title_stripped, revision } = await scene.pane(pane_id)
  assert.deepEqual(
    [terminal_title, terminal_title_stripped, revision],
    ['⠋ pi - repo', 'pi - repo', 1],
  )
})

it('answers a program that asks its terminal where the cursor is', async (t) => {
  const scene = await Scene.open(t)
  await scene.workspace()
  const script =
    'stty raw -echo; printf "\\033[6n"; dd bs=1 count=6 2>/dev/null | od -An -c; read l'
  const pane_id = await scene.run(['sh', '-c', script])
  await scene.shows(pane_id, 'R')
})

it('runs another shell when told to', async (t) => {
  const first = await Scene.open(t)
  const shell = join(first.directory, 'shell')
  writeFileSync(shell, '#!/bin/sh\necho a shell of ours\nread line\n', { mode: 0o700 })
  const scene = await Scene.open(t, { shell })
  const { pane_id } = await scene.workspace()
  await scene.shows(pane_id, 'a shell of ours')
})
