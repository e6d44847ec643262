// Runs `npm run test:herdr` in a pane of TUIOS, which answers as herdr does and is written by others. For continuous
// integration: where Go or the program cannot be had it says so, and ends well.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { HerdrClient } from '../herdr/index.ts'
import { systemClock, systemProcesses } from '../mailbox/index.ts'
import { runInPane } from './in-pane.mjs'

const version = 'v0.10.0'
const module = `github.com/Gaurav-Gosain/tuios/cmd/tuios@${version}`
const folder = resolve('.cache', 'tuios', version)
const program = join(folder, 'tuios')
const installMs = 5 * 60_000
const startMs = 20_000
const testsMs = 15 * 60_000

const missing = install()
if (missing === undefined) process.exitCode = await inTuios()
else console.log(`The part against TUIOS was not run: ${missing}.`)

/** Says why there is no program, if there is none. */
function install() {
  if (existsSync(program)) return undefined
  if (spawnSync('go', ['version']).status !== 0) return 'Go is not installed here'
  mkdirSync(folder, { recursive: true })
  const env = { ...process.env, GOBIN: folder }
  const got = spawnSync('go', ['install', module], { env, encoding: 'utf8', timeout: installMs })
  if (got.status === 0 && existsSync(program)) return undefined
  const said = `${got.stderr ?? ''} ${got.error?.message ?? ''}`.trim().replace(/\s+/g, ' ')
  return `go install ${module} failed: ${said.replace(/\.$/, '').slice(-400)}`
}

async function inTuios() {
  const directory = mkdtempSync(join(tmpdir(), 'tuios-')) // short: a socket is to be in it
  const socketPath = join(directory, 'tuios', 'tuios.sock.herdr')
  const { PATH, LANG = 'C.UTF-8', TMPDIR } = process.env
  const env = {
    ...{ PATH, LANG, HOME: directory, XDG_RUNTIME_DIR: directory },
    ...{ SHELL: '/bin/sh', TERM: 'xterm-256color', ...(TMPDIR && { TMPDIR }) },
  }
  try {
    const started = spawnSync(program, ['new', 'drover-tests', '--detach'], {
      env,
      cwd: process.cwd(),
      stdio: ['ignore', 'inherit', 'inherit'],
      timeout: startMs,
    })
    if (started.status !== 0) throw new Error(`TUIOS did not start: status ${started.status}.`)
    await until(() => existsSync(socketPath), `TUIOS made no socket ${socketPath}`)
    const pong = await new HerdrClient(socketPath, systemClock).server()
    console.log(`TUIOS is up: ${pong.server} ${pong.version}, protocol ${pong.protocol}.`)
    const write = (bytes) => process.stdout.write(bytes)
    const status = await runInPane(socketPath, 'npm run test:herdr', { maxMs: testsMs, write })
    console.log(`That was ${pong.server} ${pong.version}, protocol ${pong.protocol}.`)
    return status
  } catch (error) {
    console.error(error.message)
    return 1
  } finally {
    await end(directory)
    rmSync(directory, { recursive: true, force: true })
  }
}

/** Ends what was started with this folder: TUIOS itself, and whatever its panes hold. */
async function end(directory) {
  const left = () => systemProcesses().marked({ variable: 'XDG_RUNTIME_DIR', value: directory })
  for (const signal of ['SIGTERM', 'SIGKILL']) {
    for (const { pid } of left())
      try {
        process.kill(pid, signal)
      } catch {
        // It has just ended.
      }
    const endMs = performance.now() + 3_000
    while (left().length > 0 && performance.now() < endMs) await pause(100)
  }
}

async function until(isTrue, problem) {
  const endMs = performance.now() + startMs
  while (!isTrue()) {
    if (performance.now() > endMs) throw new Error(`${problem} within ${startMs / 1_000} s.`)
    await pause(100)
  }
}

function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
