import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { FakeHerdr } from '../herdr/testing/index.ts'

/**
 * What a process in a pane of herdr is told of it; nothing where tests run without one.
 *
 * @param lane `0.8`, `0.9.2` or `no-layouts`: a stand-in of that kind is started, with a pane in which the tests run.
 * `server`: the one in whose pane they run already.
 */
export async function herdrOfLane(lane: string | undefined): Promise<NodeJS.ProcessEnv> {
  if (lane === undefined) return {}
  if (lane === 'server')
    return Object.fromEntries(
      Object.entries(process.env).filter(([name]) => name.startsWith('HERDR_')),
    )
  const directory = mkdtempSync(join(tmpdir(), 'drover-herdr-'))
  const { PATH, TMPDIR, LANG } = process.env
  const herdr = await FakeHerdr.start({
    directory,
    env: { PATH, TMPDIR, LANG, HOME: directory, PS1: '$ ' },
    ...(lane === 'no-layouts'
      ? { profile: '0.9.2', withoutLayout: true }
      : { profile: lane === '0.9.2' ? '0.9.2' : '0.8' }),
  })
  after(async () => {
    await herdr.stop()
    rmSync(directory, { recursive: true, force: true })
  })
  return herdr.environment(herdr.adopt(process.pid))
}
