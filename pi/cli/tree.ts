import type { Row } from '../../actors/index.ts'
import type { OwnerView } from './agents.ts'

/** An agent, and those below it. */
export interface Branch {
  readonly row: Row
  readonly below: readonly Branch[]
}

/** A session that is nobody's agent, as far as can be seen, and all below it. */
export interface Top {
  readonly owner: OwnerView
  readonly session: string
  readonly agents: readonly Branch[]
}

/**
 * All agents below the sessions at the top of their trees, by label. Every agent is in it once: one whose parents
 * lead round in a circle stands below its own owner.
 */
export function forest(owners: readonly OwnerView[]): readonly Top[] {
  const filled = owners.filter(({ rows }) => rows.length > 0)
  const agents = new Set(filled.flatMap(({ rows }) => rows.map(sessionOf)))
  const taken = new Set<OwnerView>()
  const branches = (owner: OwnerView): readonly Branch[] => {
    taken.add(owner)
    return byLabel(owner.rows).map((row) => {
      const next = filled.find((each) => each.session === sessionOf(row) && !taken.has(each))
      return { row, below: next === undefined ? [] : branches(next) }
    })
  }
  const top = (owner: OwnerView): Top => ({
    owner,
    session: owner.session ?? '',
    agents: branches(owner),
  })
  const tops = filled
    .filter(({ session }) => session === undefined || !agents.has(session))
    .map(top)
  const rings = filled.flatMap((owner) => (taken.has(owner) ? [] : [top(owner)]))
  return [...tops, ...rings]
}

/** Every branch with how deep it lies, parents before children. */
export function flat(
  branches: readonly Branch[],
  depth = 0,
  parent?: Row,
): readonly { readonly row: Row; readonly depth: number; readonly parent?: Row }[] {
  return branches.flatMap(({ row, below }) => [
    { row, depth, ...(parent && { parent }) },
    ...flat(below, depth + 1, row),
  ])
}

/** Labels of an agent and of all below it, children before parents: the order in which they are closed. */
export function closingOrder({ row, below }: Branch): readonly string[] {
  return [...below.flatMap(closingOrder), row.agent]
}

const sessionOf = ({ facts }: Row): string => facts.generation.identity.session

const byLabel = (rows: readonly Row[]): Row[] =>
  [...rows].sort((a, b) => (a.agent < b.agent ? -1 : a.agent > b.agent ? 1 : 0))
