// Runs one lane of the tests with node:test through tsx: `node scripts/test.mjs unit`. Ends as the runner does.
// DROVER_TEST_OUTCOMES names a file that then has a line for each test: passed, failed or skipped, and its name.
import { spawnSync } from 'node:child_process'
import { filesOf, laneNames } from './lanes.mjs'

const [lane, ...only] = process.argv.slice(2)
if (!laneNames.includes(lane)) {
  console.error(`usage: node scripts/test.mjs ${laneNames.join('|')} [part of a file name …]`)
  process.exit(2)
}

const files = filesOf(lane, only)
if (files.length === 0) {
  console.error(`No test of the lane ${lane} matches ${only.join(', ')}.`)
  process.exit(2)
}

const outcomes = process.env['DROVER_TEST_OUTCOMES']
const reporters =
  outcomes === undefined
    ? []
    : [
        ...['--test-reporter=spec', '--test-reporter-destination=stdout'],
        ...['--test-reporter=./scripts/outcomes.mjs', `--test-reporter-destination=${outcomes}`],
      ]

// Real processes share the machine: end-to-end files run one after another.
const concurrency = lane === 'e2e' || lane === 'screens' ? 1 : 2
const { status } = spawnSync(
  process.execPath,
  ['--import', 'tsx', '--test', `--test-concurrency=${concurrency}`, ...reporters, ...files],
  { stdio: 'inherit' },
)
process.exit(status ?? 1)
