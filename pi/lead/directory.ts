import { type Stats, statSync } from 'node:fs'
import { pathFrom } from '../paths.ts'
import { invalidRequest } from './errors.ts'

/** @throws OperationError `invalid_request` - there is no such directory */
export function directory(given: string | undefined, base: string): string {
  const path = pathFrom(base, given ?? '.')
  const found = statIfAny(path)
  if (found?.isDirectory()) return path
  const what = found === undefined ? 'does not exist' : 'is not a directory'
  throw invalidRequest(
    'delegate',
    `cwd ${path} ${what}.`,
    'Give an existing directory, or leave cwd out.',
  )
}

export function statIfAny(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined // a loop of links, a name too long: nothing in any case
  }
}
