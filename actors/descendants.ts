import { limits, ownerPaths, type RootPaths } from '../mailbox/index.ts'
import { orphanActions, type Row } from './row.ts'
import { type SurveyPorts, survey } from './survey.ts'

/** An agent below a direct one. Its row offers what may be done with it from here. */
export interface Descendant {
  readonly row: Row
  /** Label of its owner. */
  readonly parent: string
  readonly isOrphan: boolean
}

/**
 * The agents below these, as their files tell it.
 *
 * @param isTop whether whoever looks acts for the top of their tree: only from there an orphan is anybody's to close
 */
export async function descendantsOf(
  ports: SurveyPorts & { readonly root: RootPaths },
  parents: readonly Row[],
  isTop: boolean,
): Promise<readonly Descendant[]> {
  const found: Descendant[] = []
  for (const parent of parents) {
    const { identity, depth } = parent.facts.generation
    if (depth >= limits.treeDepthMax) continue
    const rows = byLabel(await survey(ports, ownerPaths(ports.root, identity.session)))
    const isOrphan = isTop && parent.state === 'lost'
    for (const row of rows) {
      const actions = isOrphan ? orphanActions(row.facts) : []
      found.push({ row: { ...row, actions }, parent: parent.agent, isOrphan })
    }
    found.push(...(await descendantsOf(ports, rows, isTop)))
  }
  return found
}

export const byLabel = (rows: readonly Row[]): Row[] =>
  [...rows].sort((a, b) => (a.agent < b.agent ? -1 : 1))
