import type { RunnerSetting } from '../../settings.ts'
import type { HerdrHere } from '../compose.ts'
import type { CheckReport } from './finding.ts'

/** Whether the herdr this runs in, if it does, can be used. */
export function herdr(here: HerdrHere, runner: RunnerSetting): CheckReport {
  switch (here.state) {
    case 'reached':
      return {
        facts: [`herdr ${here.version}, protocol ${here.protocol}, at ${here.socketPath}`],
        findings: [],
      }
    case 'outside':
      return {
        facts: ['not inside herdr'],
        findings:
          runner === 'herdr'
            ? [
                {
                  severity: 'warning',
                  what: 'the setting "runner" is "herdr", and this terminal is no pane of herdr: a Pi started here cannot delegate',
                  remedy: 'Start Pi in a pane of herdr, or set "runner" to "auto" in drover.json.',
                },
              ]
            : [],
        blind: ['herdr: only the one this command runs in can be asked'],
      }
    case 'broken':
      return {
        facts: [],
        findings: [
          {
            severity: 'error',
            what: `the environment says that this is a pane of herdr, and is not whole: ${here.why}`,
            remedy: 'Open a new pane of herdr, or unset HERDR_ENV.',
          },
        ],
      }
    case 'unreachable':
      return {
        facts: [],
        findings: [
          {
            severity: 'error',
            what: `herdr cannot be reached at ${here.socketPath}: ${here.why}`,
            remedy:
              'Start herdr again and open a new pane. Until then agents in panes are seen by their processes alone, and new ones are refused.',
          },
        ],
      }
  }
}
