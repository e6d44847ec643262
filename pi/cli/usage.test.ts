import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { commands, parseInvocation, usage } from './usage.ts'

describe('a command line', () => {
  it('names one command, and an agent where that is about one', () => {
    assert.deepEqual(parseInvocation(['tail', 'scout', '-n', '3', '--json']), {
      kind: 'command',
      command: 'tail',
      agent: 'scout',
      json: true,
      yes: false,
      lines: 3,
    })
    assert.equal(parseInvocation(['ls']).kind, 'command')
  })

  it('is wrong where something in it is not meant for the command', () => {
    for (const [argv, why] of [
      [[], /A command is missing/],
      [['dance'], /Unknown command: dance/],
      [['ls', 'scout'], /ls does not take scout/],
      [['show'], /show needs an agent/],
      [['show', ''], /show needs an agent/],
      [['show', 'a', 'b'], /does not take b/],
      [['show', 'a', '-n', '3'], /for drover tail alone/],
      [['tail', 'a', '-n', 'all'], /from 0 to/],
      [['doctor', '--yes'], /for drover close alone/],
      [['ls', '--fast'], /Unknown option '--fast'/],
    ] as const) {
      const invocation = parseInvocation(argv)
      assert.equal(invocation.kind, 'wrong', argv.join(' '))
      if (invocation.kind === 'wrong') assert.match(invocation.why, why)
    }
  })

  it('has every command and every exit code in the usage text', () => {
    for (const command of commands) assert.ok(usage.includes(`  drover ${command} `), command)
    for (const code of [0, 1, 2, 3]) assert.match(usage, new RegExp(`^ {2}${code} {3}\\S`, 'm'))
    for (const line of usage.split('\n')) assert.ok(line.length <= 80, line)
  })
})
