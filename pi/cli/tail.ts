import { existsSync } from 'node:fs'
import { type Dossier, type Row, surveyedWhole } from '../../actors/index.ts'
import { type Activity, readActivity, resultPath } from '../../mailbox/index.ts'
import { shownLine, shownText } from '../shown.ts'
import { everyOwner } from './agents.ts'
import type { CliWorld } from './compose.ts'
import { pathsOf } from './dossier.ts'
import { findAgent } from './find.ts'
import { GrowingFile } from './growing-file.ts'
import { entryView, objectIn } from './session-lines.ts'
import type { Terminal } from './terminal.ts'
import { exit } from './usage.ts'
import { wrapped } from './width.ts'
import { sizeWords, spanWords, waitingWords } from './words.ts'

/** Between two looks when no hint comes, ms: a session file that grows gives none. */
const lookMs = 250

interface Options {
  readonly json: boolean
  /** Lines shown of what was before; entries where they are for programs. */
  readonly lines: number
}

/** Follows one agent until it ends: what its session file says as it grows, and then what became of it. */
export async function tail(
  world: CliWorld,
  terminal: Terminal,
  name: string,
  options: Options,
): Promise<number> {
  const owners = await terminal.during('Looking at all mailboxes …', () => everyOwner(world))
  const rows = owners.flatMap((owner) => owner.rows)
  const found = findAgent(rows, name, 'tail')
  if ('problem' in found) {
    terminal.note(found.message)
    return exit.failed
  }
  return new Tail(world, terminal, found.found, options).follow()
}

/** What became of an agent that was followed. */
type Outcome = 'completed' | 'failed' | 'closed' | 'rejected' | 'lost' | 'settled'

class Tail {
  readonly #world: CliWorld
  readonly #terminal: Terminal
  readonly #row: Row
  readonly #options: Options
  readonly #session: GrowingFile
  readonly #paths: ReturnType<typeof pathsOf>
  #activity: Activity | undefined
  #lastStatus = ''
  /** What it said last, so that a result that says the same is not shown twice. */
  #said = ''
  #wake: () => void = () => {}

  constructor(world: CliWorld, terminal: Terminal, row: Row, options: Options) {
    this.#world = world
    this.#terminal = terminal
    this.#row = row
    this.#options = options
    this.#paths = pathsOf(world, row)
    this.#session = new GrowingFile(row.facts.generation.identity.sessionFile)
  }

  async follow(): Promise<number> {
    const ends = [this.#paths.agent, this.#paths.activity].map((each) => this.#watch(each))
    try {
      this.#showBefore()
      let last: Dossier | undefined
      for (;;) {
        const now = surveyedWhole(this.#world, this.#paths, this.#row.facts.generation)
        this.#showNew() // after the look: what it did before its end is shown before its end
        const outcome = outcomeOf(now, last)
        if (outcome !== undefined) return this.#end(outcome, now ?? last)
        last = now
        await this.#hint()
      }
    } finally {
      for (const end of ends) end()
    }
  }

  #showBefore(): void {
    const { json, lines } = this.#options
    const before = this.#session.end()
    if (json) {
      for (const line of lines === 0 ? [] : before.slice(-lines)) this.#entry(line)
      return
    }
    // From the end, so that no more is drawn than is shown.
    const shown: string[] = []
    for (let i = before.length - 1; i >= 0 && shown.length < lines; i--) {
      const view = entryView(before[i] as string)
      if (view.said !== undefined && this.#said === '') this.#said = view.said
      shown.unshift(...view.lines)
    }
    this.#print(lines === 0 ? [] : shown.slice(-lines))
  }

  #showNew(): void {
    const isThere = this.#session.isThere
    this.#session.read((line) => {
      if ('text' in line) return this.#entry(line.text)
      const { skippedBytes: bytes } = line
      if (this.#options.json) this.#terminal.datum({ event: 'skipped', bytes })
      else this.#print([`(an entry of ${sizeWords(bytes)} is not shown)`])
    })
    this.#showActivity(isThere)
  }

  #entry(line: string): void {
    if (this.#options.json) {
      const entry = objectIn(line)
      if (entry !== undefined) this.#terminal.datum({ event: 'entry', entry })
      return
    }
    const view = entryView(line)
    if (view.said !== undefined) this.#said = view.said
    this.#print(view.lines)
  }

  /** @param hasSession whether the same can be read in its session, better */
  #showActivity(hasSession: boolean): void {
    const activity = readActivity(this.#world.fs, this.#paths)
    if (activity === undefined) return
    const before = this.#activity
    this.#activity = activity
    const isNew = JSON.stringify(before) !== JSON.stringify(activity)
    if (this.#options.json) {
      if (isNew) this.#terminal.datum({ event: 'activity', activity })
      return
    }
    if (!hasSession) this.#print(addedLines(before?.lines ?? [], activity.lines))
    const status = statusOf(activity)
    if (status !== this.#lastStatus && status !== '') this.#mark(status)
    this.#lastStatus = status
  }

  #end(outcome: Outcome, dossier: Dossier | undefined): number {
    const assignment = dossier?.row.facts.assignment
    const conclusion = assignment?.conclusion
    const { agent, facts } = this.#row
    const file = resultPath(this.#world.root, facts.generation.identity.generation)
    const whole = existsSync(file) ? file : undefined
    if (this.#options.json)
      this.#terminal.datum({
        event: 'end',
        agent,
        outcome,
        ...(conclusion?.kind === 'result' && { text: conclusion.text }),
        ...(conclusion?.kind === 'failure' && {
          code: conclusion.code,
          message: conclusion.message,
        }),
        ...(conclusion?.usage && { usage: conclusion.usage }),
        ...(whole !== undefined && { result_file: whole }),
      })
    else {
      const usage = conclusion?.usage
      const cost = usage && ` after ${spanWords(usage.elapsedMs)}, ${usage.turns} turns`
      this.#mark(`${endWords[outcome]}${cost ?? ''}`)
      if (conclusion?.kind === 'failure')
        this.#print([`${conclusion.code}: ${shownLine(conclusion.message)}`])
      if (conclusion?.kind === 'result' && conclusion.text.trim() !== this.#said.trim())
        this.#print(shownText(conclusion.text).split('\n'))
      if (assignment?.rejection !== undefined)
        this.#print([shownLine(assignment.rejection.message)])
      if (whole !== undefined) this.#print([`whole in ${whole}`])
    }
    return outcome === 'completed' || outcome === 'settled' ? exit.done : exit.failed
  }

  #mark(text: string): void {
    this.#terminal.clip(`── ${this.#row.agent} ${text}`, 'bold')
  }

  #print(lines: readonly string[]): void {
    for (const line of lines)
      for (const part of wrapped(shownLine(line), this.#terminal.columns)) this.#terminal.line(part)
  }

  #watch(directory: string): () => void {
    try {
      return this.#world.fs.watch(directory, () => this.#wake())
    } catch {
      return () => {} // looked at all the same
    }
  }

  #hint(): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#world.clock.after(lookMs, resolve)
      this.#wake = () => {
        cancel()
        resolve()
      }
    })
  }
}

const endWords: Readonly<Record<Outcome, string>> = {
  completed: 'has come to its end',
  failed: 'has failed',
  closed: 'was closed',
  rejected: 'did not take its task',
  lost: 'is lost: its process is gone and left no result',
  settled: 'is settled: its result was delivered',
}

/** @param last how it was at the look before, where it is gone by now */
function outcomeOf(now: Dossier | undefined, last: Dossier | undefined): Outcome | undefined {
  if (now === undefined)
    return last?.row.facts.assignment.close === undefined ? 'settled' : 'closed'
  const { assignment, presence } = now.row.facts
  if (assignment.conclusion !== undefined)
    return assignment.conclusion.kind === 'result' ? 'completed' : 'failed'
  if (assignment.phase === 'closed') return 'closed'
  if (assignment.phase === 'rejected') return 'rejected'
  return presence === 'lost' ? 'lost' : undefined
}

function statusOf({ waiting, resultError }: Activity): string {
  if (resultError !== undefined) return `cannot write its end down: ${resultError.cause}`
  return waiting === undefined ? '' : waitingWords(waiting)
}

/** What a list has at its end that it did not have before, where its beginning may have been dropped. */
export function addedLines(before: readonly string[], after: readonly string[]): readonly string[] {
  for (let from = 0; from <= before.length; from++) {
    const kept = before.slice(from)
    if (kept.every((line, i) => line === after[i])) return after.slice(kept.length)
  }
  return after
}
