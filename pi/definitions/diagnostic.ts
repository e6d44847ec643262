/** Something a person should know about a definition file. An error keeps the definition from being used. */
export interface Diagnostic {
  readonly severity: 'error' | 'warning'
  readonly path: string
  /** Counted from 1; absent where it is about a directory. */
  readonly line?: number
  readonly message: string
}

/** Text of a stranger as it may stand in a message: one line, bounded, quoted. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > 64 ? `${text.slice(0, 63)}…` : text)
}
