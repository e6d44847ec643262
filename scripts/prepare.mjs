// Builds dist/ where TypeScript is installed. A git install by the host omits dev dependencies: nothing to build then,
// since the host loads the TypeScript entry itself.
import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'

let compiler
try {
  compiler = createRequire(import.meta.url).resolve('typescript/bin/tsc')
} catch {
  process.exit(0)
}
const { status } = spawnSync(process.execPath, [compiler, '-p', 'tsconfig.build.json'], {
  stdio: 'inherit',
})
process.exit(status ?? 1)
