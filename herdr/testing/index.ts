export { type Fault, Faults } from './fake-faults.ts'
export type { Person } from './fake-person.ts'
export type {
  AgentInfo,
  AgentSession,
  AgentStatus,
  PaneInfo,
  Profile,
  TabInfo,
  WorkspaceInfo,
} from './fake-records.ts'
export { FakeHerdr, type FakeOptions } from './fake-server.ts'
