import type { Direction } from './fake-records.ts'

/** How a tab is divided; leaves are whatever lives there. */
export type Tree<Leaf> = Leaf | Split<Leaf>

export interface Split<Leaf> {
  readonly isSplit: true
  readonly direction: Direction
  /** The share of the first. */
  readonly ratio: number
  readonly first: Tree<Leaf>
  readonly second: Tree<Leaf>
}

export interface Rect {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

export interface PlacedSplit {
  readonly id: string
  readonly direction: Direction
  readonly ratio: number
  readonly rect: Rect
}

export function isSplit<Leaf extends object>(tree: Tree<Leaf>): tree is Split<Leaf> {
  return 'isSplit' in tree
}

export function leaves<Leaf extends object>(tree: Tree<Leaf>): readonly Leaf[] {
  return isSplit(tree) ? [...leaves(tree.first), ...leaves(tree.second)] : [tree]
}

/** The tree with a leaf divided in two, the new one second. */
export function divided<Leaf extends object>(
  tree: Tree<Leaf>,
  at: Leaf,
  added: Leaf,
  direction: Direction,
  ratio: number,
): Tree<Leaf> {
  if (!isSplit(tree))
    return tree === at ? { isSplit: true, direction, ratio, first: tree, second: added } : tree
  return {
    ...tree,
    first: divided(tree.first, at, added, direction, ratio),
    second: divided(tree.second, at, added, direction, ratio),
  }
}

/** The tree without a leaf; undefined when nothing is left. */
export function without<Leaf extends object>(tree: Tree<Leaf>, gone: Leaf): Tree<Leaf> | undefined {
  if (!isSplit(tree)) return tree === gone ? undefined : tree
  const first = without(tree.first, gone)
  const second = without(tree.second, gone)
  if (first === undefined || second === undefined) return first ?? second
  return { ...tree, first, second }
}

/** Where everything is. */
export function placed<Leaf extends object>(
  tree: Tree<Leaf>,
  rect: Rect,
  path = 'root',
): { readonly leaves: ReadonlyMap<Leaf, Rect>; readonly splits: readonly PlacedSplit[] } {
  if (!isSplit(tree)) return { leaves: new Map([[tree, rect]]), splits: [] }
  const [one, two] = halves(rect, tree.direction, tree.ratio)
  const first = placed(tree.first, one, `${path}.0`)
  const second = placed(tree.second, two, `${path}.1`)
  const { direction, ratio } = tree
  return {
    leaves: new Map([...first.leaves, ...second.leaves]),
    splits: [{ id: path, direction, ratio, rect }, ...first.splits, ...second.splits],
  }
}

function halves(rect: Rect, direction: Direction, ratio: number): readonly [Rect, Rect] {
  const share = (whole: number) => Math.max(1, Math.round(whole * ratio))
  const rest = (whole: number, used: number) => Math.max(1, whole - used)
  if (direction === 'right') {
    const width = share(rect.width)
    return [
      { ...rect, width },
      { ...rect, x: rect.x + width, width: rest(rect.width, width) },
    ]
  }
  const height = share(rect.height)
  return [
    { ...rect, height },
    { ...rect, y: rect.y + height, height: rest(rect.height, height) },
  ]
}
