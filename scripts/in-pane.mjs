// Runs a command in a pane of a herdr, as a person does: opens a tab, types one line into its shell.
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HerdrClient } from '../herdr/index.ts'
import { systemClock } from '../mailbox/index.ts'

/** Between two looks at the command, ms. */
const lookMs = 250
/** A line that did nothing for so long was lost in the start of the shell, and is typed again, ms. */
const repeatMs = 3_000
/** How long a new shell may take to run the line, ms. */
const shellMs = 30_000

/**
 * Waits for the end of the command. What it says is passed on as it comes, and nothing of it is left in the pane.
 *
 * @param {string} socketPath of a server that has a pane already
 * @param {string} command for `/bin/sh`, in the folder of this process
 * @param {{ maxMs: number, write: (bytes: Uint8Array) => void }} options how long it may take, and who gets its output
 * @returns {Promise<number>} its exit status
 * @throws Error - it was not run, or did not end: its pane went away or it took too long
 */
export async function runInPane(socketPath, command, { maxMs, write }) {
  const client = new HerdrClient(socketPath, systemClock)
  const directory = mkdtempSync(join(tmpdir(), 'drover-in-pane-'))
  const [script, began, output, ended] = ['run.sh', 'began', 'output', 'ended'].map((name) =>
    join(directory, name),
  )
  writeFileSync(output, '')
  // Typed twice it still runs once: only one can make the directory.
  const lines = [
    `mkdir ${quoted(began)} || exit`,
    `cd ${quoted(process.cwd())} || exit`,
    `( ${command} ) >${quoted(output)} 2>&1 </dev/null`,
    `echo $? >${quoted(`${ended}.draft`)} && mv ${quoted(`${ended}.draft`)} ${quoted(ended)}`,
  ]
  writeFileSync(script, `${lines.join('\n')}\n`)
  const passOn = follow(output, write)
  let pane_id
  try {
    const { panes } = (await client.request('session.snapshot', {})).snapshot
    const beside = panes.find(({ focused }) => focused) ?? panes[0]
    if (beside === undefined) throw new Error(`The server at ${socketPath} has no pane.`)
    const { workspace_id } = beside
    const opened = await client.request('tab.create', {
      workspace_id,
      label: 'tests',
      focus: false,
    })
    pane_id = opened.root_pane.pane_id
    await typed(client, pane_id, ` sh ${quoted(script)}`, began)
    for (const endMs = performance.now() + maxMs; !existsSync(ended); ) {
      passOn()
      if (performance.now() > endMs) throw new Error(`It took over ${maxMs / 60_000} minutes.`)
      await pause(lookMs)
      if (!existsSync(ended) && (await isGone(client, pane_id)))
        throw new Error(`Its pane ${pane_id} went away before it had ended.`)
    }
    return Number(readFileSync(ended, 'utf8'))
  } finally {
    passOn()
    if (pane_id !== undefined) await closed(client, pane_id)
    rmSync(directory, { recursive: true, force: true })
  }
}

async function typed(client, pane_id, text, began) {
  const endMs = performance.now() + shellMs
  for (let typeAt = 0; !existsSync(began); await pause(lookMs)) {
    const now = performance.now()
    if (now > endMs) throw new Error(`The shell of ${pane_id} ran nothing in ${shellMs / 1_000} s.`)
    if (now < typeAt) continue
    typeAt = now + repeatMs
    await client.request('pane.send_input', { pane_id, text, keys: ['enter'] })
  }
}

/** Passes on what has come since the last time. */
function follow(path, write) {
  let offset = 0
  const buffer = Buffer.alloc(65_536)
  return () => {
    const file = openSync(path, 'r')
    for (let count = 1; count > 0; offset += count) {
      count = readSync(file, buffer, 0, buffer.length, offset)
      if (count > 0) write(Buffer.from(buffer.subarray(0, count)))
    }
    closeSync(file)
  }
}

async function isGone(client, pane_id) {
  try {
    await client.request('pane.get', { pane_id })
    return false
  } catch (error) {
    if (error.code === 'pane_not_found') return true
    if (error.code === 'not_running') throw error
    return false // it may be busy; the command has a time of its own
  }
}

/** With whatever still runs there. */
async function closed(client, pane_id) {
  try {
    await client.request('pane.close', { pane_id }, 10_000)
  } catch {
    // It went away before, or its server did.
  }
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const quoted = (text) => `'${text.replaceAll("'", `'\\''`)}'`
