import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import type { Attachment } from '../mailbox/index.ts'
import { attach, attachmentsMax, recordBytes } from './attachments.ts'

const cwd = mkdtempSync(join(tmpdir(), 'drover-attachments-'))
after(() => rmSync(cwd, { recursive: true }))
const write = (name: string, data: string | Uint8Array) => writeFileSync(join(cwd, name), data)
write('a.txt', 'alpha 🐑')
write('b.txt', 'beta')
write('big.txt', 'x'.repeat(2_000))
write('nul.bin', 'a\0b')
write('latin.txt', Buffer.from([0xe4, 0xf6]))
mkdirSync(join(cwd, 'dir'))
symlinkSync('a.txt', join(cwd, 'link.txt'))
linkSync(join(cwd, 'a.txt'), join(cwd, 'hard.txt'))
spawnSync('mkfifo', [join(cwd, 'pipe')])

const text = 'Look at these.'
const size = (files: readonly Attachment[]) => recordBytes(text, files)
const attached = (names: string[], recordBytesMax = 100_000, inlineBytesMax = 1_000) =>
  attach(names, { cwd, text, inlineBytesMax, recordBytesMax })
const path = (name: string) => join(cwd, name)

describe('attached files', () => {
  it('travel whole, in order, by their canonical path', () => {
    assert.deepEqual(attached(['b.txt', './link.txt']), [
      { path: path('b.txt'), bytes: 4, text: 'beta' },
      { path: path('a.txt'), bytes: 10, text: 'alpha 🐑' },
    ])
  })

  it('count once, under whatever name they come', () => {
    const names = ['a.txt', 'link.txt', 'hard.txt', path('a.txt')]
    assert.deepEqual(attached(names), [{ path: path('a.txt'), bytes: 10, text: 'alpha 🐑' }])
  })

  it('go by path and size where they are no text, or too large', () => {
    assert.deepEqual(attached(['nul.bin', 'latin.txt', 'big.txt']), [
      { path: path('nul.bin'), bytes: 3 },
      { path: path('latin.txt'), bytes: 2 },
      { path: path('big.txt'), bytes: 2_000 },
    ])
  })

  it('are embedded only while the record with them fits, and never in part', () => {
    const whole = attached(['a.txt', 'b.txt'])
    assert.ok(Array.isArray(whole))
    const limit = size(whole)
    assert.deepEqual(attached(['a.txt', 'b.txt'], limit), whole)
    assert.deepEqual(attached(['a.txt', 'b.txt'], limit - 1), [
      { path: path('a.txt'), bytes: 10, text: 'alpha 🐑' },
      { path: path('b.txt'), bytes: 4 },
    ])
  })

  for (const [name, expected] of [
    ['absent.txt', /absent\.txt does not exist/],
    ['dir', /dir is a directory/],
    ['pipe', /pipe is not a regular file/],
    ['a.txt/b', /cannot be read|does not exist/],
  ] as const)
    it(`are refused with the reason: ${name}`, () => {
      const refused = attached([name])
      assert.ok('problem' in refused)
      assert.match(refused.problem, expected)
      assert.notEqual(refused.next, '')
    })

  it('are refused when there are too many', () => {
    const refused = attached(new Array<string>(attachmentsMax + 1).fill('a.txt'))
    assert.ok('problem' in refused)
    assert.match(refused.problem, /65 files are attached; at most 64/)
  })
})
