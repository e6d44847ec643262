/**
 * The main job, for real: a lead Pi hands work to two agent Pis at the same time, one of which fails, and gets both
 * results by itself. A scripted model stands in for a real one; everything else is as a user has it.
 *
 *   npm run demo                  watch it
 *   npm run demo -- --kill-lead   kill the lead once the results are durable, start it again: each comes once
 *   npm run demo -- --herdr       the lead lives in a pane of a stand-in for herdr, and its agents open in panes
 *   npm run demo -- --keep        leave the directory of the run for a look
 */
import { rmSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { delivered, generations, leftovers, processesIn } from './evidence.ts'
import { Observer } from './observer.ts'
import { type Fact, Panes } from './panes.ts'
import { type PiEvent, PiProcess, Sandbox } from './pi-process.ts'
import type { ScriptRule } from './scripted-model.ts'
import { brief, Timeline } from './timeline.ts'

const { values: options } = parseArgs({
  options: {
    herdr: { type: 'boolean' },
    keep: { type: 'boolean' },
    'kill-lead': { type: 'boolean' },
  },
})

/** A run that takes longer has failed, ms. */
const runMaxMs = 30_000
const request = 'Find out what this project is made of, and have it reviewed.'
const survey = 'List the files of this project and say what each is for.'
const review = 'Review the project and report every fault.'

const delegate = (definition: string, task: string) => ({
  name: 'agent',
  args: { action: 'delegate', definition, task },
})
const script: readonly ScriptRule[] = [
  { when: request, calls: [delegate('scout', survey), delegate('reviewer', review)] },
  {
    when: 'accepted',
    ...(options['kill-lead']
      ? { hang: true }
      : { say: 'Both agents are at work. I end my turn; their results come to me.' }),
  },
  { when: survey, calls: [{ name: 'ls', args: {} }], afterMs: 400 },
  { when: 'notes.txt', say: 'One file: notes.txt, the notes of the project.', afterMs: 600 },
  { when: review, say: ' ', afterMs: 300 },
  { when: 'agent=', say: 'I have what the agents found.' },
]

const timeline = new Timeline()
const sandbox = new Sandbox(script)
sandbox.write('notes.txt', 'Remember the milk.\n')
const observer = new Observer(sandbox, timeline)
const panes = options.herdr
  ? await Panes.open({ sandbox, timeline, observer }, { label: 'scout', text: 'notes.txt' })
  : undefined
try {
  const overdue = setTimeout(() => {
    console.error(`The demo took over ${runMaxMs / 1_000} s.`)
    for (const pid of processesIn(sandbox)) process.kill(pid, 'SIGKILL')
    process.exit(1)
  }, runMaxMs)
  const holds = await run()
  clearTimeout(overdue)
  process.exitCode = holds ? 0 : 1
} finally {
  observer.stop()
  await panes?.stop()
  if (options.keep) console.log(`\nKept: ${sandbox.directory}`)
  else rmSync(sandbox.directory, { recursive: true, force: true })
}

async function run(): Promise<boolean> {
  let lead = startLead()
  lead.prompt(request)
  const session = String((await lead.request('get_state'))['sessionFile'])
  if (options['kill-lead']) {
    await lead.until(() => observer.concluded(2))
    observer.look()
    await lead.kill()
    timeline.event(
      'lead',
      `is killed with SIGKILL; it has been told ${delivered(session).length} results`,
    )
    lead = startLead(session)
  }
  await lead.until(() => delivered(session).length >= 2 && generations(sandbox).length === 0)
  await lead.until(() => processesIn(sandbox).every((pid) => pid === lead.pid))
  observer.look()
  timeline.heading('The tree')
  timeline.line(
    `lead (process ${lead.pid}), session ${session.slice(session.lastIndexOf('/') + 1)}`,
  )
  timeline.line(`└─ no agents: ${generations(sandbox).length} mailboxes`)
  const inPanes = panes?.facts(2) ?? []
  const code = await lead.close()
  return conclude(session, code === 0, inPanes)
}

function startLead(session?: string): PiProcess {
  const lead = new PiProcess({ sandbox, ...(session !== undefined && { session }) })
  timeline.event(
    'lead',
    `${session === undefined ? 'starts' : 'starts again'} as process ${lead.pid}${panes ? ` in pane ${panes.ownPane}` : ''}`,
  )
  lead.onEvent = tellLead
  return lead
}

function tellLead(event: PiEvent): void {
  if (event.type !== 'message_end') return
  observer.look() // what led to it comes first
  const message = event['message'] as {
    role: string
    customType?: string
    content: string | { type: string; text?: string; arguments?: { definition?: string } }[]
  }
  const parts =
    typeof message.content === 'string'
      ? [{ type: 'text', text: message.content }]
      : message.content
  for (const part of parts) {
    if (message.role === 'user') timeline.event('person', `"${brief(part.text ?? '')}"`)
    else if (message.role === 'custom')
      for (const line of (part.text ?? '').split('\n').filter((text) => text.startsWith('agent=')))
        timeline.event('lead', `is told: ${line.replace(/session=\S+ request=\S+ /, '')}`)
    else if (message.role === 'assistant' && part.type === 'text')
      timeline.event('lead', `"${brief(part.text ?? '')}"`)
    else if (part.type === 'toolCall' && 'arguments' in part)
      timeline.event('lead', `delegates to a ${part.arguments?.definition}`)
  }
}

function conclude(session: string, saidGoodbye: boolean, more: readonly Fact[]): boolean {
  const told = delivered(session)
  const facts: readonly Fact[] = [
    [
      'the result of the scout is in the session of the lead, once',
      told.filter((label) => label === 'scout').length === 1,
    ],
    [
      'the failure of the reviewer is there too, once',
      told.filter((label) => label === 'reviewer').length === 1,
    ],
    [
      'no mailbox, claim or draft is left',
      generations(sandbox).length === 0 && leftovers(sandbox).length === 0,
    ],
    ['no process is left', processesIn(sandbox).length === 0],
    ...more,
    ['the lead ended by itself', saidGoodbye],
    [
      `it took ${(timeline.elapsedMs / 1_000).toFixed(1)} s, under ${runMaxMs / 1_000}`,
      timeline.elapsedMs < runMaxMs,
    ],
  ]
  timeline.heading('What held')
  for (const [text, isTrue] of facts) timeline.fact(text, isTrue)
  return facts.every(([, isTrue]) => isTrue)
}
