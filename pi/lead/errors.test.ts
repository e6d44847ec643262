import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { describe, it } from 'node:test'
import ts from 'typescript'
import { OperationError } from '../../actors/index.ts'
import { MailboxError } from '../../mailbox/index.ts'
import { asFailure, failureText, invalidRequest } from './errors.ts'

const top = dirname(dirname(import.meta.dirname))
/** Where callers of the tool are told no. */
const rooms = ['actors', 'pi/lead', 'pi']

/** What each refusal in the source says is to be done next: a literal, or an expression that carries one on. */
function nextActions(): { readonly at: string; readonly node: ts.Expression }[] {
  const found: { at: string; node: ts.Expression }[] = []
  const files = rooms.flatMap((room) =>
    readdirSync(join(top, room))
      .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
      .map((name) => join(top, room, name)),
  )
  for (const file of files) {
    const source = ts.createSourceFile(
      file,
      readFileSync(file, 'utf8'),
      ts.ScriptTarget.Latest,
      true,
    )
    const visit = (node: ts.Node): void => {
      const next = nextOf(node)
      const { line } = source.getLineAndCharacterOfPosition(node.getStart())
      if (next) found.push({ at: `${relative(top, file)}:${line + 1}`, node: next })
      ts.forEachChild(node, visit)
    }
    visit(source)
  }
  return found
}

function nextOf(node: ts.Node): ts.Expression | undefined {
  if (ts.isPropertyAssignment(node) && /^next(Action)?$/.test(node.name.getText()))
    return node.initializer
  if (!ts.isCallExpression(node)) return undefined
  const called = node.expression.getText()
  if (called === 'invalidRequest') return node.arguments[2]
  return called === 'refuse' || called === 'problem' ? node.arguments[1] : undefined
}

/** All that an expression may come to, as far as it is written there: what is filled in is `…`. */
function textsOf(node: ts.Expression): readonly string[] {
  if (ts.isStringLiteralLike(node)) return [node.text]
  if (ts.isTemplateExpression(node))
    return [node.head.text + node.templateSpans.map(({ literal }) => `…${literal.text}`).join('')]
  if (ts.isConditionalExpression(node))
    return [...textsOf(node.whenTrue), ...textsOf(node.whenFalse)]
  return []
}

describe('a refusal', () => {
  it('says in a sentence what to do next, wherever one is written', () => {
    const written = nextActions().flatMap(({ at, node }) =>
      textsOf(node).map((text) => ({ at, text })),
    )
    assert.ok(written.length > 40, `only ${written.length} were found`)
    for (const { at, text } of written) assert.match(text, /^[A-Z…].*[.…]$/, at)
  })

  it('carries on, where it says none itself, what another one says', () => {
    const carried = nextActions().filter(({ node }) => textsOf(node).length === 0)
    for (const { at, node } of carried)
      assert.match(node.getText(), /^([\w.]+\.)?(next|nextAction|takeUpAgain|waitForResult)$/, at)
  })

  it('is told in the same shape whatever was thrown, and always with a next action', () => {
    const thrown = [
      invalidRequest('close', 'agent: too short.', 'Fields of close: agent.'),
      new MailboxError(
        'DROVER_MAILBOX_UNSAFE',
        'report',
        '/m is open to others. Run: chmod 700 /m',
      ),
      new TypeError('x is not a function'),
      'a string',
      undefined,
    ]
    for (const error of thrown) {
      const failure = asFailure(error, 'close')
      assert.equal(failure.operation, 'close')
      assert.match(failure.nextAction, /\S/)
      assert.match(failureText(failure), /^[a-z_]+: .*\nNext: \S/s)
      if (error instanceof OperationError) assert.equal(failure, error.failure)
    }
  })

  it('shows beside its cause what could not be cleaned up', () => {
    const { failure } = invalidRequest('delegate', 'It failed.', 'Try again.')
    const text = failureText({ ...failure, cleanupCause: 'the disk is full' })
    assert.match(text, /It failed\.\nNot cleaned up: the disk is full\nNext: Try again\./)
  })
})
