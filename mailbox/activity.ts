import { z } from 'zod'
import type { GenerationPaths } from './layout.ts'
import { resultErrorCharsMax } from './limits.ts'
import type { MailboxFs } from './ports.ts'

/** What ends an assignment and cannot be written down. */
export interface ResultError {
  readonly status: 'completed' | 'failed' | 'closed'
  readonly attempts: number
  readonly cause: string
  /** The first attempt, milliseconds since the epoch. */
  readonly since: number
}

/** What an agent that does nothing waits for. */
export interface AgentStatus {
  /** `owner`: an answer to its question. `agents`: results of its own agents. `person`: who sits before it. */
  readonly waiting?: 'owner' | 'agents' | 'person' | undefined
  readonly resultError?: ResultError | undefined
}

/** What an agent does, as it says itself. Advice for a person; never evidence of anything. */
export interface Activity extends AgentStatus {
  /** Last turn, message or tool boundary, milliseconds since the epoch. */
  readonly at: number
  readonly tool?: string | undefined
  readonly tokens?: number | undefined
  readonly contextPercent?: number | undefined
  /** What it did lately, a line each. */
  readonly lines: readonly string[]
}

/** What a `Date` can hold, milliseconds since the epoch. */
const time = z.int().min(0).max(8_640_000_000_000_000)

const resultError: z.ZodType<ResultError> = z.strictObject({
  status: z.enum(['completed', 'failed', 'closed']),
  attempts: z.int().min(1),
  cause: z.string().max(resultErrorCharsMax),
  since: time,
})

const schema: z.ZodType<Activity> = z.strictObject({
  at: time,
  tool: z.string().max(256).optional(),
  tokens: z.int().min(0).optional(),
  contextPercent: z.number().min(0).optional(),
  waiting: z.enum(['owner', 'agents', 'person']).optional(),
  resultError: resultError.optional(),
  lines: z.array(z.string().max(1_024)).max(256),
})

const bytesMax = 131_072

/** Reads what an agent says it does; undefined where it says nothing that can be read. */
export function readActivity(fs: MailboxFs, paths: GenerationPaths): Activity | undefined {
  try {
    const read = fs.read(paths.activityFile, bytesMax)
    if ('refusal' in read) return undefined
    const parsed = schema.safeParse(JSON.parse(Buffer.from(read.bytes).toString()))
    return parsed.success ? parsed.data : undefined
  } catch {
    return undefined
  }
}
