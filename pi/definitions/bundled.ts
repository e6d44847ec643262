import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/**
 * Directory of the definitions that come with Drover. They ship as source only: beside this file when it is loaded as
 * TypeScript, and in the package's own `pi/definitions` when it is loaded from `dist/pi/definitions`.
 */
export function bundledDirectory(moduleUrl: string = import.meta.url): string {
  const beside = fileURLToPath(new URL('./bundled', moduleUrl))
  if (existsSync(beside)) return beside
  return fileURLToPath(new URL('../../../pi/definitions/bundled', moduleUrl))
}
