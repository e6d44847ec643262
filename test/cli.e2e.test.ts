import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, it } from 'node:test'
import { hasRecord, processesIn } from '../demo/evidence.ts'
import type { Sandbox } from '../demo/pi-process.ts'
import { systemProcesses } from '../mailbox/index.ts'
import {
  delegate,
  fact,
  mails,
  placement,
  sandbox,
  sessionFile,
  settled,
  startPi,
} from './support.ts'

const cli = join(import.meta.dirname, '../pi/cli.ts')
const tsx = import.meta.resolve('tsx')

/** Runs the command as a person would beside Pi; what it has printed so far, and how it ends. */
function drover(place: Sandbox, ...args: string[]) {
  const child = spawn(process.execPath, ['--import', tsx, cli, ...args], {
    cwd: place.project,
    env: place.env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let seen = ''
  child.stdout.on('data', (data) => {
    seen += data
  })
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve))
  const whole = Promise.all([exited, text(child.stdout), text(child.stderr)])
  return {
    seen: () => seen,
    ended: whole.then(([code, stdout, stderr]) => ({ code, stdout, stderr })),
  }
}

const rules = [
  { when: 'please start', calls: [delegate('generalist', 'dig')] },
  { when: 'accepted', say: 'At work.' },
  {
    when: 'dig',
    calls: [
      {
        name: 'bash',
        args: { command: 'until [ -e go ]; do sleep 0.05; done; echo went through' },
      },
    ],
  },
  { when: 'went through', say: 'I am through.' },
]

/** An agent at work, whose lead was killed; the session of that lead. */
async function abandoned(place: Sandbox): Promise<string> {
  const lead = startPi(place)
  lead.prompt('please start')
  const file = await sessionFile(lead)
  await lead.until(() => hasRecord(place, 'ack'))
  await fact('the agent digs', () => processesIn(place).length >= 4)
  await lead.kill()
  return file
}

describe('drover beside real agents whose lead was killed', () => {
  it('follows one to its end, which its lead is told when it is opened again', async (t) => {
    const place = sandbox(t, rules)
    const file = await abandoned(place)
    const following = drover(place, 'tail', 'generalist')
    await fact('what it does is shown', () => following.seen().includes('→ bash'))
    place.write('go', '')
    const { code, stdout, stderr } = await following.ended
    assert.equal(code, 0, stderr)
    assert.match(stdout, /← bash: went through\nI am through\.\n── generalist has come to its end/)
    const refused = await drover(place, 'close', 'generalist', '--yes').ended
    assert.equal(refused.code, 1)
    assert.match(
      refused.stderr,
      /has a result that has not been delivered[\s\S]*pi --session '.*jsonl'/,
    )
    const lead = startPi(place, { session: file })
    assert.match(await lead.until(() => mails(lead)[0]), /I am through\./)
    await settled(place, [lead])
    await lead.close()
  })

  it('closes one with all it had started, and tells whoever follows it', async (t) => {
    const place = sandbox(t, rules)
    await abandoned(place)
    const agent = placement(place)
    assert.ok(agent)
    const following = drover(place, 'tail', 'generalist', '--json')
    await fact('it is followed', () => following.seen().includes('"event":"entry"'))
    const { code, stdout, stderr } = await drover(place, 'close', 'generalist', '--yes').ended
    assert.equal(code, 0, stderr)
    assert.equal(stdout, 'Closed: generalist.\n')
    assert.equal(systemProcesses().presence(agent), 'gone')
    const followed = await following.ended
    assert.equal(followed.code, 1)
    const events = followed.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    assert.equal(events.at(-1).event, 'end')
    assert.equal(events.at(-1).outcome, 'closed')
    await settled(place)
  })
})
