import assert from 'node:assert/strict'
import { it } from 'node:test'
import { FakeHerdr } from '../herdr/testing/index.ts'
import { Person } from './person.ts'
import { delegate, fact, notices, runs, sandbox, started } from './support.ts'

it('/agents shows an agent in its pane, and does nothing when it has moved since it was listed', async (t) => {
  const place = sandbox(t, [
    { when: 'please start', calls: [delegate('scout', 'dig')] },
    { when: 'accepted', say: 'At work.' },
    { when: 'dig', hang: true },
  ])
  const { PATH, TMPDIR } = process.env
  const env = { PATH, TMPDIR, HOME: place.home, PS1: '$ ' }
  const herdr = await FakeHerdr.start({ directory: place.directory, env, profile: '0.9.2' })
  t.after(() => herdr.stop())
  const own = herdr.adopt(process.pid)
  place.around = herdr.environment(own)
  const { lead } = await started(place)
  t.after(() => lead.kill())
  await fact('the lead is idle, its agent at work', () => runs(lead) === 1)
  const pane = () => herdr.panes().find(({ pane_id }) => pane_id !== own.pane_id)
  const person = new Person(lead)
  person.types('/agents')
  await person.chooses('Running (1)')
  await person.asked()
  await herdr.person.move(pane()?.pane_id ?? '', 'new-workspace')
  await herdr.person.focus(own.pane_id)
  const before = pane()
  assert.ok(before !== undefined && !before.focused)
  await person.chooses('scout · scout · working')
  await fact('it is said', () =>
    notices(lead).some((text) => /scout is not where it was/.test(text)),
  )
  assert.equal(pane()?.focused, false)
  await person.chooses('scout · scout · working')
  await fact('its pane has the focus', () => pane()?.focused === true)
})
