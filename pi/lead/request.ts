import { z } from 'zod'
import { limits } from '../../mailbox/index.ts'
import { invalidRequest } from './errors.ts'

/** What the `agent` tool can be asked for. */
export type AgentRequest =
  | { readonly action: 'list' }
  | {
      readonly action: 'delegate'
      readonly definition: string
      readonly task: string
      readonly label?: string | undefined
      readonly cwd?: string | undefined
      readonly files?: readonly string[] | undefined
      readonly timeoutMs?: number | undefined
    }
  | {
      readonly action: 'steer' | 'reply'
      readonly agent: string
      readonly message: string
      readonly files?: readonly string[] | undefined
    }
  | { readonly action: 'inspect' | 'close'; readonly agent: string }

const label = z
  .string()
  .regex(/^[a-z][a-z0-9_-]{0,31}$/, 'starts with a-z, then up to 31 of a-z 0-9 _ -')

const files = z.array(z.string().min(1))
const agent = z.string().min(1)
const said = {
  agent,
  message: z.string().regex(/\S/, 'must not be blank'),
  files: files.optional(),
}

const shapes = {
  list: z.strictObject({ action: z.literal('list') }),
  delegate: z.strictObject({
    action: z.literal('delegate'),
    definition: z.string().regex(/\S/, 'must not be blank'),
    task: z.string().regex(/\S/, 'must not be blank'),
    label: label.optional(),
    cwd: z.string().min(1).optional(),
    files: files.optional(),
    timeoutMs: z.int().min(limits.startBudgetLowestMs).max(limits.startBudgetHighestMs).optional(),
  }),
  steer: z.strictObject({ action: z.literal('steer'), ...said }),
  reply: z.strictObject({ action: z.literal('reply'), ...said }),
  inspect: z.strictObject({ action: z.literal('inspect'), agent }),
  close: z.strictObject({ action: z.literal('close'), agent }),
} satisfies Record<AgentRequest['action'], z.ZodType<AgentRequest>>

/** The actions, in the order they are explained. */
export const actions: readonly AgentRequest['action'][] = [
  'list',
  'delegate',
  'steer',
  'reply',
  'inspect',
  'close',
]

/**
 * Reads the arguments of one call. Every field must belong to the action.
 *
 * @throws OperationError `invalid_request` - names the field, what is wrong with it, and the fields allowed
 */
export function parseRequest(given: unknown): AgentRequest {
  const action = (given as { action?: unknown } | null)?.action
  if (typeof action !== 'string' || !Object.hasOwn(shapes, action))
    throw invalidRequest(
      'agent',
      `action is ${JSON.stringify(action) ?? 'missing'}.`,
      `Use one of: ${actions.join(', ')}.`,
    )
  const shape = shapes[action as AgentRequest['action']]
  const parsed = (shape as z.ZodType<AgentRequest>).safeParse(given)
  if (parsed.success) return parsed.data
  const problems = parsed.error.issues.map((issue) =>
    issue.code === 'unrecognized_keys'
      ? `unknown field ${issue.keys.join(', ')}`
      : `${issue.path.join('.')}: ${issue.message}`,
  )
  const fields = Object.keys(shape.shape).map((name) =>
    (shape.shape as Record<string, z.ZodType>)[name]?.isOptional() ? `${name}?` : name,
  )
  throw invalidRequest(
    action,
    `${problems.join('; ')}.`,
    `Fields of ${action}: ${fields.join(', ')}.`,
  )
}
