/** `error`: something cannot work as it is. `warning`: somebody should look at it. */
export type Severity = 'error' | 'warning'

export interface Finding {
  readonly severity: Severity
  readonly what: string
  /** What to do about it. */
  readonly remedy: string
  /** A command that does it, whole, so that it can be copied. */
  readonly run?: string
}

/** What one check came to. */
export interface CheckReport {
  /** What is so, for a person to know; nothing is wrong with it. */
  readonly facts: readonly string[]
  readonly findings: readonly Finding[]
  /** What this check cannot see by its nature. */
  readonly blind?: readonly string[]
}

export interface Check {
  readonly name: string
  /** Throws where it could not look. */
  readonly run: () => CheckReport | Promise<CheckReport>
}

/** Findings of one kind that are listed one by one. */
const listedMax = 20

/** Many findings of one kind, the rest of them counted. */
export function bounded(findings: readonly Finding[]): readonly Finding[] {
  const [next, ...rest] = findings.slice(listedMax)
  if (next === undefined) return findings
  const what = `and ${rest.length + 1} more of this kind, such as: ${next.what}`
  return [...findings.slice(0, listedMax), { ...next, what }]
}

/** A number of things, by name. */
export const counted = (count: number, name: string, names: string = `${name}s`): string =>
  `${count} ${count === 1 ? name : names}`
