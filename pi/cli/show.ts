import { statSync } from 'node:fs'
import { openQuestion } from '../../actors/index.ts'
import { shownLine, shownText } from '../shown.ts'
import { actingWords, everyOwner, type OwnerView, ownerOf } from './agents.ts'
import type { CliWorld } from './compose.ts'
import { type AgentDossier, dossierData, dossierOf } from './dossier.ts'
import { findAgent } from './find.ts'
import type { Terminal } from './terminal.ts'
import { exit } from './usage.ts'
import { wrapped } from './width.ts'
import { sizeWords, spanWords, stateColour, stateWords, waitingWords } from './words.ts'

/** Lines of recent activity shown, and processes. */
const activityLinesMax = 12
const processesMax = 32

/** Everything that is known of one agent. Changes nothing. */
export async function show(
  world: CliWorld,
  terminal: Terminal,
  name: string,
  json: boolean,
): Promise<number> {
  const owners = await terminal.during('Looking at all mailboxes …', () => everyOwner(world))
  const rows = owners.flatMap((owner) => owner.rows)
  const found = findAgent(rows, name, 'show')
  if ('problem' in found) {
    terminal.note(found.message)
    return exit.failed
  }
  const dossier = dossierOf(world, found.found)
  if (dossier === undefined) {
    terminal.note(shownLine(`${name} has just been settled.`))
    return exit.failed
  }
  const owner = ownerOf(dossier.row, owners)
  const now = world.clock.now()
  if (json) terminal.data(dossierData(dossier, owner, now))
  else new Page(terminal).agent(dossier, owner, now)
  return exit.done
}

/** Names of what is shown, and where their values begin. */
const nameColumns = 13

class Page {
  readonly #terminal: Terminal
  readonly #columns: number

  constructor(terminal: Terminal) {
    this.#terminal = terminal
    this.#columns = terminal.columns
  }

  agent(dossier: AgentDossier, owner: OwnerView | undefined, now: number): void {
    const { row, paths } = dossier
    const { generation, ready, diagnostic } = row.facts
    const { identity } = generation
    const terminal = this.#terminal
    const state = terminal.paint(stateWords(row), stateColour(row))
    terminal.line(
      `${terminal.paint(row.agent, 'bold')}  ${state}  ${spanWords(now - generation.at)}`,
    )
    this.#field('definition', generation.definition)
    const ownerIs = generation.depth === 1 ? 'lead' : 'agent'
    this.#field('owner', `${ownerIs}, session ${identity.owner}, ${actingWords(owner)}`)
    if (generation.depth > 1) this.#field('lead', `session ${generation.root}`)
    this.#path('directory', identity.cwd)
    this.#field('session', identity.session)
    this.#path('', `${identity.sessionFile}${sizeOf(identity.sessionFile)}`)
    this.#field('generation', identity.generation)
    this.#path('mailbox', paths.directory)
    const isOther = ready !== undefined && ready.build !== generation.build
    this.#field('build', `${generation.build}${isOther ? `, its own ${ready.build}` : ''}`)
    this.#place(dossier)
    if (diagnostic !== undefined) this.#field('diagnostic', diagnostic)
    this.#activity(dossier, now)
    this.#requests(dossier, now)
    this.#end(dossier, now)
  }

  #place({ row, placement, processes }: AgentDossier): void {
    const { presence } = row.facts
    const proven = {
      live: 'runs',
      lost: 'is gone',
      unknown: 'cannot be proved to run or to be gone',
    }
    if (placement === 'contradictory')
      this.#field('process', 'two processes claim to be this agent')
    else if (placement?.process === undefined) this.#field('process', 'none has been named yet')
    else this.#field('process', `${placement.process.pid} ${proven[presence]}, ${placement.runner}`)
    const own = typeof placement === 'object' ? placement.process?.pid : undefined
    for (const { pid, command = '' } of processes
      .filter((each) => each.pid !== own)
      .slice(0, processesMax))
      this.#field('', `${pid} ${shownLine(command, 200)}`)
    const pane = typeof placement === 'object' ? placement.pane : undefined
    if (pane) this.#field('pane', `${pane.pane} in tab ${pane.tab} of workspace ${pane.workspace}`)
  }

  #activity({ row }: AgentDossier, now: number): void {
    const { activity } = row.facts
    if (activity === undefined) return
    const { at, tool, tokens, contextPercent, waiting, resultError, lines } = activity
    const parts = [
      `${spanWords(now - at)} ago`,
      ...(tool === undefined ? [] : [`in ${tool}`]),
      ...(waiting === undefined ? [] : [waitingWords(waiting)]),
      ...(tokens === undefined ? [] : [`${tokens} tokens`]),
      ...(contextPercent === undefined ? [] : [`${contextPercent.toFixed(0)}% of its context`]),
    ]
    this.#field('activity', parts.join(', '))
    if (resultError !== undefined)
      this.#field(
        'end',
        `${resultError.status}, and it cannot write that down after ${resultError.attempts} attempts: ${resultError.cause}`,
      )
    for (const line of lines.slice(-activityLinesMax)) this.#line(line, 2)
  }

  #requests({ requests }: AgentDossier, now: number): void {
    for (const { kind, outcome, at, text, files = [], reason } of requests) {
      const why = reason === undefined ? '' : `: ${reason}`
      this.#heading(kind, `${spanWords(now - at)} ago, ${outcome}${why}`)
      if (text !== undefined) this.#text(text)
      for (const file of files) this.#line(`file ${file}`, 2)
    }
  }

  #end({ row, records }: AgentDossier, now: number): void {
    const { conclusion, closed } = row.facts.assignment
    const open = openQuestion(row.facts)
    for (const record of records.agent) {
      if (record.kind !== 'ask') continue
      const what = record.id === open?.id ? 'waits for an answer' : 'answered or over'
      this.#heading('question', `${spanWords(now - record.at)} ago, ${what}`)
      this.#text(record.text)
    }
    if (conclusion !== undefined) {
      const what = conclusion.kind === 'result' ? 'completed' : `failed, ${conclusion.code}`
      this.#heading('result', `${spanWords(now - conclusion.at)} ago, ${what}, not delivered yet`)
      this.#text(conclusion.kind === 'result' ? conclusion.text : conclusion.message)
      if (conclusion.kind === 'result' && conclusion.whole)
        this.#line(`whole in ${conclusion.whole.file}`, 2)
    }
    if (closed === undefined) return
    this.#heading('closed', `${spanWords(now - closed.at)} ago`)
    for (const { label, why } of closed.notClosed) this.#line(`${label} is still open: ${why}`, 2)
    for (const file of closed.kept) this.#line(`kept ${file}`, 2)
  }

  #field(name: string, value: string): void {
    const head = `  ${name.padEnd(nameColumns - 2)}`
    const room = Math.max(20, this.#columns - nameColumns)
    wrapped(shownLine(value), room).forEach((line, i) => {
      this.#terminal.line(
        `${i === 0 ? this.#terminal.paint(head, 'dim') : ' '.repeat(nameColumns)}${line}`,
      )
    })
  }

  /** In one piece, however long, so that it can be copied. */
  #path(name: string, path: string): void {
    const head = `  ${name.padEnd(nameColumns - 2)}`
    this.#terminal.line(`${this.#terminal.paint(head, 'dim')}${shownLine(path)}`)
  }

  #heading(name: string, value: string): void {
    this.#terminal.line()
    const head = this.#terminal.paint(name, 'bold')
    const [first = '', ...more] = wrapped(
      shownLine(value),
      Math.max(20, this.#columns - name.length - 2),
    )
    this.#terminal.line(`${head}  ${first}`)
    for (const line of more) this.#terminal.line(`  ${line}`)
  }

  #text(text: string): void {
    for (const line of shownText(text).split('\n')) this.#line(line, 2)
  }

  #line(text: string, indent: number): void {
    for (const line of wrapped(shownLine(text), Math.max(20, this.#columns - indent)))
      this.#terminal.line(`${' '.repeat(indent)}${line}`)
  }
}

function sizeOf(file: string): string {
  try {
    return `, ${sizeWords(statSync(file).size)}`
  } catch {
    return ', not written yet'
  }
}
