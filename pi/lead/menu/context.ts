import type { ExtensionCommandContext } from '@mariozechner/pi-coding-agent'
import type { Row } from '../../../actors/index.ts'
import type { FileEditor } from '../../file-editor.ts'
import type { Delegation } from '../delegation.ts'
import type { Asking } from './asking.ts'

/** Opens what an agent does, as it does it; resolves when the person has left it, or when there is no screen for it. */
export type AgentView = (agent: Row, ctx: ExtensionCommandContext) => Promise<'left' | 'no_screen'>

/** What every part of the menu works with. */
export interface MenuContext {
  readonly ask: Asking
  readonly ctx: ExtensionCommandContext
  readonly delegation: Delegation
  readonly editor: FileEditor
  readonly agentDirectory: string
  /** Absent where nothing shows an agent. */
  readonly viewAgent?: AgentView | undefined
}
