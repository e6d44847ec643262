import { eventShapes, recordShapes, resultShapes, type Shape, words } from './shapes.ts'

/** What is wrong with the shape of one line of a server; empty when nothing is. */
export function misshapen(line: unknown): readonly string[] {
  if (!isRecord(line)) return ['not an object']
  const { event, data, error, result } = line
  if (typeof event === 'string') return against(eventShapes[event], data, event)
  if (isRecord(error)) {
    const { code, message } = error
    return typeof code === 'string' && typeof message === 'string' ? [] : ['error without code']
  }
  const type = isRecord(result) ? String(result['type']) : ''
  return against(resultShapes[type], result, type)
}

function against(shape: Shape | undefined, value: unknown, at: string): readonly string[] {
  if (shape === undefined) return [`${at}: no such shape`]
  if (!isRecord(value)) return [`${at}: not an object`]
  const { required, optional } = shape
  const missing = Object.keys(required).filter((name) => !(name in value))
  return [
    ...missing.map((name) => `${at}.${name}: missing`),
    ...Object.entries(value).flatMap(([name, field]) => {
      const kind = required[name] ?? optional[name]
      return kind === undefined ? [`${at}.${name}: unknown`] : ofKind(kind, field, `${at}.${name}`)
    }),
  ]
}

function ofKind(kind: string, value: unknown, at: string): readonly string[] {
  if (kind.endsWith('[]')) {
    if (!Array.isArray(value)) return [`${at}: not a list`]
    return value.flatMap((each, index) => ofKind(kind.slice(0, -2), each, `${at}[${index}]`))
  }
  if (kind === 'EventEnvelope') return envelope(value, at)
  if (kind === 'LayoutNode')
    return against(recordShapes[`LayoutNode ${isRecord(value) && value['type']}`], value, at)
  if (recordShapes[kind] !== undefined) return against(recordShapes[kind], value, at)
  return isPlain(kind, value) ? [] : [`${at}: not ${kind}: ${JSON.stringify(value)}`]
}

function isPlain(kind: string, value: unknown): boolean {
  if (kind.startsWith('=')) return value === kind.slice(1)
  if (words[kind] !== undefined) return words[kind].includes(String(value))
  if (kind === 'integer') return Number.isInteger(value)
  if (kind === 'map')
    return isRecord(value) && Object.values(value).every((each) => typeof each === 'string')
  return typeof value === kind
}

function envelope(value: unknown, at: string): readonly string[] {
  if (!isRecord(value)) return [`${at}: not an object`]
  const { event, data } = value
  return against(eventShapes[String(event)], data, at)
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
