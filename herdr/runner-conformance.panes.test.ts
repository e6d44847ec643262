import { join } from 'node:path'
import type { AgentPlace, AgentRunner, Launch, StartOrder } from '../actors/index.ts'
import { type Conduct, type RunnerHarness, runnerConformance } from '../actors/testing/index.ts'
import { type BenchOptions, RunnerBench, until } from './testing/index.ts'

/** What the process of an agent does, as a program. */
const programs: Readonly<Record<Conduct, string>> = {
  waits: '',
  chatty: 'for (let i = 0; i < 2000; i++) console.error(i + " 🐑".repeat(60))',
  'ignores-term': 'process.on("SIGTERM", () => {})',
  'with-commands':
    'require("child_process").spawn("sleep", ["999"], { detached: true, stdio: "ignore" })',
  'cannot-start': '',
}

const standIns: Readonly<Record<string, BenchOptions>> = {
  'herdr on 0.8': { profile: '0.8' },
  'herdr on 0.9.2': { profile: '0.9.2' },
  'herdr on a server without layouts': { profile: '0.9.2', withoutLayout: true },
}

if (process.env['DROVER_TEST_HERDR'] === 'server')
  conforms('herdr on the server these tests run in', async () => RunnerBench.inOwnPane())
else
  for (const [name, options] of Object.entries(standIns))
    conforms(name, () => RunnerBench.of(options))

function conforms(name: string, open: () => Promise<RunnerBench>): void {
  runnerConformance(name, async (): Promise<RunnerHarness<Launch>> => {
    const bench = await open()
    return {
      runner: settled(bench),
      command: process.platform === 'linux' ? 'sleep 999' : undefined,
      order(conduct: Conduct): StartOrder<Launch> {
        const isMissing = conduct === 'cannot-start'
        const cwd = isMissing ? { cwd: join(bench.directory, 'no such directory') } : {}
        return bench.order(programs[conduct], cwd)
      },
      kill: ({ placement }: AgentPlace) =>
        void (placement.process && process.kill(placement.process.pid, 'SIGKILL')),
      run: (promise) => promise,
      until,
      close: () => bench.close(),
    }
  })
}

/** The runner, but its agents do what they are to do once they are started, and have said which process they are. */
function settled({ runner, upProcess }: RunnerBench): AgentRunner<Launch> {
  const start = runner.start.bind(runner)
  runner.start = async (order) => {
    const placement = await start(order)
    return { ...placement, process: await upProcess(order.paths.activity) }
  }
  return runner
}
