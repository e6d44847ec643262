import { readFileSync } from 'node:fs'
import {
  type AssistantMessage,
  type AssistantMessageEventStream,
  type Context,
  createAssistantMessageEventStream,
  type Model,
} from '@mariozechner/pi-ai'
import type { ExtensionAPI } from '@mariozechner/pi-coding-agent'

/** A model that says what a file tells it to: no key, no network, the same words every time. */
export interface ScriptRule {
  /** Applies when the newest message contains all of these. */
  readonly when: string | readonly string[]
  /** Applies only if the system prompt contains this. */
  readonly system?: string
  readonly say?: string
  readonly calls?: readonly { readonly name: string; readonly args: Record<string, unknown> }[]
  /** The model call fails with this message. */
  readonly error?: string
  /** Answers after this time, ms; an abort ends the wait. */
  readonly afterMs?: number
  /** Never answers; only an abort ends it. */
  readonly hang?: boolean
  /** Applies so many times, then never again. */
  readonly times?: number
}

/** Names the script file, for every process of a run. */
export const scriptVariable = 'SCRIPTED_MODEL'

const provider = 'scripted'
export const scriptedModel: string = `${provider}/actor`

export default function scriptedModelExtension(pi: ExtensionAPI): void {
  const used = new Map<ScriptRule, number>()
  const script = JSON.parse(readFileSync(process.env[scriptVariable] ?? '', 'utf8')) as ScriptRule[]
  pi.registerProvider(provider, {
    baseUrl: 'http://127.0.0.1:9', // never asked
    apiKey: 'unused',
    api: 'scripted-model',
    streamSimple: (model, context, options) =>
      answer(model, ruleFor(script, used, context), options?.signal),
    models: [
      {
        id: 'actor',
        name: 'Scripted actor',
        reasoning: false,
        input: ['text'],
        cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
        contextWindow: 100_000,
        maxTokens: 8_192,
      },
    ],
  })
}

function ruleFor(
  script: readonly ScriptRule[],
  used: Map<ScriptRule, number>,
  context: Context,
): ScriptRule {
  const newest = textOf(context.messages.at(-1))
  const rule = script.find(
    (candidate) =>
      [candidate.when].flat().every((part) => newest.includes(part)) &&
      systemPrompt(context).includes(candidate.system ?? '') &&
      (used.get(candidate) ?? 0) < (candidate.times ?? Number.POSITIVE_INFINITY),
  )
  if (rule === undefined) return { when: '', say: 'Understood.' }
  used.set(rule, (used.get(rule) ?? 0) + 1)
  return rule
}

/** 1.x hands it over in messages of the conversation, in named sections. */
function systemPrompt({ systemPrompt: text = '', messages }: Context): string {
  const said = messages.flatMap((message) => {
    const { role, sections } = message as { role: string; sections?: Record<string, unknown> }
    return role === 'system' ? [textOf(message), ...Object.values(sections ?? {})] : []
  })
  return [text, ...said].join('\n')
}

function textOf(message: Context['messages'][number] | undefined): string {
  if (message === undefined) return ''
  if (typeof message.content === 'string') return message.content
  return message.content.map((part) => ('text' in part ? part.text : '')).join('\n')
}

function answer(
  model: Model<string>,
  rule: ScriptRule,
  signal: AbortSignal | undefined,
): AssistantMessageEventStream {
  const stream = createAssistantMessageEventStream()
  const message: AssistantMessage = {
    role: 'assistant',
    content: [],
    api: model.api,
    provider: model.provider,
    model: model.id,
    usage: {
      input: 100,
      output: 20,
      cacheRead: 0,
      cacheWrite: 0,
      totalTokens: 120,
      cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
    },
    stopReason: 'stop',
    timestamp: Date.now(),
  }
  const finish = () => {
    if (signal?.aborted) return fail('aborted', 'aborted')
    if (rule.error !== undefined) return fail('error', rule.error)
    if (rule.say !== undefined) message.content.push({ type: 'text', text: rule.say })
    for (const [i, call] of (rule.calls ?? []).entries())
      message.content.push({
        type: 'toolCall',
        id: `call-${Date.now()}-${i}`,
        name: call.name,
        arguments: call.args,
      })
    message.stopReason = rule.calls === undefined ? 'stop' : 'toolUse'
    stream.push({ type: 'done', reason: message.stopReason, message })
    stream.end(message)
  }
  const fail = (reason: 'error' | 'aborted', errorMessage: string) => {
    const error = { ...message, stopReason: reason, errorMessage }
    stream.push({ type: 'error', reason, error })
    stream.end(error)
  }
  queueMicrotask(() => {
    stream.push({ type: 'start', partial: message })
    if (rule.hang !== true && rule.afterMs === undefined) return finish()
    const timer = rule.hang === true ? undefined : setTimeout(finish, rule.afterMs)
    signal?.addEventListener('abort', () => {
      clearTimeout(timer)
      finish()
    })
    return undefined
  })
  return stream
}
