// Runs one lane of the tests with node:test through tsx: `node scripts/test.mjs unit`. Ends as the runner does.
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join, relative } from 'node:path'

const lanes = {
  unit: (file) =>
    /^(mailbox|actors|herdr|pi)\/(?!testing\/fake-).*(?<!\.model|\.panes)\.test\.ts$/.test(file),
  // What starts terminals with real processes in them.
  panes: (file) => /\.panes\.test\.ts$|^herdr\/testing\/fake-.*\.test\.ts$/.test(file),
  model: (file) => /\.model\.test\.ts$/.test(file),
  e2e: (file) => /^test\/.*\.e2e\.test\.ts$/.test(file),
}

const [lane, ...only] = process.argv.slice(2)
if (!Object.hasOwn(lanes, lane)) {
  console.error(
    `usage: node scripts/test.mjs ${Object.keys(lanes).join('|')} [part of a file name …]`,
  )
  process.exit(2)
}

const files = ['mailbox', 'actors', 'herdr', 'pi', 'test']
  .flatMap((folder) => walk(folder))
  .filter(lanes[lane])
  .filter((file) => only.length === 0 || only.some((part) => file.includes(part)))
if (files.length === 0) {
  console.error(`No test of the lane ${lane} matches ${only.join(', ')}.`)
  process.exit(2)
}

function walk(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    return entry.isDirectory() ? walk(path) : [relative('.', path)]
  })
}

// Real processes share the machine: end-to-end files run one after another.
const concurrency = lane === 'e2e' ? 1 : 2
const { status } = spawnSync(
  process.execPath,
  ['--import', 'tsx', '--test', `--test-concurrency=${concurrency}`, ...files],
  { stdio: 'inherit' },
)
process.exit(status ?? 1)
