import { dirname } from 'node:path'
import { nearestProjectDirectory, readRoster, real } from '../../definitions/index.ts'
import { readSettings, type SettingsReading } from '../../settings.ts'
import { bounded, type CheckReport, counted, type Finding } from './finding.ts'

interface Places {
  readonly agentDirectory: string
  readonly cwd: string
}

/** Whether the settings are what was meant. */
export function settings(places: Places): CheckReport {
  const { diagnostics, settings: now } = reading(places)
  const { runner, placement, liveAgentsMax } = now
  return {
    facts: [`runner ${runner}, placement ${placement}, at most ${liveAgentsMax} agents`],
    findings: diagnostics.map((what) => ({
      severity: 'warning',
      what,
      remedy: 'Mend it in that file; until then the value in effect is another one.',
    })),
  }
}

/** Whether the definitions that are read here can be used. */
export function definitions(places: Places): CheckReport {
  const project = nearestProjectDirectory(places.cwd)
  const trusted = reading(places).trustedProjects
  const projectTrusted = project !== undefined && trusted[real(dirname(dirname(project)))] === true
  const roster = readRoster({ ...places, projectTrusted })
  const untrusted = roster.directories.filter(({ state }) => state === 'untrusted')
  const isOfUntrusted = (path: string) => untrusted.some((each) => each.path === path)
  const found = roster.diagnostics
    .filter(({ path }) => !isOfUntrusted(path))
    .map(
      ({ severity, path, line, message }): Finding => ({
        severity,
        what: `${path}${line === undefined ? '' : `:${line}`}: ${message}`,
        remedy:
          severity === 'error'
            ? 'Mend that line: until then the definition cannot be used.'
            : 'Mend that line; what it says is passed over.',
      }),
    )
  const unavailable = roster.definitions.flatMap(({ name, path, unavailable: why }): Finding[] =>
    why === undefined
      ? []
      : [
          {
            severity: 'warning',
            what: `definition ${name} cannot be used: ${why}`,
            remedy: `Mend or remove ${path}`,
          },
        ],
  )
  return {
    facts: [
      counted(roster.definitions.length, 'definition'),
      ...untrusted.map(
        ({ path }) => `${path} is not read: whether that project is trusted is not in drover.json`,
      ),
    ],
    findings: bounded([...found, ...unavailable]),
    blind: untrusted.length > 0 ? ['whether a Pi 1.x trusts this project: it alone knows'] : [],
  }
}

const reading = (places: Places): SettingsReading =>
  readSettings({ ...places, projectTrusted: false })
