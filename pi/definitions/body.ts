import { pathFrom } from '../paths.ts'
import type { Definition } from './overlay.ts'
import { fileBytesMax, type ReadText, readText } from './read-text.ts'

/** `@path` lines of one body, and bytes of the expanded text. */
const referencesMax = 32
const expandedBytesMax = 262_144

export type ExpandedBody =
  | { readonly text: string }
  | { readonly path: string; readonly problem: string }

/**
 * The body with every line that is an `@path`, from its first character to its last, replaced by that file's text.
 * Done once, when work is delegated: what the text brings in is not looked at again. Paths start at the defining file.
 * Lines in a fenced code block and indented lines stay as they are.
 */
export function expandBody(definition: Definition, read: ReadText = readText): ExpandedBody {
  const { name, body, bodyDirectory, origins } = definition
  const firstLine = origins.body?.line ?? 1
  const refuse = (line: number, path: string, problem: string): ExpandedBody => {
    const place = `${origins.body?.path ?? definition.path}:${firstLine + line}`
    const way = 'Correct the path; if it is meant as text, indent the line'
    return { path, problem: `definition ${name} refers to ${path}: ${problem} (${place}). ${way}.` }
  }

  const lines: string[] = []
  let fence: string | undefined
  let references = 0
  for (const [index, line] of body.split('\n').entries()) {
    const mark = /^\s{0,3}(`{3,}|~{3,})/.exec(line)?.[1]
    if (mark !== undefined) fence = closes(fence, mark) ? undefined : (fence ?? mark)
    const reference = fence === undefined ? /^@(\S.*)$/.exec(line)?.[1]?.trimEnd() : undefined
    if (reference === undefined) {
      lines.push(line)
      continue
    }
    const path = pathFrom(bodyDirectory, reference)
    if (++references > referencesMax)
      return refuse(index, path, `more than ${referencesMax} references`)
    const file = read(path, fileBytesMax)
    if ('problem' in file) return refuse(index, path, file.problem)
    lines.push(
      file.text
        .replace(/^\uFEFF/, '')
        .replace(/\r\n?/g, '\n')
        .trimEnd(),
    )
  }
  const text = lines.join('\n')
  if (Buffer.byteLength(text) <= expandedBytesMax) return { text }
  const problem = `the body of definition ${name} with its references exceeds ${expandedBytesMax} bytes. Shorten it.`
  return { path: definition.path, problem }
}

function closes(fence: string | undefined, mark: string): boolean {
  return fence !== undefined && mark[0] === fence[0] && mark.length >= fence.length
}
