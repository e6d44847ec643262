import type { ExtensionAPI } from '@mariozechner/pi-coding-agent'
import { Type } from 'typebox'
import type { AskAnswer, ManagedAgent } from '../../actors/index.ts'
import { attach } from '../attachments.ts'
import { readSettings } from '../settings.ts'
import { shownText } from '../shown.ts'
import { askOwnerToolName } from '../tool-names.ts'

const parameters = Type.Object(
  {
    question: Type.String({
      description:
        'The one decision you need, with the options you see and what each would lead to.',
    }),
    files: Type.Optional(
      Type.Array(Type.String(), {
        description:
          'Files that support the question, by path from your directory. Small text files travel whole, others by path. Do not attach AGENTS.md, CLAUDE.md, GEMINI.md and the like, or a SKILL.md, unless the question is about them.',
      }),
    ),
  },
  { additionalProperties: false },
)

const description = [
  'Ask the session that gave you this task one question you cannot go on without.',
  'It must be your only tool call of the turn, and the last: the assignment is blocked then, and you are started again with the answer.',
  'There is no time limit. Never guess the answer and never finish while you wait for it. Decide by yourself whatever you can.',
].join('\n')

/** Gives an agent the tool by which it asks its owner, whatever tools its definition limits it to. */
export function registerAskOwnerTool(
  pi: ExtensionAPI,
  agent: () => ManagedAgent | undefined,
  agentDirectory: string,
): void {
  const siblings = new Map<string, readonly string[]>()
  // The host tells of a whole message before it tells of its first call, so a call's siblings are known in time.
  pi.on('message_end', ({ message }) => {
    if (message.role !== 'assistant') return
    const calls = message.content.flatMap((part) => (part.type === 'toolCall' ? [part] : []))
    siblings.clear()
    for (const { id } of calls)
      siblings.set(
        id,
        calls.map(({ name }) => name),
      )
  })
  pi.on('tool_call', ({ toolCallId, ...call }) => {
    const batch = siblings.get(toolCallId) ?? []
    const isNested = 'parentToolCallId' in call && call.parentToolCallId !== undefined
    const isAsked = call.toolName === askOwnerToolName
    if (!(isNested && isAsked) && !(batch.length > 1 && batch.includes(askOwnerToolName)))
      return undefined
    const reason = `${askOwnerToolName} must be the only tool call of its turn. Nothing was done; call it alone.`
    return { block: true, reason }
  })
  pi.registerTool<typeof parameters, Record<string, unknown>>({
    name: askOwnerToolName,
    label: 'Ask owner',
    description,
    promptSnippet: 'Ask the session that gave you this task a question you cannot go on without',
    parameters,
    executionMode: 'sequential',
    async execute(_id, { question, files: names = [] }, _signal, _onUpdate, ctx) {
      if (!/\S/.test(question))
        throw new Error('The question is blank. Nothing was asked; state it.')
      const { cwd } = ctx
      const { settings } = readSettings({ agentDirectory, cwd, projectTrusted: false })
      const files = attach(names, {
        cwd,
        text: question,
        inlineBytesMax: settings.inlineAttachmentLimitBytes,
        recordBytesMax: settings.mailboxPayloadLimitBytes,
      })
      if ('problem' in files) throw new Error(shownText(`${files.problem} ${files.next}`))
      const asked = await agent()?.ask(
        { text: question, ...(files.length > 0 && { files }) },
        settings.mailboxPayloadLimitBytes,
      )
      return answer(
        asked ?? {
          outcome: 'refused',
          why: 'this session serves no assignment',
          next: 'Go on by yourself.',
        },
      )
    },
  })
}

function answer(asked: AskAnswer) {
  if (asked.outcome === 'refused')
    throw new Error(`The question was not asked: ${shownText(asked.why)}. ${asked.next}`)
  return {
    content: [
      {
        type: 'text' as const,
        text: 'Your question is with your owner. The assignment is blocked until the answer comes; your turn ends here.',
      },
    ],
    details: { askId: asked.ask, assignmentRequestId: asked.request },
    terminate: true,
  }
}
