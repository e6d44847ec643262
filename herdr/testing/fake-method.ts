import { z } from 'zod'
import type { Stage } from './fake-stage.ts'

/** The connection of a call that may take long. */
export interface Call {
  readonly id: string
  /** Aborted when the client has left or the server ends. */
  readonly signal: AbortSignal
  /** Sends one line; resolves once it is on its way. */
  send(line: object): Promise<void>
}

export interface Method {
  readonly params: z.ZodType
  /** `loop` waits its turn; `long` runs beside and ends with its client; `free` is answered at once. */
  readonly kind: 'loop' | 'long' | 'free'
  /** Answers with the result; undefined when everything was sent already. */
  readonly run: (stage: Stage, params: never, call: Call) => Promise<object | undefined> | object
}

export type Methods = Readonly<Record<string, Method>>

type Run<Params> = (stage: Stage, params: Params, call: Call) => ReturnType<Method['run']>

export const loop = <Schema extends z.ZodType>(
  params: Schema,
  run: Run<z.output<Schema>>,
): Method => ({ params, kind: 'loop', run: run as Method['run'] })

export const long = <Schema extends z.ZodType>(
  params: Schema,
  run: Run<z.output<Schema>>,
): Method => ({ params, kind: 'long', run: run as Method['run'] })

export const free = <Schema extends z.ZodType>(
  params: Schema,
  run: Run<z.output<Schema>>,
): Method => ({ params, kind: 'free', run: run as Method['run'] })

/** Optional: absent and null are the same. */
export const maybe = <Schema extends z.ZodType>(
  schema: Schema,
): z.ZodType<z.output<Schema> | undefined> =>
  schema.nullish().transform((value) => value ?? undefined) as z.ZodType<
    z.output<Schema> | undefined
  >

type Text = z.ZodType<string>

export const text: Text = z.string()
export const count: z.ZodType<number> = z.number().int().nonnegative()
export const flag: z.ZodType<boolean> = z.boolean()
export const environment: z.ZodType<Readonly<Record<string, string>>> = z.record(
  z.string(),
  z.string(),
)
export const direction: z.ZodType<'right' | 'down'> = z.enum(['right', 'down'])
export const readSource: z.ZodType<'visible' | 'recent' | 'recent_unwrapped' | 'detection'> =
  z.enum(['visible', 'recent', 'recent_unwrapped', 'detection'])
export const readFormat: z.ZodType<'text' | 'ansi'> = z.enum(['text', 'ansi'])
export const status: z.ZodType<'idle' | 'working' | 'blocked' | 'done' | 'unknown'> = z.enum([
  'idle',
  'working',
  'blocked',
  'done',
  'unknown',
])
export const outputMatch: z.ZodType<{ type: 'substring' | 'regex'; value: string }> = z.object({
  type: z.enum(['substring', 'regex']),
  value: z.string(),
})
export const nothing: z.ZodType<object> = z.object({})
