import type { Methods } from './fake-method.ts'
import { agentMethods } from './fake-methods-agents.ts'
import { eventMethods } from './fake-methods-events.ts'
import { layoutMethods } from './fake-methods-layout.ts'
import { paneMethods } from './fake-methods-panes.ts'
import { reportMethods } from './fake-methods-reports.ts'
import { spaceMethods } from './fake-methods-spaces.ts'

/** Every method that is carried out. */
export const methods: Methods = {
  ...spaceMethods,
  ...paneMethods,
  ...layoutMethods,
  ...agentMethods,
  ...reportMethods,
  ...eventMethods,
}

/** herdr knows these; here they answer `not_implemented`. */
export const unplayed: ReadonlySet<string> = new Set([
  'server.stop',
  'server.live_handoff',
  'server.reload_config',
  'server.agent_manifests',
  'server.reload_agent_manifests',
  'client.window_title.set',
  'client.window_title.clear',
  'workspace.move',
  'workspace.move_block',
  'worktree.list',
  'worktree.create',
  'worktree.open',
  'worktree.remove',
  'tab.move',
  'agent.explain',
  'agent.view.set',
  'agent.view.clear',
  'pane.swap',
  'pane.zoom',
  'pane.neighbor',
  'pane.edges',
  'pane.focus_direction',
  'pane.resize',
  'pane.input.set',
  'pane.graphics.set',
  'pane.graphics.clear',
  'pane.graphics.info',
  'layout.set_split_ratio',
  'popup.close',
  'integration.install',
  'integration.uninstall',
  'plugin.link',
  'plugin.list',
  'plugin.unlink',
  'plugin.enable',
  'plugin.disable',
  'plugin.action.list',
  'plugin.action.invoke',
  'plugin.log.list',
  'plugin.pane.open',
  'plugin.pane.focus',
  'plugin.pane.close',
])

/** Gone since 0.9.2. */
export const removed: ReadonlySet<string> = new Set([
  'pane.graphics.set',
  'pane.graphics.clear',
  'pane.graphics.info',
])

/** What a server without layouts refuses. */
export const withoutLayout: ReadonlySet<string> = new Set([
  'layout.apply',
  'layout.export',
  'layout.set_split_ratio',
  'pane.move',
  'workspace.report_metadata',
  'agent.rename',
])
