/**
 * How wide a text is on a terminal, in columns. The host has functions of its own for this, which this command cannot
 * use: it loads no host.
 */

const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

/** Drawn two columns wide: East Asian wide and fullwidth letters. Pictures are told by their properties. */
const wide =
  /[\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{16fe0}-\u{18aff}\u{1b000}-\u{1b2ff}\u{20000}-\u{3fffd}]/u

const picture = /\p{Emoji_Presentation}|\ufe0f|\p{Regional_Indicator}/u

/** Drawn on what stands before it, or not at all. */
const without = /^[\p{M}\p{Cf}\p{Cc}\p{Default_Ignorable_Code_Point}]+$/u

/** Columns of one character as a person sees it. */
function columnsOf(character: string): number {
  if (without.test(character)) return 0
  return picture.test(character) || wide.test(character) ? 2 : 1
}

const plainLine = /^[\x20-\x7e]*$/

export function displayWidth(line: string): number {
  if (plainLine.test(line)) return line.length
  let width = 0
  for (const { segment } of segmenter.segment(line)) width += columnsOf(segment)
  return width
}

/** The line within so many columns; where it is cut, it ends in an ellipsis. */
export function clipped(line: string, columns: number): string {
  if (displayWidth(line) <= columns) return line
  if (columns <= 0) return ''
  let text = ''
  let width = 0
  for (const { segment } of segmenter.segment(line)) {
    const next = columnsOf(segment)
    if (width + next > columns - 1) break
    text += segment
    width += next
  }
  return `${text}…`
}

/** The line filled with blanks to so many columns. */
export function padded(line: string, columns: number): string {
  return line + ' '.repeat(Math.max(0, columns - displayWidth(line)))
}

/** A text as lines of at most so many columns, broken at blanks where there are some. */
export function wrapped(text: string, columns: number): string[] {
  return text.split('\n').flatMap((line) => wrappedLine(line, Math.max(1, columns)))
}

function wrappedLine(line: string, columns: number): string[] {
  if (displayWidth(line) <= columns) return [line]
  const lines: string[] = []
  let now = ''
  for (const word of line.match(/\s*\S+|\s+$/g) ?? []) {
    if (displayWidth(now + word) <= columns) {
      now += word
      continue
    }
    if (now !== '') lines.push(now)
    now = word.trimStart()
    while (displayWidth(now) > columns) {
      const head = beginning(now, columns)
      lines.push(head)
      now = now.slice(head.length)
    }
  }
  if (now !== '') lines.push(now)
  return lines
}

/** At least one character, so that there is an end. */
function beginning(text: string, columns: number): string {
  let head = ''
  let width = 0
  for (const { segment } of segmenter.segment(text)) {
    width += columnsOf(segment)
    if (width > columns && head !== '') break
    head += segment
  }
  return head
}
