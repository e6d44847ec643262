/** One durable ownership edge, as `generation.json` states it. */
export interface OwnershipEdge {
  /** Session that delegated. */
  readonly owner: string
  /** Session that works. */
  readonly session: string
}

/** Evidence that contradicts itself: nothing is planned over it. */
export interface TreeRefusal {
  readonly refusal: 'duplicate' | 'cycle'
  /** Sessions it is about. */
  readonly sessions: readonly string[]
}

/**
 * What is wrong with the edges below a session, if anything: two living generations of one session, or edges that
 * lead back to where they came from.
 *
 * Costs: linear in the number of edges.
 */
export function contradiction(
  root: string,
  edges: readonly OwnershipEdge[],
): TreeRefusal | undefined {
  const owners = new Map<string, string>()
  for (const { owner, session } of edges) {
    if (owners.has(session)) return { refusal: 'duplicate', sessions: [session] }
    owners.set(session, owner)
  }
  // Each session has one owner, so a cycle exists only where the root itself is owned by its own tree, or where
  // a ring of edges hangs on nothing. The first would be walked for ever; the second is nobody's.
  const direct = owners.get(root)
  if (direct === undefined) return undefined
  const passed = new Set<string>()
  for (let at: string | undefined = direct; at !== undefined && !passed.has(at); ) {
    if (at === root) return { refusal: 'cycle', sessions: [direct, root] }
    passed.add(at)
    at = owners.get(at)
  }
  return undefined
}
