import { existsSync, realpathSync } from 'node:fs'
import { readSettings } from '../../settings.ts'
import { shownLine, shownText } from '../../shown.ts'
import { everyOwner, type OwnerView } from '../agents.ts'
import { agentDirectory, type CliWorld, herdrHere, worldAt } from '../compose.ts'
import type { Colour, Terminal } from '../terminal.ts'
import { exit } from '../usage.ts'
import { wrapped } from '../width.ts'
import { definitions, settings } from './definitions.ts'
import { directories } from './directories.ts'
import { type Check, type CheckReport, counted, type Finding } from './finding.ts'
import { herdr } from './herdr.ts'
import { leases } from './leases.ts'
import { mailboxes } from './mailboxes.ts'
import { orphans } from './orphans.ts'
import { toolNames } from './tool-names.ts'
import { versions } from './versions.ts'
import { watches } from './watches.ts'

/** What a check came to, or why it could not look. */
type Result = { readonly name: string } & (CheckReport | { readonly problem: string })

/** Looks for what is wrong here, and says what to do about it. Changes nothing. */
export async function diagnose(terminal: Terminal, json: boolean): Promise<number> {
  const given = agentDirectory()
  const world = worldAt(existsSync(given) ? realpathSync(given) : given)
  const results: Result[] = []
  for (const check of checksOf(world)) {
    const result = await terminal.during(`Looking at ${check.name} …`, () => resultOf(check))
    results.push(result)
    if (!json) print(terminal, result)
  }
  if (json) terminal.data(dataOf(results))
  else sum(terminal, results)
  if (results.some((result) => 'problem' in result)) return exit.couldNotLook
  return findingsIn(results).length > 0 ? exit.failed : exit.done
}

function checksOf(world: CliWorld): readonly Check[] {
  const places = { agentDirectory: world.agentDirectory, cwd: process.cwd() }
  let looked: Promise<readonly OwnerView[]> | undefined
  const owners = () => {
    looked ??= everyOwner(world)
    return looked
  }
  const { runner } = readSettings({ ...places, projectTrusted: false }).settings
  return [
    { name: 'versions', run: async () => versions(process.env, await owners().catch(() => [])) },
    { name: 'directories', run: () => directories(world.agentDirectory, world.root) },
    { name: 'watches', run: () => watches(world.agentDirectory) },
    { name: 'leases', run: async () => leases(world, await owners()) },
    { name: 'processes', run: async () => orphans(world, await owners()) },
    { name: 'mailboxes', run: async () => mailboxes(world, await owners()) },
    { name: 'settings', run: () => settings(places) },
    { name: 'definitions', run: () => definitions(places) },
    { name: 'herdr', run: async () => herdr(await herdrHere(world.clock), runner) },
    { name: 'tool names', run: () => toolNames(places) },
  ]
}

async function resultOf({ name, run }: Check): Promise<Result> {
  try {
    return { name, ...(await run()) }
  } catch (error) {
    return { name, problem: (error as Error).message }
  }
}

const findingsIn = (
  results: readonly Result[],
): readonly (Finding & { readonly check: string })[] =>
  results.flatMap((result) =>
    'problem' in result ? [] : result.findings.map((each) => ({ check: result.name, ...each })),
  )

function dataOf(results: readonly Result[]): Record<string, unknown> {
  const reports = results.flatMap((result) => ('problem' in result ? [] : [result]))
  return {
    findings: findingsIn(results),
    facts: reports.flatMap(({ name, facts }) => facts.map((text) => ({ check: name, text }))),
    cannot_see: reports.flatMap(({ name, blind = [] }) =>
      blind.map((text) => ({ check: name, text })),
    ),
    could_not_look: results.flatMap((result) =>
      'problem' in result ? [{ check: result.name, why: result.problem }] : [],
    ),
  }
}

/** Mark and name of a check, and then what it says. */
const headColumns = 15

function print(terminal: Terminal, result: Result): void {
  const [mark, colour] = markOf(result)
  const head = `${terminal.paint(mark, colour)} ${terminal.paint(result.name.padEnd(headColumns - 2), 'bold')}`
  const lines = 'problem' in result ? [`could not look: ${result.problem}`] : result.facts
  const room = Math.max(20, terminal.columns - headColumns)
  const [first = '', ...more] = lines.flatMap((line) => wrapped(shownLine(line), room))
  terminal.line(`${head}${first}`.trimEnd())
  for (const line of more) terminal.line(`${' '.repeat(headColumns)}${line}`)
  if ('problem' in result) return
  for (const finding of result.findings) printFinding(terminal, finding)
}

function printFinding(terminal: Terminal, { severity, what, remedy, run }: Finding): void {
  const room = Math.max(20, terminal.columns - 13)
  const rows: readonly (readonly [string, string, Colour])[] = [
    [severity, what, severity === 'error' ? 'red' : 'yellow'],
    ['do', remedy, 'cyan'],
  ]
  for (const [name, value, colour] of rows)
    wrapped(shownText(value).replaceAll('\n', ' '), room).forEach((line, i) => {
      const head = i === 0 ? terminal.paint(name.padEnd(9), colour) : ' '.repeat(9)
      terminal.line(`    ${head}${line}`)
    })
  if (run !== undefined)
    terminal.line(`    ${terminal.paint('run'.padEnd(9), 'cyan')}${shownLine(run)}`)
}

function markOf(result: Result): readonly [string, Colour] {
  if ('problem' in result) return ['?', 'yellow']
  if (result.findings.some(({ severity }) => severity === 'error')) return ['✗', 'red']
  return result.findings.length > 0 ? ['!', 'yellow'] : ['✓', 'green']
}

function sum(terminal: Terminal, results: readonly Result[]): void {
  const findings = findingsIn(results)
  const problems = results.filter((result) => 'problem' in result).length
  terminal.line()
  for (const result of results)
    if (!('problem' in result))
      for (const line of result.blind ?? [])
        for (const part of wrapped(shownLine(`Cannot be seen: ${line}.`), terminal.columns))
          terminal.line(terminal.paint(part, 'dim'))
  const errors = findings.filter(({ severity }) => severity === 'error').length
  const words = [
    findings.length === 0
      ? 'Nothing was found.'
      : `${counted(errors, 'error')}, ${counted(findings.length - errors, 'warning')}.`,
    ...(problems > 0 ? [`${counted(problems, 'check')} could not look.`] : []),
  ]
  terminal.line(words.join(' '))
}
