/**
 * Whether the source of an extension registers a tool of some name, as far as its text tells: the name stands there as
 * a string, or as a constant that is one.
 */
export function registersTool(files: readonly string[], name: string): boolean {
  const sources = files.map(withoutComments)
  if (!sources.some((source) => /\bregisterTool\b/.test(source))) return false
  const quoted = `(['"\`])${name}\\1`
  const constants = sources.flatMap((source) =>
    [
      ...source.matchAll(
        new RegExp(`\\b(?:const|let|var)\\s+([\\w$]+)[^=;\\n]*=\\s*(['"\`])${name}\\2`, 'g'),
      ),
    ].flatMap(([, constant]) => constant ?? []),
  )
  return sources.some(
    (source) =>
      /\bexecute\b/.test(source) &&
      (new RegExp(`\\bname['"]?\\s*:\\s*${quoted}`).test(source) ||
        constants.some((constant) =>
          new RegExp(`\\bname['"]?\\s*:\\s*${constant.replaceAll('$', '\\$')}\\b`).test(source),
        )),
  )
}

/** Paths of other files of its own that a source names. */
export function relativeImports(source: string): readonly string[] {
  const found = withoutComments(source).matchAll(
    /\b(?:from|import|require)\s*\(?\s*(['"`])(\.{1,2}\/[^'"`\n]+)\1/g,
  )
  return [...found].flatMap(([, , path]) => path ?? [])
}

/** Whole lines and blocks of them: a comment behind code stays, which harms nothing here. */
function withoutComments(source: string): string {
  return source.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '')
}
