import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { generationPaths } from '../mailbox/index.ts'
import { MemoryFs } from '../mailbox/testing/index.ts'
import { AgentMailbox } from './agent-mailbox.ts'
import { aGeneration, idOf, sequentialIds } from './testing/index.ts'

describe('what a mailbox says of itself', () => {
  it('names a disk that says no only as long as it does', () => {
    const { fs, mailbox } = aMailbox()
    fs.failAt(fs.operations, 'EIO', 'forever')
    assert.equal(mailbox.look(), 'problem')
    assert.match(mailbox.diagnostic ?? '', /EIO/)
    fs.heal()
    assert.equal(mailbox.look(), 'current')
    assert.equal(mailbox.diagnostic, undefined)
  })

  it('names an untrusted file for good, and a disk that says no beside it', () => {
    const { fs, mailbox } = aMailbox()
    fs.plant(`${mailbox.paths.agent}/stray`, 'file')
    assert.equal(mailbox.look(), 'current')
    const untrusted = mailbox.diagnostic ?? ''
    assert.match(untrusted, /^1 untrusted file\(s\), last: stray \(.*\)$/)
    fs.failAt(fs.operations, 'EIO', 'forever')
    mailbox.look()
    assert.ok(mailbox.diagnostic?.startsWith(`${untrusted}; `))
    assert.match(mailbox.diagnostic ?? '', /EIO/)
    fs.heal()
    mailbox.look()
    assert.equal(mailbox.diagnostic, untrusted)
  })

  it('names a ready.json that cannot be trusted until it can', () => {
    const { fs, mailbox } = aMailbox()
    fs.plant(mailbox.paths.ready, 'symlink')
    mailbox.look()
    assert.equal(mailbox.diagnostic, 'ready.json cannot be trusted')
    fs.remove(mailbox.paths.ready)
    mailbox.look()
    assert.equal(mailbox.diagnostic, undefined)
  })
})

function aMailbox(): { readonly fs: MemoryFs; readonly mailbox: AgentMailbox } {
  const fs = new MemoryFs()
  const paths = generationPaths('/owner', idOf('a'))
  for (const directory of ['/owner', paths.directory, paths.owner, paths.agent, paths.quarantine])
    fs.makeDirectory(directory)
  const mailbox = new AgentMailbox(fs, sequentialIds(), paths, aGeneration('a'), 'quarantine')
  return { fs, mailbox }
}
