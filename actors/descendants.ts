import { limits, ownerPaths, type RootPaths } from '../mailbox/index.ts'
import type { Row } from './row.ts'
import { type SurveyPorts, survey } from './survey.ts'

/** An agent below a direct one. */
export interface Descendant {
  readonly row: Row
  /** Label of its owner. */
  readonly parent: string
  readonly isOrphan: boolean
}

/**
 * The agents below these, as their files tell it.
 *
 * @param isTop whether they are looked at from the top of their tree: only from there an orphan is anybody's to close
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
    found.push(...rows.map((row) => ({ row, parent: parent.agent, isOrphan })))
    found.push(...(await descendantsOf(ports, rows, isTop)))
  }
  return found
}

export const byLabel = (rows: readonly Row[]): Row[] =>
  [...rows].sort((a, b) => (a.agent < b.agent ? -1 : 1))
