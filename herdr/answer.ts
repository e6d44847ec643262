import type { z } from 'zod'
import { HerdrError, plain } from './errors.ts'

/** Where a line came from, for the messages. */
export interface Origin {
  readonly method: string
  readonly socketPath: string
}

/** Answers of the server that do not say whether it acted: it gave up waiting for itself. */
const undecided = new Set(['timeout', 'server_unavailable', 'internal_error'])

/** Decodes hostile bytes into one JSON value. A field that is null is the same as one that is not there. */
export function parseLine(line: Uint8Array): unknown {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(line)
    return JSON.parse(text, (_, value) => (value === null ? undefined : value))
  } catch {
    return undefined // garbage, or nested without end
  }
}

/**
 * The result in an answer's line.
 *
 * @throws HerdrError the server's code, `foreign_server` or `invalid_response`
 */
export function readAnswer<T>(line: Uint8Array, schema: z.ZodType<T>, origin: Origin): T {
  const answer = parseLine(line)
  if (!isObject(answer)) throw misfit(origin, 'is not a JSON object')
  const error = refusalIn(answer, origin)
  if (error !== undefined) throw error
  const result = fit(schema, answer['result'])
  if ('value' in result) return result.value
  throw misfit(origin, `does not fit (${result.why})`)
}

/** What an answer or an event line refuses, if it does. */
export function refusalIn(
  answer: Readonly<Record<string, unknown>>,
  origin: Origin,
): HerdrError | undefined {
  const { error } = answer
  const code = isObject(error) ? error['code'] : undefined
  if ('jsonrpc' in answer || typeof code === 'number') return foreign(origin, error !== undefined)
  if (error === undefined) return undefined
  if (typeof code !== 'string' || code === '') return misfit(origin, 'is an error without a code')
  const words = isObject(error) && typeof error['message'] === 'string' ? error['message'] : ''
  return new HerdrError({
    ...origin,
    code,
    outcome: undecided.has(code) ? 'unknown' : 'refused',
    message: `herdr refused ${origin.method}: ${plain(words) || 'it does not say why'} (${plain(code)})`,
  })
}

/** Whether a value has the shape, whatever it does to the check. */
export function fit<T>(
  schema: z.ZodType<T>,
  value: unknown,
): { readonly value: T } | { readonly why: string } {
  try {
    const parsed = schema.safeParse(value)
    if (parsed.success) return { value: parsed.data }
    const issue = parsed.error.issues[0]
    return { why: plain(`${issue?.path.join('.') || 'result'}: ${issue?.message}`) }
  } catch {
    return { why: 'it is nested too deeply' }
  }
}

/** An answer that nobody can read: what was asked for may well be done. */
export function misfit({ method, socketPath }: Origin, what: string): HerdrError {
  return new HerdrError({
    code: 'invalid_response',
    method,
    outcome: 'unknown',
    message: `The answer of herdr at ${socketPath} to ${method} ${what}. Report it, with the version of herdr.`,
  })
}

export function foreign({ method, socketPath }: Origin, isRefusal: boolean): HerdrError {
  return new HerdrError({
    code: 'foreign_server',
    method,
    outcome: isRefusal ? 'refused' : 'unknown',
    message: `What answers ${method} at ${socketPath} is not herdr. Check HERDR_SOCKET_PATH.`,
  })
}

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
