import type { Fate } from './fates.ts'
import { type World, world } from './world.ts'

/** A process was started for an agent, and its starter died before it could say where. */
export async function abandonedStart(fate: Fate): Promise<World> {
  const w = world()
  const first = await w.lead()
  const { start } = first.runner
  first.runner.start = async (order) => {
    const placement = await start.call(first.runner, order)
    first.kill()
    return placement
  }
  void first.start(fate).catch(() => {})
  await w.until(() => !first.process.isAlive)
  return w
}
