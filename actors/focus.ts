import { isDeepStrictEqual } from 'node:util'
import { generationPaths, ownerPaths, type RootPaths } from '../mailbox/index.ts'
import type { Runners } from './ports.ts'
import type { AgentFacts, Row } from './row.ts'

/**
 * Shows the agent that was seen, if one of the rows of now is still it, in every part of who and where it is.
 *
 * @throws Error - the runner cannot find or show it
 */
export async function focusAgent(
  { root, runners }: { readonly root: RootPaths; readonly runners: Runners },
  rows: readonly Row[],
  seen: Row,
): Promise<'focused' | 'unsupported' | 'changed'> {
  const wanted = whoAndWhere(seen.facts)
  const now = rows.find(({ facts }) => isDeepStrictEqual(whoAndWhere(facts), wanted))
  if (now === undefined || now.facts.presence === 'lost') return 'changed'
  const { generation, assignment, pane } = now.facts
  const runner = runners.get(generation.runner)
  if (runner === undefined || pane === undefined) return 'unsupported'
  const paths = generationPaths(
    ownerPaths(root, generation.identity.owner).directory,
    generation.identity.generation,
  )
  const placement = assignment.placement ?? { runner: generation.runner, pane }
  return runner.focus({ generation, paths, placement }, pane)
}

function whoAndWhere({ generation, pane }: AgentFacts) {
  return {
    identity: generation.identity,
    pane: pane && [pane.workspace, pane.tab, pane.pane],
  }
}
