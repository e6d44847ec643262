import { basename } from 'node:path'
import { knownAgents } from './fake-agent.ts'
import { paneInfo, strippedTitle, workspaceInfo } from './fake-info.ts'
import {
  environmentOf,
  type ProcessDetail,
  type ProcessRow,
  processRows,
} from './fake-processes.ts'
import type { Stage } from './fake-stage.ts'
import type { Pane } from './fake-world.ts'

const workingText = 'Working...'

/** Looks at every pane as herdr does all the time: who runs there, and what has changed or run out. */
export function lookAtPanes(stage: Stage): void {
  const rows = processRows()
  for (const pane of stage.world.panes) {
    pane.terminal.look()
    detect(stage, pane, rows)
    refresh(stage, pane)
    launch(stage, pane)
    if (noticeTitle(pane) || pane.metadata.expire()) tellUpdated(stage, pane)
  }
  for (const workspace of stage.world.workspaces)
    if (workspace.metadata.expire())
      stage.emit('workspace_metadata_updated', { workspace: workspaceInfo(stage.world, workspace) })
}

export function tellUpdated(stage: Stage, pane: Pane): void {
  pane.revision += 1
  stage.emit('pane_updated', { pane: paneInfo(stage.world, pane) })
}

/** Names an agent, or takes its name; told without a new revision. */
export function nameAgent(stage: Stage, pane: Pane, name: string | undefined): void {
  if (pane.agent.name === name) return
  pane.agent.name = name
  stage.emit('pane_updated', { pane: paneInfo(stage.world, pane) })
}

/** Makes the status of a pane what it has become, and tells of an agent that came or left. */
export function refresh(stage: Stage, pane: Pane): void {
  const { agent } = pane
  const before = agent.status
  const isInView = stage.world.isInView(pane.tab)
  const next = agent.next({ showsWork: showsWork(pane), isInView })
  agent.status = stage.faults.statusLies && agent.label !== undefined ? 'working' : next
  if (agent.status !== before) {
    stage.world.stateChanges += 1
    agent.stateChangeSeq = stage.world.stateChanges
  }
  if (agent.label !== agent.shownLabel) tellAgent(stage, pane, before)
}

function tellAgent(stage: Stage, pane: Pane, finalStatus: string): void {
  const { agent } = pane
  const where = { pane_id: pane.id, workspace_id: pane.workspace.id }
  if (agent.label === undefined) {
    stage.emit('pane_agent_detected', {
      ...where,
      agent: agent.shownLabel,
      released: true,
      final_status: finalStatus,
    })
    if (agent.shownLabel !== undefined && pane.metadata.agentLeft(agent.shownLabel))
      tellUpdated(stage, pane)
  } else stage.emit('pane_agent_detected', { ...where, agent: agent.label })
  agent.shownLabel = agent.label
}

function detect(stage: Stage, pane: Pane, rows: readonly ProcessRow[]): void {
  const { agent, terminal } = pane
  const processes = terminal.foreground(rows)?.processes ?? []
  const kind = processes.map(kindOf).find((each) => each !== undefined)
  if (agent.detected !== undefined && kind === undefined) nameAgent(stage, pane, undefined)
  agent.detect(kind)
  const isShellAlone = pane.argv === undefined && terminal.isAtPrompt
  if (stage.setting.profile !== '0.8' && isShellAlone && agent.reportsUnknownKind)
    agent.dropAuthority()
}

function launch(stage: Stage, pane: Pane): void {
  const { agent } = pane
  const { launch } = agent
  if (launch === undefined || launch.isReady || stage.faults.stuckPending) return
  const forMs = performance.now() - launch.startedAt
  const isCalm = agent.status !== 'working' && agent.status !== 'unknown'
  if (forMs >= stage.setting.launchReadyMs && agent.detected !== undefined && isCalm)
    launch.isReady = true
  else if (forMs > launch.timeoutMs) {
    nameAgent(stage, pane, undefined)
    agent.launch = undefined
  }
}

function kindOf({ pid, name, argv = [] }: ProcessDetail): string | undefined {
  const named = environmentOf(pid).get('HERDR_AGENT')
  if (named !== undefined && knownAgents.includes(named)) return named
  const [program = '', script = ''] = argv
  const candidates = [
    name,
    basename(program),
    ...(isInterpreter(program) ? [kindOfScript(script)] : []),
  ]
  return candidates.find((candidate) => knownAgents.includes(candidate))
}

const isInterpreter = (program: string): boolean =>
  /^-?(node|bun|sh|bash|dash|zsh)$/.test(basename(program))

const kindOfScript = (script: string): string =>
  /pi-coding-agent\/dist\/cli\.js$/.test(script) ? 'pi' : basename(script)

const showsWork = (pane: Pane): boolean =>
  pane.agent.detected !== undefined &&
  pane.terminal.screen.read('detection').text.includes(workingText)

function noticeTitle(pane: Pane): boolean {
  const title = strippedTitle(pane.terminal.screen.title)
  const isNew = title !== pane.shownTitle
  pane.shownTitle = title
  return isNew
}
