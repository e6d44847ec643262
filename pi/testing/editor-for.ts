import type { TestContext } from 'node:test'
import {
  type Clock,
  diskFs,
  rootPaths,
  startRuntime,
  systemClock,
  systemIds,
  systemProcesses,
} from '../../mailbox/index.ts'
import { FileEditor } from '../file-editor.ts'

/** What changes files in an agent directory, as another window does: each has its own. */
export function editorFor(
  t: TestContext,
  agentDirectory: string,
  clock: Clock = systemClock,
): FileEditor {
  const processes = systemProcesses()
  const { runtime, end } = startRuntime(processes, systemIds)
  t.after(end)
  const root = rootPaths(agentDirectory)
  return new FileEditor({
    ...{ fs: diskFs, clock, ids: systemIds, processes, root, runtime },
  })
}
