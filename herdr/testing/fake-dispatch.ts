import { z } from 'zod'
import type { Connection } from './fake-connection.ts'
import type { Fault } from './fake-faults.ts'
import type { Call, Method } from './fake-method.ts'
import { methods, removed, unplayed, withoutLayout } from './fake-methods.ts'
import { BadSubscription } from './fake-methods-events.ts'
import { type Profile, Refusal } from './fake-records.ts'
import type { Stage } from './fake-stage.ts'
import { tick } from './fake-waits.ts'

/** A request as it was asked. */
export interface SeenRequest {
  readonly method: string
  readonly params: unknown
  /** Milliseconds since 1970. */
  readonly at: number
}

const envelope = z.object({
  id: z.string(),
  method: z.string(),
  params: z.record(z.string(), z.unknown()),
})

type Request = z.output<typeof envelope>

/** Takes the one request of a connection, carries it out, answers it and ends the connection. */
export async function serve(
  stage: Stage,
  connection: Connection,
  seen: (request: SeenRequest) => void,
): Promise<void> {
  const line = await connection.line()
  if (line === undefined) return
  const request = parsed(line)
  if (request instanceof Refusal) {
    const id = stage.setting.profile === '0.8' ? '' : idIn(line)
    return connection.answer(errorLine(id, request), undefined)
  }
  seen({ method: request.method, params: request.params, at: Date.now() })
  const fault = stage.faults.next(request.method)
  if (fault?.kind === 'drop') return connection.close()
  if (fault?.kind === 'silent') return connection.closeOnceLeft()
  if (fault?.kind === 'delay') await tick(fault.ms, new AbortController().signal)
  const answer = await answerTo(stage, request, connection, fault)
  if (fault?.kind === 'delayAfter') await tick(fault.ms, new AbortController().signal)
  if (answer === undefined) connection.end()
  else await connection.answer(answer, fault)
}

/** Undefined when nothing is left to say. */
async function answerTo(
  stage: Stage,
  request: Request,
  connection: Connection,
  fault: Fault | undefined,
): Promise<object | undefined> {
  const { id } = request
  try {
    if (fault?.kind === 'error') throw new Refusal(fault.code, fault.message ?? fault.code)
    const method = methodOf(stage, request.method)
    const params = method.params.safeParse(request.params)
    if (!params.success) throw invalid(params.error.issues[0]?.message ?? 'wrong parameters')
    if (fault?.kind === 'lie') return { id, result: { type: 'ok' } }
    const { signal } = connection
    const call: Call = { id, signal, send: (line) => connection.send(line, fault) }
    const run = async () => method.run(stage, params.data as never, call)
    const result = await (method.kind === 'loop' ? stage.run(run) : run())
    return result === undefined ? undefined : { id, result }
  } catch (cause) {
    if (cause instanceof Refusal) return errorLine(errorId(stage.setting.profile, id, cause), cause)
    const detail = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)
    return errorLine(id, new Refusal('internal_error', detail))
  }
}

function methodOf({ setting }: Stage, name: string): Method {
  const isKnown = Object.hasOwn(methods, name) || unplayed.has(name)
  if (!isKnown || (setting.profile !== '0.8' && removed.has(name))) {
    if (setting.profile !== '0.8') throw new Refusal('unknown_method', `unknown method: ${name}`)
    throw invalid(`unknown variant ${name}`)
  }
  if (setting.withoutLayout && withoutLayout.has(name))
    throw new Refusal('unsupported', `${name} is not supported`)
  const method = Object.hasOwn(methods, name) ? methods[name] : undefined
  if (method === undefined) throw new Refusal('not_implemented', `${name} is not implemented`)
  return method
}

function errorId(profile: Profile, id: string, cause: Refusal): string {
  if (cause instanceof BadSubscription) return `${id}:sub:${cause.index}:probe`
  return cause.code === 'invalid_request' && profile === '0.8' ? '' : id
}

function parsed(line: string): Request | Refusal {
  try {
    const request = envelope.safeParse(JSON.parse(line))
    return request.success
      ? request.data
      : invalid(request.error.issues[0]?.message ?? 'wrong request')
  } catch {
    return invalid('not JSON')
  }
}

function idIn(line: string): string {
  try {
    const { id } = JSON.parse(line)
    return typeof id === 'string' ? id : ''
  } catch {
    return ''
  }
}

const invalid = (why: string): Refusal => new Refusal('invalid_request', `invalid request: ${why}`)

const errorLine = (id: string, { code, message }: Refusal): object => ({
  id,
  error: { code, message },
})
