import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { describe, it } from 'node:test'
import { VirtualClock } from '../../actors/testing/index.ts'
import { Terminal } from './terminal.ts'

/** A stream that may be a terminal, and all that was written to it. */
function stream(more: { readonly isTTY?: boolean; readonly columns?: number } = {}) {
  let written = ''
  const through = new PassThrough()
  through.on('data', (data) => {
    written += data
  })
  const as = Object.assign(through, more) as unknown as NodeJS.WriteStream & NodeJS.ReadStream
  return { as, written: () => written }
}

const tty = { isTTY: true, columns: 40 }

describe('a terminal', () => {
  it('has colours only where it is one and nobody asked for none', () => {
    const painted = (more: object, env: NodeJS.ProcessEnv) =>
      new Terminal({ out: stream(more).as, env }).paint('x', 'red')
    assert.equal(painted(tty, {}), '\x1b[31mx\x1b[39m')
    assert.equal(painted(tty, { NO_COLOR: '' }), '\x1b[31mx\x1b[39m')
    assert.equal(painted(tty, { NO_COLOR: '1' }), 'x')
    assert.equal(painted(tty, { TERM: 'dumb' }), 'x')
    assert.equal(painted({}, {}), 'x')
  })

  it('cuts lines at its width, and cuts none for programs', () => {
    const [wide, narrow] = [stream(), stream({ isTTY: true, columns: 5 })]
    for (const { as } of [wide, narrow])
      new Terminal({ out: as, env: { NO_COLOR: '1' } }).clip('分支 main')
    assert.equal(wide.written(), '分支 main\n')
    assert.equal(narrow.written(), '分支…\n')
  })

  it('says on its error output that work goes on, once it has taken a second', async () => {
    const clock = new VirtualClock()
    for (const [more, shown] of [
      [{}, 'Looking …\n'],
      [tty, '\r\x1b[KLooking … (1s)\r\x1b[KLooking … (2s)\r\x1b[K'],
    ] as const) {
      const [out, err] = [stream(), stream(more)]
      const terminal = new Terminal({ out: out.as, err: err.as, clock: clock.face(), env: {} })
      assert.equal(await terminal.during('Quick …', async () => 1), 1)
      let finish = () => {}
      const work = terminal.during('Looking …', () => new Promise<void>((done) => (finish = done)))
      await clock.advance(999)
      assert.equal(err.written(), '')
      await clock.advance(1_500)
      finish()
      await work
      assert.equal(err.written(), shown)
      assert.equal(out.written(), '', 'the answer stays clean')
    }
  })

  it('takes anything but a yes for a no', async () => {
    for (const [answer, isYes] of [
      ['y\n', true],
      ['Yes\n', true],
      ['\n', false],
      ['n\n', false],
      ['yesterday\n', false],
    ] as const) {
      const input = stream()
      const asked = new Terminal({ input: input.as, err: stream().as }).confirm('Close?')
      input.as.write(answer)
      assert.equal(await asked, isYes, answer)
    }
    const input = stream()
    const asked = new Terminal({ input: input.as, err: stream().as }).confirm('Close?')
    input.as.end()
    assert.equal(await asked, false, 'the end of the input')
  })
})
