import type { CloseReport, Row } from '../../../actors/index.ts'
import type { MenuContext } from './context.ts'

/** Ends everything at once, after asking: the turn of this session, and every agent of its tree. */
export async function stopAll({ ask, delegation, ctx }: MenuContext): Promise<void> {
  const { rows, below, role, unreadable } = await delegation.agents(ctx)
  if (role === 'observing') {
    ask.tell(
      'Another window acts for this session; stop its agents there, or close it: this one takes over soon after.',
      'warning',
    )
    return
  }
  const all = [...rows, ...below.map(({ row }) => row)]
  const isBusy = !ctx.isIdle()
  if (all.length + unreadable.length === 0 && !isBusy) {
    ask.tell('Nothing runs: there is no agent, and no turn to stop.')
    return
  }
  if (!(await ask.confirm('Stop all agents?', whatIsLost(all, isBusy)))) return
  const stopping = delegation.stopAll(ctx) // first: nothing is to be told that would begin another turn
  ctx.abort()
  const report = await stopping
  ask.tell(reported(report, all, isBusy), report.notClosed.length > 0 ? 'warning' : 'info')
}

const isUndelivered = ({ facts }: Row): boolean =>
  facts.assignment.conclusion !== undefined && !facts.delivered

function whatIsLost(all: readonly Row[], isBusy: boolean): string {
  const waiting = all.filter(isUndelivered)
  const atWork = all.filter((row) => !isUndelivered(row))
  return [
    ...(isBusy ? ['The turn of this session is aborted.'] : []),
    ...(atWork.length > 0 ? [`Work that is discarded: ${labels(atWork)}.`] : []),
    ...(waiting.length > 0
      ? [`Results that are not told any more, but kept as files: ${labels(waiting)}.`]
      : []),
    'Sessions of the agents stay, and can be delegated to again.',
  ].join('\n')
}

function reported(report: CloseReport, before: readonly Row[], wasBusy: boolean): string {
  const { closed, notClosed, kept } = report
  const discarded = before.filter((row) => !isUndelivered(row) && closed.includes(row.agent))
  return [
    ...(wasBusy ? ['The turn was aborted.'] : []),
    closed.length > 0 ? `Closed: ${closed.join(', ')}.` : 'No agent was closed.',
    ...(discarded.length > 0 ? [`Work that was discarded: ${labels(discarded)}.`] : []),
    ...(kept.length > 0 ? [`Results nobody had read are kept in: ${kept.join(', ')}.`] : []),
    ...notClosed.map(({ label, why }) => `Not closed: ${label}: ${why}.`),
    ...(notClosed.length > 0 ? ['Stop again later, or look at /agents.'] : []),
  ].join('\n')
}

const labels = (rows: readonly Row[]): string =>
  rows.map(({ agent, facts }) => `${agent} (${facts.generation.definition})`).join(', ')
