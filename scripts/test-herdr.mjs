// Runs what drives herdr: `npm run test:herdr [part of a file name …]`, or the least of it with `--smoke`. The servers
// are stand-ins of our own. In a pane of another one (HERDR_ENV, HERDR_SOCKET_PATH and HERDR_PANE_ID are set) it runs
// against that one, and ends with a line for each test. Every part is run, whatever fails.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HerdrClient, herdrEnvironment } from '../herdr/index.ts'
import { systemClock } from '../mailbox/index.ts'
import { filesOf } from './lanes.mjs'

const suites = ['contract', 'delivery', 'lifecycle', 'recovery', 'roles']
const smoke = [{ lane: 'e2e', herdr: '0.8', files: ['roles'] }]
const onStandIns = [
  { lane: 'panes', files: filesOf('panes') },
  { lane: 'e2e', herdr: '0.9.2', files: suites },
  { lane: 'e2e', herdr: '0.8', files: ['roles'] },
  { lane: 'e2e', herdr: 'no-layouts', files: ['roles'] },
]
const onServer = [
  { lane: 'panes', herdr: 'server', files: ['runner-conformance'] },
  { lane: 'e2e', herdr: 'server', files: suites },
]

const isSmoke = process.argv.includes('--smoke')
const only = process.argv.slice(2).filter((argument) => argument !== '--smoke')
const isOnServer = !isSmoke && process.env['HERDR_SOCKET_PATH'] !== undefined
if (isOnServer) await greet()

const parts = (isSmoke ? smoke : isOnServer ? onServer : onStandIns)
  .map((part) => ({ ...part, files: part.files.filter(isWanted) }))
  .filter(({ files }) => files.length > 0)
if (parts.length === 0) {
  console.error(`No test of this lane matches ${only.join(', ')}.`)
  process.exit(2)
}
const ran = parts.map(run)
if (isOnServer)
  for (const { title, outcomes } of ran) console.log(`\n${title}\n${outcomes.trimEnd()}`)
console.log('')
for (const { title, seconds, isPassed } of ran)
  console.log(`${title}: ${isPassed ? 'passed' : 'FAILED'} in ${seconds.toFixed(0)} s`)
process.exitCode = ran.every(({ isPassed }) => isPassed) ? 0 : 1

function isWanted(file) {
  return only.length === 0 || only.some((part) => file.includes(part))
}

/** Says which server this is; ends where it is none that can be tested. */
async function greet() {
  const place = herdrEnvironment(process.env)
  if (place.inside !== true) {
    const why = place.inside === 'broken' ? place.why : 'HERDR_ENV is not 1'
    console.error(
      `HERDR_SOCKET_PATH is set, but this is no pane of that server: ${why}. Run this in a pane of it, or unset it.`,
    )
    process.exit(2)
  }
  const { socketPath, paneId } = place
  try {
    const {
      server = 'herdr',
      version,
      protocol,
    } = await new HerdrClient(socketPath, systemClock).server()
    console.log(`Server: ${server} ${version}, protocol ${protocol}, pane ${paneId}, ${socketPath}`)
  } catch (error) {
    console.error(`The server at ${socketPath} cannot be used: ${error.message}`)
    process.exit(1)
  }
}

function run({ lane, herdr, files }) {
  const server = herdr === undefined ? '' : ` on ${herdr === 'server' ? 'this server' : herdr}`
  const title = `${lane}${server}: ${files.length > suites.length ? `${files.length} files` : files.join(', ')}`
  console.log(`\n=== ${title}`)
  const directory = mkdtempSync(join(tmpdir(), 'drover-outcomes-'))
  const outcomes = join(directory, 'outcomes')
  const beganMs = performance.now()
  const { status } = spawnSync(process.execPath, ['scripts/test.mjs', lane, ...files], {
    stdio: 'inherit',
    env: {
      ...process.env,
      DROVER_TEST_OUTCOMES: outcomes,
      ...(herdr !== undefined && { DROVER_TEST_HERDR: herdr }),
    },
  })
  const seconds = (performance.now() - beganMs) / 1_000
  const text = readFileSync(outcomes, { encoding: 'utf8', flag: 'a+' })
  rmSync(directory, { recursive: true })
  return { title, seconds, isPassed: status === 0, outcomes: text }
}
