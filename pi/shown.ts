/**
 * Text of somebody else, as it may be put before a model or on a terminal: it moves no cursor, turns no line round,
 * hides nothing, and is as long as it is allowed to be. Everything Drover shows of others passes through here.
 */

/** Longest text shown where its place sets no other limit, characters. */
const textCharsMax = 4_096

/** Terminal sequences: strings with their end (titles, links), then control sequences, then short escapes. */
const sequences =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  /(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x90\x98\x9b-\x9f]*(?:\x07|\x1b\\|\x9c)|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b[ -/]*[0-~]/g

/** Line ends of any kind; a bare carriage return would let a line be written over. */
const lineEnds = /\r\n|[\r\v\f\x85\u2028\u2029]/g

/** Controls but tab and newline; overrides and isolates of direction; invisible letters, which only a model reads. */
const unseen = /(?![\t\n])\p{Cc}|[\u202a-\u202e\u2066-\u2069]|[\u{e0000}-\u{e007f}]/gu

const halfCharacters = /\p{Surrogate}/gu

function cleaned(text: string): string {
  return text
    .replace(sequences, '')
    .replace(lineEnds, '\n')
    .replace(unseen, '')
    .replace(halfCharacters, '\ufffd')
}

/** As a text of lines; where it is cut, it says so. */
export function shownText(text: string, charsMax: number = textCharsMax): string {
  const clean = cleaned(text)
  if (clean.length <= charsMax) return clean
  return `${beginning(clean, charsMax)}… [cut here; ${clean.length} characters in all]`
}

/** As one line; where it is cut, it ends in an ellipsis. */
export function shownLine(text: string, charsMax: number = textCharsMax): string {
  const line = cleaned(text).replace(/[\t\n]+/g, ' ')
  return line.length <= charsMax ? line : `${beginning(line, charsMax - 1)}…`
}

/** A value as JSON holds it, every text in it as it may be shown. */
export function shownData<T>(value: T): T {
  if (typeof value === 'string') return shownText(value) as T
  if (Array.isArray(value)) return value.map(shownData) as T
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, each]) => [key, shownData(each)])
  return Object.fromEntries(entries) as T
}

/** Never half a character. */
function beginning(text: string, chars: number): string {
  const end = /[\ud800-\udbff]/.test(text.charAt(chars - 1)) ? chars - 1 : chars
  return text.slice(0, end)
}
