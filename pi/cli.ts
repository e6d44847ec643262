#!/usr/bin/env node
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Row, survey, untrusted } from '../actors/index.ts'
import {
  diskFs,
  MailboxError,
  ownerDirectory,
  ownNames,
  rootPaths,
  systemClock,
  systemIds,
  systemProcesses,
  trustedAgentDirectory,
} from '../mailbox/index.ts'
import { build } from './launch.ts'
import { listedAgent } from './lead/rows.ts'
import { pathFrom } from './paths.ts'
import { shownLine, shownText } from './shown.ts'

const usage = `Usage: drover <command> [--json]

  drover ls          all agents of this user, by the session that owns them
  drover --version   which build this is
  drover --help      this text

The agent directory is PI_CODING_AGENT_DIR, or ~/.pi/agent.
Exit codes: 0 done, 1 could not be done, 2 wrong usage.`

/** Exit codes, as the usage text states them. */
const done = 0
const failed = 1
const wrongUsage = 2

process.exitCode = await main(process.argv.slice(2))

async function main(argv: readonly string[]): Promise<number> {
  let parsed: ReturnType<typeof parse>
  try {
    parsed = parse(argv)
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage}`)
    return wrongUsage
  }
  const { values, positionals } = parsed
  if (values.version) console.log(build)
  else if (values.help) console.log(usage)
  else if (positionals.length === 1 && positionals[0] === 'ls') return list(values.json === true)
  else {
    const given = positionals.join(' ')
    console.error(
      `${given === '' ? 'A command is missing' : `Unknown command: ${given}`}.\n\n${usage}`,
    )
    return wrongUsage
  }
  return done
}

function parse(argv: readonly string[]) {
  return parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      json: { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
      version: { type: 'boolean', short: 'v' },
    },
  })
}

async function list(asJson: boolean): Promise<number> {
  let rows: readonly Row[]
  try {
    const found = await everything()
    rows = found.rows
    for (const path of found.untrusted)
      console.error(shownText(`${path} cannot be trusted; nothing is done with it.`))
  } catch (error) {
    if (!(error instanceof MailboxError)) throw error
    console.error(shownText(error.message))
    return failed
  }
  if (asJson)
    console.log(
      JSON.stringify(
        rows.map((row) => listedAgent(row, systemClock.now())),
        undefined,
        2,
      ),
    )
  else if (rows.length === 0) console.log('No agents.')
  else for (const line of lines(rows)) console.log(line)
  return done
}

/** All agents of this user, and the mailboxes that cannot be trusted. */
async function everything(): Promise<{
  readonly rows: readonly Row[]
  readonly untrusted: readonly string[]
}> {
  const directory = agentDirectory()
  if (!existsSync(directory)) return { rows: [], untrusted: [] }
  const root = rootPaths(trustedAgentDirectory(directory))
  const ports = { fs: diskFs, ids: systemIds, processes: systemProcesses(), root }
  const owners = ownNames(diskFs, root.mailboxes).map((name) => ownerDirectory(root, name))
  return {
    rows: (await Promise.all(owners.map((owner) => survey(ports, owner)))).flat(),
    untrusted: owners.flatMap((owner) =>
      untrusted(ports, owner).map((name) => join(owner.directory, name)),
    ),
  }
}

/** As the host finds it; this command does not load the host. */
function agentDirectory(): string {
  const given = process.env['PI_CODING_AGENT_DIR']
  if (!given) return join(homedir(), '.pi', 'agent')
  return pathFrom(process.cwd(), given)
}

function lines(rows: readonly Row[]): string[] {
  const owners = [...new Set(rows.map(({ facts }) => facts.generation.identity.owner))]
  return owners
    .flatMap((owner) => [
      `session ${owner}`,
      ...rows
        .filter(({ facts }) => facts.generation.identity.owner === owner)
        .map(
          ({ agent, state, starting, facts }) =>
            `  ${agent.padEnd(32)} ${(starting ? 'starting' : state).padEnd(9)} ${facts.generation.definition}  ${facts.generation.identity.cwd}`,
        ),
    ])
    .map((line) => shownLine(line))
}
