export { abandonedStart } from './abandoned-start.ts'
export { AgentBench, FakeOwnAgents } from './agent-bench.ts'
export { FakeAgentHost } from './agent-host.ts'
export { AgentProgram, type AgentWorld } from './agent-program.ts'
export { ownShare, runBeside } from './beside.ts'
export { ClockFace, VirtualClock } from './clock.ts'
export { asks, assertNothingIsLeft, refusal } from './expect.ts'
export {
  cannotStart,
  completes,
  dies,
  type Fate,
  fails,
  hangs,
  longText,
  neverReady,
} from './fates.ts'
export { sequentialIds } from './ids.ts'
export { Machine, type SentSignal, type SpawnOptions, VirtualProcess } from './machine.ts'
export { FakeOwnerHost, type SendFate } from './owner-host.ts'
export { type OwnerHostHarness, ownerHostConformance } from './owner-host-conformance.ts'
export * from './records.ts'
export { FakeRunner, type Stage, shellCommand } from './runner.ts'
export { type Conduct, type RunnerHarness, runnerConformance } from './runner-conformance.ts'
export { Scene, type SceneEvent, sceneFates } from './scene.ts'
export { seed } from './seed.ts'
export { FakeSessionFile } from './session-file.ts'
export { fakeSession } from './session-store.ts'
export { fates, Simulation, type Step } from './simulation.ts'
export { Lead, type OrderTwist, type OwnerTwist, World, world } from './world.ts'
