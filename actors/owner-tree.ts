/** One durable ownership edge, as `generation.json` states it. */
export interface OwnershipEdge {
  readonly generation: string
  /** Session that delegated. */
  readonly owner: string
  /** Session that works. */
  readonly session: string
}

export interface TreeNode<E extends OwnershipEdge = OwnershipEdge> {
  readonly edge: E
  readonly children: readonly TreeNode<E>[]
}

/** Evidence that contradicts itself: nothing is planned over it. */
export interface TreeRefusal {
  readonly refusal: 'duplicate' | 'cycle'
  /** Sessions it is about. */
  readonly sessions: readonly string[]
}

/**
 * The agents below a session, from durable ownership edges and not from what is on a screen.
 *
 * Two living generations of one session, or edges that lead back to where they came from, are refused.
 * Costs: linear in the number of edges.
 */
export function ownerTree<E extends OwnershipEdge>(
  root: string,
  edges: readonly E[],
): readonly TreeNode<E>[] | TreeRefusal {
  const sessions = new Set<string>()
  const byOwner = new Map<string, E[]>()
  for (const edge of edges) {
    if (sessions.has(edge.session)) return { refusal: 'duplicate', sessions: [edge.session] }
    sessions.add(edge.session)
    const siblings = byOwner.get(edge.owner)
    if (siblings) siblings.push(edge)
    else byOwner.set(edge.owner, [edge])
  }
  // Each session has one owner, so a cycle exists only where the root itself is owned by its own tree, or where
  // a ring of edges hangs on nothing. The first would be walked for ever; the second is nobody's.
  const reached = new Set<string>([root])
  const top: MutableNode<E>[] = []
  const open: { readonly session: string; readonly children: MutableNode<E>[] }[] = [
    { session: root, children: top },
  ]
  for (let at = open.pop(); at !== undefined; at = open.pop())
    for (const edge of byOwner.get(at.session) ?? []) {
      if (reached.has(edge.session))
        return { refusal: 'cycle', sessions: [edge.owner, edge.session] }
      reached.add(edge.session)
      const node = { edge, children: [] }
      at.children.push(node)
      open.push({ session: edge.session, children: node.children })
    }
  return top
}

interface MutableNode<E extends OwnershipEdge> {
  readonly edge: E
  readonly children: MutableNode<E>[]
}

/** The order in which a tree settles: every agent after all agents below it. */
export function settlingOrder<E extends OwnershipEdge>(
  trees: readonly TreeNode<E>[],
): readonly E[] {
  const order: E[] = []
  const open: TreeNode<E>[] = [...trees].reverse()
  // Parents first from right to left, then turned around: no recursion, so depth costs no stack.
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    order.push(node.edge)
    open.push(...node.children)
  }
  return order.reverse()
}
