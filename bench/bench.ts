import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { measureActors } from './actors.ts'
import { measureAdmission } from './admission.ts'
import { measureFootprint } from './footprint.ts'
import { measureHerdr } from './herdr.ts'
import { describeMachine, load } from './machine.ts'
import type { Family } from './measure.ts'
import { measureReplay } from './replay.ts'
import { asText, type Report } from './report.ts'
import { measureWakeUp } from './wake-up.ts'
import { Workspace } from './workspace.ts'

const here = dirname(fileURLToPath(import.meta.url))

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    json: { type: 'string', default: join(here, 'results', 'latest.json') },
    /** A directory on the disk to measure. The checkout's own by default: a temporary one may be in memory. */
    directory: { type: 'string', default: join(dirname(here), '.cache') },
    /** One family alone, by the name of its file. */
    only: { type: 'string' },
  },
})

const effort = options.quick ? 'quick' : 'full'
const workspace = new Workspace(resolve(options.directory))
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    workspace.remove()
    process.exit(1)
  })

const families: Readonly<Record<string, () => Promise<Family>>> = {
  admission: () => measureAdmission(workspace, effort),
  'wake-up': () => measureWakeUp(workspace, effort),
  replay: () => measureReplay(workspace, effort),
  actors: () => measureActors(effort),
  footprint: () => measureFootprint(workspace, effort),
  herdr: () => measureHerdr(workspace, effort),
}

try {
  const report = await run()
  console.log(asText(report))
  mkdirSync(dirname(resolve(options.json)), { recursive: true })
  writeFileSync(options.json, `${JSON.stringify(report, undefined, 2)}\n`)
} finally {
  workspace.remove()
}

async function run(): Promise<Report> {
  const begun = performance.now()
  const at = new Date().toISOString()
  const before = load()
  const machine = describeMachine(workspace)
  const measured: Family[] = []
  for (const [name, measure] of Object.entries(families)) {
    if (options.only !== undefined && options.only !== name) continue
    console.error(`measuring ${name} ...`)
    measured.push(await measure())
  }
  const seconds = (performance.now() - begun) / 1_000
  const between = { before, after: load() }
  return { version: 1, effort, at, seconds, load: between, machine, families: measured }
}
