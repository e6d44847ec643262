import {
  type CloseRecord,
  type FailureCode,
  type GenerationFile,
  type Ids,
  keepText,
  limits,
  type MailboxFs,
  type RootPaths,
  resultPath,
  type TaskRecord,
  type WholeText,
} from '../mailbox/index.ts'
import type { AgentWriter } from './agent-writer.ts'
import type { CloseReport } from './cascade.ts'
import { head } from './delivery.ts'
import type { AgentHost, RunEnd } from './ports.ts'

export interface AgentEndPorts {
  readonly fs: MailboxFs
  readonly ids: Ids
  readonly root: RootPaths
  readonly generation: GenerationFile
  readonly host: AgentHost
}

/** What an assignment comes to, and how that is written down. Each answer says whether it is durable. */
export class AgentEnd {
  readonly #ports: AgentEndPorts
  readonly #writer: AgentWriter

  constructor(ports: AgentEndPorts, writer: AgentWriter) {
    this.#ports = ports
    this.#writer = writer
  }

  /** The run is really over. */
  write(task: TaskRecord, end: RunEnd): Promise<boolean> {
    if (end.outcome === 'aborted')
      return this.fail(
        task,
        'interrupted',
        'The run was stopped, and there is nobody who could go on.',
      )
    if (end.outcome === 'failed') return this.fail(task, 'model_error', end.message)
    if (!/\S/.test(end.text))
      return this.fail(task, 'empty_result', 'The agent ended without an answer.')
    return this.#complete(task, end.text)
  }

  #complete(task: TaskRecord, text: string): Promise<boolean> {
    const usage = this.#ports.host.usage()
    return this.#writer.insist('completed', async () => {
      return { kind: 'result', request: task.id, ...(await this.#fit(text)), usage }
    })
  }

  fail(task: TaskRecord, code: FailureCode, message: string): Promise<boolean> {
    const usage = this.#ports.host.usage()
    const shown = head(message, limits.resultInlineBytesMax).trim() || code
    return this.#writer.insist('failed', async () => {
      return { kind: 'failure', request: task.id, code, message: shown, usage }
    })
  }

  /** A long text is durable in its own file before the record that names it. */
  async #fit(text: string): Promise<{ readonly text: string; readonly whole?: WholeText }> {
    const bytes = Buffer.byteLength(text)
    if (bytes <= limits.resultInlineBytesMax) return { text }
    const { fs, ids, root, generation } = this.#ports
    const file = resultPath(root, generation.identity.generation)
    await keepText(fs, ids, file, text)
    return { text: head(text.trimStart(), limits.resultInlineBytesMax), whole: { file, bytes } }
  }

  /** It was closed, and with it what it owned: whatever was to be written before, the close came first. */
  close({ id }: CloseRecord, report: CloseReport): Promise<boolean> {
    this.#writer.startAnotherEnd()
    return this.#writer.insist('closed', async () => ({
      kind: 'closed',
      request: id,
      ...bounded(report),
    }))
  }
}

/** A reader takes no longer lists and texts than these. */
function bounded({ closed, notClosed, kept }: CloseReport): CloseReport {
  const { reportListMax, reportReasonCharsMax } = limits
  return {
    closed: closed.slice(0, reportListMax),
    notClosed: notClosed
      .slice(0, reportListMax)
      .map(({ label, why }) => ({ label, why: why.slice(0, reportReasonCharsMax) })),
    kept: kept.slice(0, reportListMax),
  }
}
