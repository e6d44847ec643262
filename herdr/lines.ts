/** Longest line of an answer or event that is kept, in bytes. A herdr has no limit of its own. */
export const lineBytesMax: number = 64 * 1_048_576

/** Cuts a stream of bytes into lines, wherever its chunks happen to end. */
export class Lines {
  readonly #bytesMax: number
  #parts: Uint8Array[] = []
  #bytes = 0

  constructor(bytesMax: number = lineBytesMax) {
    this.#bytesMax = bytesMax
  }

  /** Bytes of a line that has not ended yet. */
  get rest(): number {
    return this.#bytes
  }

  /** A line got too long: nothing more is kept. */
  get isTooLong(): boolean {
    return this.#bytes > this.#bytesMax
  }

  /** The lines that end in this chunk, without their ends. */
  push(chunk: Uint8Array): Uint8Array[] {
    const lines: Uint8Array[] = []
    let from = 0
    for (;;) {
      const end = chunk.indexOf(0x0a, from)
      this.#keep(chunk.subarray(from, end === -1 ? chunk.length : end))
      if (end === -1 || this.isTooLong) return lines
      lines.push(Buffer.concat(this.#parts))
      this.#parts = []
      this.#bytes = 0
      from = end + 1
    }
  }

  #keep(part: Uint8Array): void {
    this.#bytes += part.length
    if (!this.isTooLong) this.#parts.push(part)
  }
}
