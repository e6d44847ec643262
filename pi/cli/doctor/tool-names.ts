import { dirname } from 'node:path'
import { packageDirectory } from '../../launch.ts'
import { agentToolName, askOwnerToolName } from '../../tool-names.ts'
import { type Extension, extensionsIn } from './extensions.ts'
import { bounded, type CheckReport, counted, type Finding } from './finding.ts'
import { registersTool } from './source-text.ts'

const ours = [agentToolName, askOwnerToolName]

/** Whether other extensions bring tools that are called like ours: Pi can use one of them only. */
export function toolNames(places: {
  readonly agentDirectory: string
  readonly cwd: string
}): CheckReport {
  const { extensions, unseen } = extensionsIn(places)
  const drovers = extensions.filter(({ package: name }) => name === 'pi-drover')
  const others = extensions.filter(
    ({ package: name, root }) => name !== 'pi-drover' && root !== packageDirectory,
  )
  const clashes = others.flatMap((extension) => clashesOf(extension))
  const copies = [...new Set(drovers.flatMap(({ root }) => root ?? []))]
  return {
    facts: [
      `${counted(extensions.length, 'extension')} in settings and extension directories${drovers.length === 0 ? ', Drover not among them' : ''}`,
    ],
    findings: bounded([...clashes, ...(copies.length > 1 ? [twice(copies)] : [])]),
    blind: [
      'extensions named on a command line (-e), and tools whose names are put together while they run',
      ...unseen,
    ],
  }
}

function clashesOf({ entry, files, from }: Extension): Finding[] {
  return ours
    .filter((name) => registersTool(files, name))
    .map((name) => ({
      severity: 'error',
      what: `a second extension has a tool called ${name}: ${entry} (by ${from})`,
      remedy: `Take one of the two out of ${from.endsWith('.json') ? from : dirname(entry)}: of two tools of one name Pi uses one.`,
    }))
}

function twice(copies: readonly string[]): Finding {
  return {
    severity: 'error',
    what: `Drover is installed ${copies.length} times: ${copies.join(', ')}`,
    remedy: 'Keep one of them in the settings of Pi: pi list, pi remove.',
  }
}
