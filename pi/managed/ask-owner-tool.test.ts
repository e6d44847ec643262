import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { ExtensionAPI, ToolDefinition } from '@mariozechner/pi-coding-agent'
import { registerAskOwnerTool } from './ask-owner-tool.ts'

it('a question that cannot be asked is refused in words that move no cursor', async () => {
  const tools: ToolDefinition[] = []
  const pi = { registerTool: (tool: ToolDefinition) => tools.push(tool), on: () => {} }
  registerAskOwnerTool(pi as unknown as ExtensionAPI, () => undefined, '/no-such-directory')
  const args = { question: 'Red or blue?', files: ['\x1b[2Jmap\u202e.txt'] }
  const given = ['1', args, undefined, undefined, { cwd: '/no-such-directory' }]
  const asked = tools[0]?.execute(...(given as unknown as Parameters<ToolDefinition['execute']>))
  await assert.rejects(
    asked ?? Promise.resolve(),
    /^Error: \/no-such-directory\/map\.txt does not exist\./,
  )
})
