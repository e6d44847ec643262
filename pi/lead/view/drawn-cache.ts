import type { Block, Item, ToolAnswer } from './entries.ts'

/** Lines kept; those drawn longest ago are let go. */
const linesMax = 10_000

interface Drawn {
  readonly answer: ToolAnswer | undefined
  readonly shape: string
  readonly lines: readonly string[]
}

/** What was drawn lately: the host draws the screen many times a second while it works. */
export class DrawnCache {
  readonly #drawn = new Map<Block, Drawn>()
  #lines = 0

  /** @param shape all that decides how an item is drawn, beside the item itself */
  lines({ block, answer }: Item, shape: string, draw: () => readonly string[]): readonly string[] {
    const known = this.#drawn.get(block)
    if (known !== undefined) this.#forget(block, known)
    const fits = known !== undefined && known.answer === answer && known.shape === shape
    const drawn = fits ? known : { answer, shape, lines: draw() }
    this.#drawn.set(block, drawn)
    this.#lines += drawn.lines.length
    for (const [oldest, each] of this.#drawn) {
      if (this.#lines <= linesMax || oldest === block) break
      this.#forget(oldest, each)
    }
    return drawn.lines
  }

  clear(): void {
    this.#drawn.clear()
    this.#lines = 0
  }

  #forget(block: Block, { lines }: Drawn): void {
    this.#drawn.delete(block)
    this.#lines -= lines.length
  }
}
