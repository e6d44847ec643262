/** The front door of `herdr/`: other folders import from here only. */

export { HerdrClient } from './client.ts'
export { type HerdrEnvironment, herdrEnvironment } from './environment.ts'
export { HerdrError, isNotFound, isUnsupported, type Outcome, type OwnErrorCode } from './errors.ts'
export type { Inventory } from './inventory.ts'
export { PaneStatus } from './pane-status.ts'
export {
  type Method,
  type Methods,
  type Params,
  protocolMin,
  protocolTested,
  type Result,
  type Subscription,
} from './protocol.ts'
export type {
  AgentInfo,
  AgentSession,
  AppliedLayout,
  ForegroundProcess,
  HerdrEvent,
  LayoutNode,
  PaneInfo,
  PaneLayout,
  Pong,
  ProcessInfo,
  ReadInfo,
  Rect,
  Snapshot,
  TabInfo,
  WorkspaceInfo,
} from './records.ts'
export { HerdrRunner } from './runner.ts'
export { PaneWatch, type Sight, type SightListener } from './watch.ts'
