import { accessSync, constants, existsSync, readFileSync, realpathSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { build } from '../../launch.ts'
import type { OwnerView } from '../agents.ts'
import type { CheckReport } from './finding.ts'
import { counted } from './finding.ts'

/** The oldest Node that works: `engines` in package.json. */
const nodeMin = [20, 19] as const

/** Which Drover, Node and Pi there are, and which Drover started the agents. */
export function versions(
  env: Readonly<Record<string, string | undefined>>,
  owners: readonly OwnerView[],
  node: string = process.versions.node,
): CheckReport {
  const pi = hostOnPath(env['PATH'] ?? '')
  const [major = 0, minor = 0] = node.split('.').map(Number)
  const isOld = major < nodeMin[0] || (major === nodeMin[0] && minor < nodeMin[1])
  const others = owners
    .flatMap(({ rows }) => rows)
    .filter(({ facts }) => facts.generation.build !== build)
  return {
    facts: [
      `${build}, Node ${node}, ${pi === undefined ? 'no Pi on the PATH' : `Pi ${pi.version} (${pi.path})`}`,
      ...(others.length > 0
        ? [`${counted(others.length, 'agent')} started by another build of Drover`]
        : []),
    ],
    findings: isOld
      ? [
          {
            severity: 'error',
            what: `Node ${node} is too old`,
            remedy: `Install Node ${nodeMin.join('.')} or later.`,
          },
        ]
      : [],
  }
}

const hostNames = ['@mariozechner/pi-coding-agent', '@earendil-works/pi-coding-agent']

/** The Pi that a shell would start, by the package it belongs to: it is not run. */
export function hostOnPath(
  path: string,
): { readonly path: string; readonly version: string } | undefined {
  for (const directory of path.split(delimiter)) {
    const command = join(directory, 'pi')
    try {
      accessSync(command, constants.X_OK)
    } catch {
      continue
    }
    const version = versionAbove(dirname(realpathSync(command)))
    return { path: command, version: version ?? 'of unknown version' }
  }
  return undefined
}

function versionAbove(from: string): string | undefined {
  const file = join(from, 'package.json')
  if (existsSync(file)) {
    try {
      const { name, version } = JSON.parse(readFileSync(file, 'utf8'))
      if (hostNames.includes(name)) return String(version)
    } catch {} // another package's, or none
  }
  return dirname(from) === from ? undefined : versionAbove(dirname(from))
}
