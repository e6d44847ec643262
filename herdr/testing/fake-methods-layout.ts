import { z } from 'zod'
import { layoutDescription } from './fake-info.ts'
import { direction, environment, flag, loop, type Methods, maybe, text } from './fake-method.ts'
import { applyLayout, type PlannedPane } from './fake-open.ts'
import { Refusal } from './fake-records.ts'
import type { Tree } from './fake-tree.ts'

type Node =
  | ({ readonly type: 'pane' } & PlannedPane)
  | {
      readonly type: 'split'
      readonly direction: 'right' | 'down'
      readonly ratio: number
      readonly first: Node
      readonly second: Node
    }

const node: z.ZodType<Node> = z.lazy(() =>
  z.discriminatedUnion('type', [
    z.object({
      type: z.literal('pane'),
      label: maybe(text),
      cwd: maybe(text),
      command: maybe(z.array(text)),
      env: maybe(environment),
    }),
    z.object({
      type: z.literal('split'),
      direction,
      ratio: z.number(),
      first: node,
      second: node,
    }),
  ]),
) as z.ZodType<Node>

const depthMax = 16

/** The one way to run exact arguments in a pane. */
export const layoutMethods: Methods = {
  'layout.apply': loop(
    z.object({
      workspace_id: maybe(text),
      tab_id: maybe(text),
      tab_label: maybe(text),
      focus: maybe(flag),
      root: node,
    }),
    async (stage, { workspace_id, tab_id, tab_label, focus, root }) => {
      if (workspace_id !== undefined && tab_id !== undefined)
        throw new Refusal('invalid_target', 'workspace_id or tab_id, not both')
      const replaced = tab_id === undefined ? undefined : stage.world.tab(tab_id)
      const workspace = replaced?.workspace ?? stage.world.workspace(workspace_id)
      const tab = await applyLayout(stage, { workspace, replaced }, planned(root, 1), {
        label: tab_label,
        focus,
      })
      return { type: 'layout_apply', layout: layoutDescription(tab) }
    },
  ),
}

function planned(root: Node, depth: number): Tree<PlannedPane> {
  if (depth > depthMax) throw new Refusal('invalid_layout', `deeper than ${depthMax}`)
  if (root.type === 'pane') {
    const { label, cwd, command, env } = root
    return { label, cwd, command, env }
  }
  const { direction: where, ratio } = root
  if (!(ratio > 0 && ratio < 1)) throw new Refusal('invalid_ratio', `invalid ratio: ${ratio}`)
  return {
    isSplit: true,
    direction: where,
    ratio,
    first: planned(root.first, depth + 1),
    second: planned(root.second, depth + 1),
  }
}
