import type { Block, Item } from './entries.ts'

/** An item as lines, at the width that is shown. */
export type Draw = (item: Item) => readonly string[]

/** A line of the conversation. */
interface Spot {
  readonly item: number
  readonly line: number
}

/**
 * Which part of the conversation is shown: its end, or what the person has scrolled to, which stays where it is while the
 * conversation grows. Only what is shown and what is scrolled over is drawn, however long the conversation is.
 */
export class Viewport {
  /** The topmost line that is shown; undefined while the end is. */
  #anchor: { readonly block: Block; readonly line: number } | undefined
  #items: readonly Item[] = []
  #height = 1
  #draw: Draw = () => []

  get followsEnd(): boolean {
    return this.#anchor === undefined
  }

  /** The lines to show, at most `height`. */
  show(items: readonly Item[], height: number, draw: Draw): readonly string[] {
    this.#items = items
    this.#height = height
    this.#draw = draw
    const lines: string[] = []
    let { item, line } = this.#top()
    for (; item < items.length && lines.length < height; item++, line = 0)
      lines.push(...this.#lines(item).slice(line, line + height - lines.length))
    return lines
  }

  /** Moves by lines, or by screens; down to the end, which is followed from then on. */
  scroll(by: number, unit: 'lines' | 'screens'): void {
    const lines = unit === 'lines' ? by : by * Math.max(1, this.#height - 1)
    this.#moveTo(this.#moved(this.#top(), lines))
  }

  toStart(): void {
    this.#moveTo({ item: 0, line: 0 })
  }

  toEnd(): void {
    this.#anchor = undefined
  }

  #moveTo(to: Spot): void {
    const spot = this.#moved(to, 0) // past what has no lines
    const block = this.#items[spot.item]?.block
    this.#anchor =
      block === undefined || !isBefore(spot, this.#endTop())
        ? undefined
        : { block, line: spot.line }
  }

  #top(): Spot {
    const end = this.#endTop()
    if (this.#anchor === undefined) return end
    const { block, line } = this.#anchor
    const item = Math.max(
      0,
      this.#items.findIndex((each) => each.block === block), // let go of: what is the oldest now
    )
    const last = Math.max(0, this.#lines(item).length - 1)
    const top = this.#moved({ item, line: Math.min(line, last) }, 0)
    return isBefore(top, end) ? top : end
  }

  /** The topmost line when the end is shown. */
  #endTop(): Spot {
    return this.#moved({ item: this.#items.length, line: 0 }, -this.#height)
  }

  #moved({ item, line }: Spot, by: number): Spot {
    let at = line + by
    while (at < 0 && item > 0) at += this.#lines(--item).length
    at = Math.max(0, at)
    while (item < this.#items.length && at >= this.#lines(item).length)
      at -= this.#lines(item++).length
    return { item, line: at }
  }

  #lines(item: number): readonly string[] {
    const found = this.#items[item]
    return found === undefined ? [] : this.#draw(found)
  }
}

const isBefore = (a: Spot, b: Spot): boolean =>
  a.item < b.item || (a.item === b.item && a.line < b.line)
