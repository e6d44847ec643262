import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { MailboxError } from './errors.ts'
import type { MailboxFs, ReadOutcome } from './ports.ts'
import { seed } from './testing/builders.ts'
import { bytesOf, disk, memory } from './testing/file-systems.ts'

type Call = (fs: MailboxFs, root: string) => unknown

/** Any call of the port, on few enough names that they meet. */
function anyCall(): fc.Arbitrary<Call> {
  const path = fc.constantFrom('a', 'b', 'a/a', 'a/b', 'b/a', 'a/a/a', 'a/b/a')
  const text = fc.constantFrom('', '1', '22')
  const one = (call: (fs: MailboxFs, path: string) => unknown): fc.Arbitrary<Call> =>
    path.map((p) => named(call, [p], (fs, root) => call(fs, `${root}/${p}`)))
  const two = (call: (fs: MailboxFs, from: string, to: string) => unknown): fc.Arbitrary<Call> =>
    fc
      .tuple(path, path)
      .map(([p, q]) => named(call, [p, q], (fs, root) => call(fs, `${root}/${p}`, `${root}/${q}`)))
  return fc.oneof(
    one((fs, p) => fs.makeDirectory(p)),
    one((fs, p) => fs.makeDirectory(p)),
    fc
      .tuple(path, text)
      .map(([p, t]) =>
        named('createSynced', [p, t], (fs, root) => fs.createSynced(`${root}/${p}`, bytesOf(t))),
      ),
    two((fs, from, to) => fs.link(from, to)),
    two((fs, from, to) => fs.rename(from, to)),
    one((fs, p) => fs.remove(p)),
    one((fs, p) => fs.removeTree(p)),
    one((fs, p) => fs.syncDirectory(p)),
    one((fs, p) => fs.list(p)?.toSorted()),
    one((fs, p) => fs.entry(p)),
    one((fs, p) => contentOf(fs.read(p, 1))),
    one((fs, p) => fs.verifyDirectory(p)),
  )
}

/** What a failing run prints of a call. */
const named = (call: unknown, names: readonly string[], run: Call): Call =>
  Object.assign(run, { [fc.toStringMethod]: () => `${call} ${names}` })

const contentOf = (read: ReadOutcome): unknown =>
  'bytes' in read ? Buffer.from(read.bytes).toString() : read

async function outcomeOf(call: () => unknown): Promise<unknown> {
  try {
    return await call()
  } catch (error) {
    return error instanceof MailboxError ? error.code : error
  }
}

it('memory answers every call as the disk does', () =>
  fc.assert(
    fc.asyncProperty(fc.array(anyCall(), { minLength: 10, maxLength: 40 }), async (calls) => {
      const ours = memory.open()
      const real = disk.open()
      for (const call of calls)
        assert.deepEqual(
          await outcomeOf(() => call(ours.fs, ours.root)),
          await outcomeOf(() => call(real.fs, real.root)),
        )
    }),
    { numRuns: 100, ...seed() },
  ))
