import { type Component, truncateToWidth, visibleWidth } from '@mariozechner/pi-tui'

/** Ends what was coloured; the host puts it round an ellipsis. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is what is looked for
const resets = /\x1b\[0m/g

/** A text without colours, as much of it as fits into so many columns; where it is cut, it ends in an ellipsis. */
export function clipped(text: string, columns: number): string {
  if (visibleWidth(text) <= columns) return text
  return truncateToWidth(text, Math.max(0, columns), '…').replace(resets, '')
}

/** The same, filled up with spaces. */
export function fitted(text: string, columns: number, align: 'left' | 'right' = 'left'): string {
  const part = clipped(text, columns)
  const space = ' '.repeat(Math.max(0, columns - visibleWidth(part)))
  return align === 'left' ? part + space : space + part
}

/** Components in a column, none of their lines wider than the screen: the host ends with an error where one is. */
export class Narrow implements Component {
  readonly #parts: readonly Component[]

  constructor(...parts: readonly Component[]) {
    this.#parts = parts
  }

  render(width: number): string[] {
    return this.#parts.flatMap((part) =>
      part
        .render(width)
        .map((line) => (visibleWidth(line) <= width ? line : truncateToWidth(line, width, ''))),
    )
  }

  invalidate(): void {
    for (const part of this.#parts) part.invalidate()
  }
}

/** One line, cut where the screen ends. */
export class OneLine implements Component {
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  render(width: number): string[] {
    return [truncateToWidth(this.#text, width, '…')]
  }

  invalidate(): void {}
}
