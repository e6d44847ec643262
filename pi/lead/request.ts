import { z } from 'zod'
import { labelPattern, limits } from '../../mailbox/index.ts'
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
      readonly fork?: string | undefined
      readonly timeoutMs?: number | undefined
    }
  | {
      readonly action: 'delegate'
      readonly session: string
      readonly task: string
      readonly label?: string | undefined
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
  .regex(labelPattern, `starts with a-z, then up to ${limits.labelCharsMax - 1} of a-z 0-9 _ -`)

const files = z.array(z.string().min(1))
const agent = z.string().min(1)
const said = {
  agent,
  message: z.string().regex(/\S/, 'must not be blank'),
  files: files.optional(),
}

const delegated = {
  action: z.literal('delegate'),
  task: z.string().regex(/\S/, 'must not be blank'),
  label: label.optional(),
  files: files.optional(),
  timeoutMs: z.int().min(limits.startBudgetLowestMs).max(limits.startBudgetHighestMs).optional(),
}

/** Takes up a saved session again: it says where and as what. */
const bySession = z.strictObject({ ...delegated, session: z.string().min(1) })

const shapes = {
  list: z.strictObject({ action: z.literal('list') }),
  delegate: z.strictObject({
    ...delegated,
    definition: z.string().regex(/\S/, 'must not be blank'),
    cwd: z.string().min(1).optional(),
    fork: z.string().min(1).optional(),
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
  const isBySession = action === 'delegate' && Object.hasOwn(given as object, 'session')
  const shape = isBySession ? bySession : shapes[action as AgentRequest['action']]
  const parsed = (shape as z.ZodType<AgentRequest>).safeParse(given)
  if (parsed.success) return parsed.data
  const problems = parsed.error.issues.map((issue) =>
    issue.code === 'unrecognized_keys'
      ? `unknown field ${issue.keys.join(', ')}`
      : `${issue.path.join('.')}: ${issue.message}`,
  )
  const what =
    action !== 'delegate' ? action : `delegate by ${isBySession ? 'session' : 'definition'}`
  throw invalidRequest(action, `${problems.join('; ')}.`, `Fields of ${what}: ${fieldsOf(shape)}.`)
}

function fieldsOf({ shape }: { readonly shape: Readonly<Record<string, z.ZodType>> }): string {
  const names = Object.entries(shape).map(([name, field]) =>
    field.isOptional() ? `${name}?` : name,
  )
  return names.join(', ')
}
