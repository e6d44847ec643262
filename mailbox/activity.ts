import { z } from 'zod'
import type { GenerationPaths } from './layout.ts'
import type { MailboxFs } from './ports.ts'

/** What an agent does, as it says itself. Advice for a person; never evidence of anything. */
export interface Activity {
  /** Last turn, message or tool boundary, milliseconds since the epoch. */
  readonly at: number
  readonly tool?: string | undefined
  readonly tokens?: number | undefined
  readonly contextPercent?: number | undefined
  /** What it did lately, a line each. */
  readonly lines: readonly string[]
}

const schema: z.ZodType<Activity> = z.strictObject({
  at: z.int().min(0),
  tool: z.string().max(256).optional(),
  tokens: z.int().min(0).optional(),
  contextPercent: z.number().min(0).optional(),
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
