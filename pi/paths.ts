import { homedir } from 'node:os'
import { join, resolve } from 'node:path'

/** The absolute path a person or a model means: from `base`, with `~` for the home directory, as a shell reads it. */
export function pathFrom(base: string, given: string): string {
  const isBelowHome = given === '~' || given.startsWith('~/')
  return isBelowHome ? join(homedir(), given.slice(1)) : resolve(base, given)
}
