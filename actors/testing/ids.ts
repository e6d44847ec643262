import type { Ids } from '../../mailbox/index.ts'

/** Ids in order, in the shape of real ones. */
export function sequentialIds(first = 1): Ids {
  let next = first
  return { next: () => (next++).toString(36).padStart(26, '0') }
}
