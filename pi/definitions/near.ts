/** Longest text that is compared, in characters: more is never a slip of the pen. */
const comparedMax = 80

/** The candidate nearest to `text`, if at most `distanceMax` slips away; the first of equals. */
export function nearMatch(
  text: string,
  candidates: Iterable<string>,
  distanceMax: number = Math.max(1, Math.floor(text.length / 3)),
): string | undefined {
  let nearest: string | undefined
  let least = distanceMax + 1
  for (const candidate of candidates) {
    if (Math.max(text.length, candidate.length) > comparedMax) continue
    const distance = slips(text, candidate)
    if (distance < least) [nearest, least] = [candidate, distance]
  }
  return nearest
}

/** Letters missing, added, wrong, or swapped with their neighbour (optimal string alignment). */
function slips(a: string, b: string): number {
  let before: number[] = []
  let above = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let row = 1; row <= a.length; row++) {
    const now = [row]
    for (let column = 1; column <= b.length; column++) {
      const wrong = a[row - 1] === b[column - 1] ? 0 : 1
      const swapped =
        row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
      now[column] = Math.min(
        (above[column] ?? 0) + 1,
        (now[column - 1] ?? 0) + 1,
        (above[column - 1] ?? 0) + wrong,
        swapped ? (before[column - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      )
    }
    before = above
    above = now
  }
  return above[b.length] ?? 0
}
