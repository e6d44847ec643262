import { limits } from '../../mailbox/index.ts'

/** What becomes of an agent, decided by the test that starts it. */
export interface Fate {
  readonly work:
    | { readonly ends: 'answered'; readonly text: string }
    | { readonly ends: 'failed'; readonly message: string }
    /** The run goes on until somebody ends it. */
    | { readonly ends: 'never' }
  /** Time its run takes, ms. */
  readonly workMs: number
  /** Where its process dies by itself. */
  readonly diesAt?: 'before-ready' | 'after-ready' | 'after-accepting' | 'mid-work' | 'after-result'
  readonly start?: 'cannot-start' | 'never-ready'
  /** It says this before it does anything else. */
  readonly says?: readonly string[]
  readonly ignoresTerm?: boolean
  /** Once it works it hears nothing any more, and answers nothing. */
  readonly isDeaf?: boolean
  /** Children of its own process, such as the commands of its shell. */
  readonly commands?: number
  /** Questions it writes, one after another, before it goes on. */
  readonly floods?: number
  /** Agents it owns itself. It ends its own work only once they are settled. */
  readonly owns?: readonly Fate[]
  /** Whether the owner it is to those agents can be told their results. */
  readonly isBusyOwner?: boolean
}

type Twist = Partial<Omit<Fate, 'work'>>

export const completes = (text = 'done', twist: Twist = {}): Fate => ({
  work: { ends: 'answered', text },
  workMs: 1_000,
  ...twist,
})

export const fails = (message = 'the model said no', twist: Twist = {}): Fate => ({
  work: { ends: 'failed', message },
  workMs: 1_000,
  ...twist,
})

export const hangs = (twist: Twist = {}): Fate => ({
  work: { ends: 'never' },
  workMs: 0,
  ...twist,
})

export const dies = (diesAt: NonNullable<Fate['diesAt']>, twist: Twist = {}): Fate => ({
  ...completes(),
  diesAt,
  ...twist,
})

export const cannotStart = (says: string): Fate => ({
  ...hangs(),
  start: 'cannot-start',
  says: [says],
})

export const neverReady = (says: readonly string[] = [], twist: Twist = {}): Fate => ({
  ...hangs(),
  start: 'never-ready',
  says,
  ...twist,
})

/** More text than a record holds, all of it different from its head. */
export const longText = (bytes: number = 3 * limits.resultInlineBytesMax): string =>
  'word '.repeat(Math.ceil(bytes / 5)).slice(0, bytes)
