import { z } from 'zod'
import { focusTab, focusWorkspace } from './fake-focus.ts'
import { agentInfo, layoutInfo, paneInfo, tabInfo, workspaceInfo } from './fake-info.ts'
import { environment, flag, free, loop, type Methods, maybe, nothing, text } from './fake-method.ts'
import { createTab, createWorkspace } from './fake-open.ts'
import { closeTab, closeWorkspace } from './fake-shut.ts'
import type { Stage } from './fake-stage.ts'
import type { Pane, Tab, World } from './fake-world.ts'

const birth = {
  cwd: maybe(text),
  focus: maybe(flag),
  label: maybe(text),
  env: maybe(environment),
}
const workspaceTarget = z.object({ workspace_id: text })
const tabTarget = z.object({ tab_id: text })

/** Workspaces, tabs, and the session as a whole. */
export const spaceMethods: Methods = {
  ping: free(nothing, ({ setting }) => ({
    type: 'pong',
    ...versionOf(setting),
    ...(setting.withoutLayout && { server: 'tuios' }),
    capabilities: { live_handoff: true, detached_server_daemon: true },
  })),
  'session.snapshot': loop(nothing, (stage) => ({
    type: 'session_snapshot',
    snapshot: snapshot(stage),
  })),
  'workspace.list': loop(nothing, ({ world }) => ({
    type: 'workspace_list',
    workspaces: world.workspaces.map((each) => workspaceInfo(world, each)),
  })),
  'workspace.get': loop(workspaceTarget, ({ world }, { workspace_id }) =>
    workspaceResult(world, workspace_id),
  ),
  'workspace.focus': loop(workspaceTarget, (stage, { workspace_id }) => {
    focusWorkspace(stage, stage.world.workspace(workspace_id))
    return workspaceResult(stage.world, workspace_id)
  }),
  'workspace.create': loop(z.object(birth), (stage, params) => {
    const { world } = stage
    const workspace = createWorkspace(stage, params)
    const tab = workspace.tabs[0] as Tab
    return {
      type: 'workspace_created',
      workspace: workspaceInfo(world, workspace),
      tab: tabInfo(world, tab),
      root_pane: paneInfo(world, tab.focused as Pane),
    }
  }),
  'workspace.rename': loop(
    z.object({ workspace_id: text, label: text }),
    (stage, { workspace_id, label }) => {
      stage.world.workspace(workspace_id).label = label
      stage.emit('workspace_renamed', { workspace_id, label })
      return workspaceResult(stage.world, workspace_id)
    },
  ),
  'workspace.close': loop(workspaceTarget, async (stage, { workspace_id }) => {
    await closeWorkspace(stage, stage.world.workspace(workspace_id))
    return { type: 'ok' }
  }),
  'tab.list': loop(z.object({ workspace_id: maybe(text) }), ({ world }, { workspace_id }) => ({
    type: 'tab_list',
    tabs: (workspace_id === undefined ? world.tabs : world.workspace(workspace_id).tabs).map(
      (tab) => tabInfo(world, tab),
    ),
  })),
  'tab.get': loop(tabTarget, ({ world }, { tab_id }) => tabResult(world, tab_id)),
  'tab.create': loop(
    z.object({ ...birth, workspace_id: maybe(text) }),
    (stage, { workspace_id, ...rest }) => {
      const { world } = stage
      const tab = createTab(stage, world.workspace(workspace_id), rest)
      return {
        type: 'tab_created',
        tab: tabInfo(world, tab),
        root_pane: paneInfo(world, tab.focused as Pane),
      }
    },
  ),
  'tab.rename': loop(z.object({ tab_id: text, label: text }), (stage, { tab_id, label }) => {
    const tab = stage.world.tab(tab_id)
    tab.label = label
    stage.emit('tab_renamed', { tab_id, workspace_id: tab.workspace.id, label })
    return tabResult(stage.world, tab_id)
  }),
  'tab.focus': loop(tabTarget, (stage, { tab_id }) => {
    focusTab(stage, stage.world.tab(tab_id))
    return tabResult(stage.world, tab_id)
  }),
  'tab.close': loop(tabTarget, async (stage, { tab_id }) => {
    await closeTab(stage, stage.world.tab(tab_id))
    return { type: 'ok' }
  }),
  'notification.show': loop(
    z.object({
      title: text,
      body: maybe(text),
      position: maybe(text),
      sound: maybe(z.enum(['none', 'done', 'request'])),
    }),
    () => ({ type: 'notification_show', shown: false, reason: 'no_foreground_client' }),
  ),
}

/** The panes that are listed; a new one may come late. */
export function listedPanes({ world, faults }: Stage): readonly Pane[] {
  const now = performance.now()
  return world.panes.filter(({ terminal }) => now - terminal.startedAt >= faults.latePanes)
}

function snapshot(stage: Stage): object {
  const { world, setting } = stage
  const { active, focused } = world
  return {
    ...versionOf(setting),
    ...(active !== undefined && { focused_workspace_id: active.id }),
    ...(active?.active !== undefined && { focused_tab_id: active.active.id }),
    ...(focused !== undefined && { focused_pane_id: focused.id }),
    workspaces: world.workspaces.map((each) => workspaceInfo(world, each)),
    tabs: world.tabs.map((tab) => tabInfo(world, tab)),
    panes: listedPanes(stage).map((pane) => paneInfo(world, pane)),
    layouts: world.tabs.map((tab) => layoutInfo(world, tab)),
    agents: listedPanes(stage)
      .filter(({ agent }) => agent.label !== undefined)
      .map((pane) => agentInfo(world, pane)),
  }
}

function versionOf({ profile, withoutLayout }: World['setting']): object {
  if (withoutLayout) return { version: '0.9.3+tuios', protocol: 22 }
  return profile === '0.8' ? { version: '0.8.0', protocol: 20 } : { version: '0.9.2', protocol: 22 }
}

const workspaceResult = (world: World, id: string): object => ({
  type: 'workspace_info',
  workspace: workspaceInfo(world, world.workspace(id)),
})

const tabResult = (world: World, id: string): object => ({
  type: 'tab_info',
  tab: tabInfo(world, world.tab(id)),
})
