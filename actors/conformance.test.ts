import { generationPaths } from '../mailbox/index.ts'
import type { AgentPlace } from './index.ts'
import {
  aGeneration,
  anIdentity,
  type Conduct,
  cannotStart,
  FakeOwnerHost,
  FakeRunner,
  type Fate,
  hangs,
  neverReady,
  type OwnerHostHarness,
  ownerHostConformance,
  type RunnerHarness,
  runnerConformance,
  shellCommand,
  World,
} from './testing/index.ts'

const conducts: Record<Conduct, Fate> = {
  waits: neverReady(),
  chatty: neverReady(Array.from({ length: 100 }, (_, n) => `${n} ${'x'.repeat(400)}`)),
  'ignores-term': neverReady([], { ignoresTerm: true }),
  'with-commands': hangs({ start: 'never-ready', commands: 2 }),
  'cannot-start': cannotStart('there is no such command'),
}

runnerConformance('fake', async (): Promise<RunnerHarness<Fate>> => {
  const world = new World()
  const { machine } = world
  const runner = new FakeRunner(world, machine.spawn())
  let started = 0
  return {
    runner,
    command: shellCommand,
    order(conduct) {
      const generation = aGeneration(`agent-${++started}`, {
        identity: anIdentity(`agent-${started}`),
      })
      const paths = generationPaths('/agent', generation.identity.generation)
      return { generation, paths, launch: conducts[conduct] }
    },
    kill: ({ placement }: AgentPlace) => machine.process(placement.process?.pid ?? 0)?.end(),
    run: (promise) => world.run(promise),
    until: (isTrue) => world.until(isTrue),
    close: async () => machine.reboot(),
  }
})

ownerHostConformance('fake', async (): Promise<OwnerHostHarness> => {
  const world = new World()
  const process = world.machine.spawn()
  const host = new FakeOwnerHost(process, world.session('lead'))
  host.fates.push('by-hand', 'by-hand')
  return {
    host,
    begin: () => host.begin(),
    persist: async () => host.persist(),
    end: async () => host.end(),
    reopened: () => new FakeOwnerHost(world.machine.spawn(), world.session('lead')),
    until: (isTrue) => world.until(isTrue),
    close: async () => process.end(),
  }
})
