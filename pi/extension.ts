import type { ExtensionAPI } from '@mariozechner/pi-coding-agent'
import { systemClock } from '../mailbox/index.ts'
import { HostGate } from './host.ts'
import { registerAgentsCommand } from './lead/agents-command.ts'
import { openAgentView } from './lead/view/agent-view.ts'
import { registerServeCommand } from './managed/serve.ts'
import { DroverSession } from './session.ts'

/** What the host loads: joins each session's events to what Drover is in that session. */
export default function drover(pi: ExtensionAPI): void {
  const session = new DroverSession(pi, new HostGate(pi, systemClock))
  registerServeCommand(pi, systemClock, () => session.left)
  registerAgentsCommand(
    pi,
    () => session.lead,
    async ({ agent }, ctx) =>
      session.shown ? openAgentView(ctx, session.shown, agent) : 'no_screen',
  )
  pi.on('session_start', (event, ctx) => session.start(event, ctx))
  pi.on('session_shutdown', ({ reason }) => session.end(reason))
}
