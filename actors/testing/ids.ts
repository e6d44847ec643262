import type { Ids } from '../../mailbox/index.ts'

/** Ids in order: 1, 2, 3, … in the shape of real ones. */
export function sequentialIds(): Ids {
  let last = 0
  return { next: () => (++last).toString(36).padStart(26, '0') }
}
