/** One line of a file, without its end: all of it, or as much of its beginning as is kept. */
export interface Line {
  /** Whole characters. */
  readonly text: string
  /** Length of the line as it is in the file. */
  readonly bytes: number
  readonly isCut: boolean
}

const newline = 0x0a

/** Makes lines of bytes that come in pieces of any size. Of a long line it keeps the beginning, and counts the rest. */
export class LineSplitter {
  readonly #bytesMax: number
  #parts: Buffer[] = []
  #kept = 0
  #length = 0

  /** @param bytesMax as much of one line is kept */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** The lines that end in this piece. All of them have to be taken; what is left waits for the next piece. */
  *push(piece: Uint8Array): Generator<Line, void> {
    for (let from = 0; from < piece.length; ) {
      const end = piece.indexOf(newline, from)
      this.#keep(piece.subarray(from, end === -1 ? piece.length : end))
      if (end === -1) return
      yield this.#taken()
      from = end + 1
    }
  }

  #keep(bytes: Uint8Array): void {
    const room = this.#bytesMax - this.#kept
    this.#length += bytes.length
    if (room <= 0 || bytes.length === 0) return
    const kept = Buffer.from(bytes.subarray(0, room)) // a copy: the piece is used again
    this.#parts.push(kept)
    this.#kept += kept.length
  }

  #taken(): Line {
    const isCut = this.#length > this.#kept
    const bytes = Buffer.concat(this.#parts)
    const line = {
      text: (isCut ? wholeCharacters(bytes) : bytes).toString(),
      bytes: this.#length,
      isCut,
    }
    this.#parts = []
    this.#kept = 0
    this.#length = 0
    return line
  }
}

/** Without the character that the end of these bytes has split. */
export function wholeCharacters(bytes: Buffer): Buffer {
  let start = bytes.length - 1
  while (start > 0 && bytes.length - start < 4 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start--
  const lead = bytes[start] ?? 0
  const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1
  return start + length > bytes.length ? bytes.subarray(0, start) : bytes
}
