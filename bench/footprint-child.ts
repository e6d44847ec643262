import { setTimeout as pause } from 'node:timers/promises'

/** `bare`: Node as the benchmark starts it. `loaded`: with our code. `open`: with every generation of a directory open. */
export type Footprint = 'bare' | 'loaded' | 'open'

const held: unknown[] = []

const [footprint, owner = ''] = process.argv.slice(2)
if (footprint !== 'bare') await load(footprint === 'open' ? owner : undefined)
await settle()
process.send?.(process.memoryUsage().rss)
process.disconnect?.()

/** Imports late: a bare process must not have loaded what it is compared with. */
async function load(owner: string | undefined): Promise<void> {
  const mailboxes = await import('../mailbox/index.ts')
  const { Actor } = await import('../actors/actor.ts')
  const { AgentMailbox } = await import('../actors/agent-mailbox.ts')
  if (owner === undefined) return
  const { diskFs, generationPaths, ownNames, Outbox, readGeneration, systemClock, systemIds } =
    mailboxes
  for (const name of ownNames(diskFs, owner)) {
    const paths = generationPaths(owner, name)
    const generation = readGeneration(diskFs, paths)
    if (typeof generation !== 'object') throw new Error(`${name} is ${generation}`)
    const outbox = await Outbox.open({
      fs: diskFs,
      directory: paths.owner,
      drafts: paths.ownerDrafts,
    })
    const mailbox = new AgentMailbox(diskFs, systemIds, paths, generation, 'quarantine')
    const handle = () => mailbox.look()
    const actor = new Actor<'look', unknown>({ name, clock: systemClock, handle })
    await actor.ask('look', 1_000)
    held.push(
      outbox,
      actor,
      diskFs.watch(paths.agent, () => actor.tell('look')),
    )
  }
}

/** Compiled code and garbage of the start are not what stays. */
async function settle(): Promise<void> {
  for (let i = 0; i < 3; i++) {
    globalThis.gc?.()
    await pause(50)
  }
}
