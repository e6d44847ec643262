import { basename } from 'node:path'
import {
  checkEnvironment,
  findProgram,
  paneEnvironment,
  type Variables,
} from './fake-environment.ts'
import { focusPane } from './fake-focus.ts'
import { fitPanes, paneInfo, tabInfo, workspaceInfo } from './fake-info.ts'
import { type Direction, Refusal } from './fake-records.ts'
import { closeTab, tellLayout, watchExit } from './fake-shut.ts'
import type { Stage } from './fake-stage.ts'
import { Terminal } from './fake-terminal.ts'
import { divided, isSplit, leaves, type Split, type Tree } from './fake-tree.ts'
import { Pane, type Tab, type Workspace } from './fake-world.ts'

export interface Birth {
  readonly cwd?: string | undefined
  readonly env?: Variables | undefined
  readonly label?: string | undefined
  readonly focus?: boolean | undefined
}

/** One pane of a layout that is asked for. */
export interface PlannedPane {
  readonly label?: string | undefined
  readonly cwd?: string | undefined
  readonly command?: readonly string[] | undefined
  readonly env?: Variables | undefined
}

const layoutPanesMax = 24

export function createWorkspace(stage: Stage, birth: Birth): Workspace {
  const { world, setting } = stage
  checkEnvironment(setting, birth.env ?? {})
  const cwd = birth.cwd ?? setting.cwd
  const isFirst = world.active === undefined
  const workspace = world.newWorkspace(birth.label ?? basename(cwd))
  const tab = workspace.newTab(undefined)
  const pane = openShell(stage, tab, { ...birth, cwd })
  stage.emit('workspace_created', { workspace: workspaceInfo(world, workspace) })
  tellTab(stage, tab)
  if (isFirst || birth.focus === true) focusPane(stage, pane)
  return workspace
}

export function createTab(stage: Stage, workspace: Workspace, birth: Birth): Tab {
  checkEnvironment(stage.setting, birth.env ?? {})
  const cwd = birth.cwd ?? workspace.active?.focused?.cwd ?? stage.setting.cwd
  const tab = workspace.newTab(birth.label)
  const pane = openShell(stage, tab, { env: birth.env, cwd })
  tellTab(stage, tab)
  if (birth.focus === true) focusPane(stage, pane)
  return tab
}

export function splitPane(
  stage: Stage,
  target: Pane,
  direction: Direction,
  ratio: number,
  birth: Birth,
): Pane {
  checkEnvironment(stage.setting, birth.env ?? {})
  if (!(ratio > 0 && ratio < 1)) throw new Refusal('invalid_ratio', `invalid ratio: ${ratio}`)
  const { tab } = target
  const pane = openShell(stage, tab, { cwd: birth.cwd ?? target.cwd, env: birth.env }, (added) =>
    tab.tree === undefined ? added : divided(tab.tree, target, added, direction, ratio),
  )
  stage.emit('pane_created', { pane: paneInfo(stage.world, pane) })
  tellLayout(stage, tab)
  if (birth.focus === true) focusPane(stage, pane)
  return pane
}

/** A pane in which a process the server did not start is the shell; alone in a new tab. */
export function adoptPane(stage: Stage, pid: number | undefined, workspace?: Workspace): Pane {
  const { world, setting } = stage
  const isFirst = world.active === undefined
  const home = workspace ?? world.newWorkspace(basename(setting.cwd))
  const tab = home.newTab(undefined)
  const terminal = Terminal.adopt(pid, setting.cols, setting.rows)
  const pane = new Pane(home.newPaneId(), tab, terminal, setting.cwd)
  stage.adopted.add(pane.id)
  settle(stage, pane, pane)
  if (workspace === undefined)
    stage.emit('workspace_created', { workspace: workspaceInfo(world, home) })
  tellTab(stage, tab)
  if (isFirst) focusPane(stage, pane)
  return pane
}

/** Builds a new tab of exact commands; it takes the place of `replaced`, if there is one. */
export async function applyLayout(
  stage: Stage,
  place: { readonly workspace: Workspace; readonly replaced?: Tab | undefined },
  root: Tree<PlannedPane>,
  birth: Birth,
): Promise<Tab> {
  const { workspace, replaced } = place
  const planned = checkLayout(stage, root)
  const takesFocus =
    birth.focus === true || (replaced !== undefined && stage.world.isInView(replaced))
  const tab = workspace.newTab(birth.label ?? replaced?.label)
  const panes = new Map(planned.map((plan) => [plan, openPlanned(stage, tab, plan)] as const))
  tab.tree = grown(root, (plan) => panes.get(plan) as Pane)
  tab.focused = tab.panes[0]
  fitPanes(stage.world, tab)
  if (replaced !== undefined) await closeTab(stage, replaced)
  tellTab(stage, tab)
  if (takesFocus && tab.focused !== undefined) focusPane(stage, tab.focused)
  return tab
}

function checkLayout(stage: Stage, root: Tree<PlannedPane>): readonly PlannedPane[] {
  const planned = leaves(root)
  if (planned.length > layoutPanesMax)
    throw new Refusal('invalid_layout', `a layout has at most ${layoutPanesMax} panes`)
  for (const { env = {}, command = [], cwd } of planned) {
    checkEnvironment(stage.setting, env)
    const path = env['PATH'] ?? stage.setting.env['PATH'] ?? ''
    if (command[0] !== undefined) findProgram(command[0], path, cwd ?? stage.setting.cwd)
  }
  return planned
}

function openPlanned(stage: Stage, tab: Tab, plan: PlannedPane): Pane {
  const { workspace } = tab
  const { setting } = stage
  const cwd = plan.cwd ?? workspace.active?.focused?.cwd ?? setting.cwd
  const pane = open(stage, tab, { cwd, env: plan.env, label: plan.label }, plan.command)
  watchExit(stage, pane)
  return pane
}

function openShell(
  stage: Stage,
  tab: Tab,
  birth: Birth & { readonly cwd: string },
  grow: (pane: Pane) => Tree<Pane> = (pane) => pane,
): Pane {
  const pane = open(stage, tab, { cwd: birth.cwd, env: birth.env })
  settle(stage, pane, grow(pane))
  return pane
}

function settle(stage: Stage, pane: Pane, tree: Tree<Pane>): void {
  pane.tab.tree = tree
  pane.tab.focused ??= pane
  fitPanes(stage.world, pane.tab)
  watchExit(stage, pane)
}

function open(
  stage: Stage,
  tab: Tab,
  birth: Birth & { readonly cwd: string },
  command?: readonly string[],
): Pane {
  const { setting } = stage
  const unborn = Terminal.adopt(undefined, setting.cols, setting.rows)
  const pane = new Pane(tab.workspace.newPaneId(), tab, unborn, birth.cwd)
  const env = paneEnvironment(setting, pane, birth.env ?? {})
  const { cols, rows } = setting
  pane.label = birth.label
  pane.argv = command?.length === 0 ? undefined : command
  const argv = pane.argv ?? [setting.shell]
  pane.terminal = Terminal.start({ argv, cwd: birth.cwd, env, cols, rows })
  return pane
}

function grown<From extends object, To extends object>(
  tree: Tree<From>,
  grow: (leaf: From) => To,
): Tree<To> {
  if (!isSplit(tree)) return grow(tree)
  const { direction, ratio } = tree
  const split: Split<To> = {
    isSplit: true,
    direction,
    ratio,
    first: grown(tree.first, grow),
    second: grown(tree.second, grow),
  }
  return split
}

function tellTab(stage: Stage, tab: Tab): void {
  const { world } = stage
  stage.emit('tab_created', { tab: tabInfo(world, tab) })
  for (const pane of tab.panes) stage.emit('pane_created', { pane: paneInfo(world, pane) })
  tellLayout(stage, tab)
}
