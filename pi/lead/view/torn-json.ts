/**
 * The value of which this is the beginning, as far as it goes: what is open is closed, what is half said is left out.
 *
 * @returns undefined - nothing can be made of it
 */
export function tornJson(beginning: string): unknown {
  const { open, isInString, end, lastComma } = scan(beginning)
  const closed = [
    isInString && `${beginning.slice(0, end)}"${open}`,
    beginning + open,
    lastComma && beginning.slice(0, lastComma.at) + lastComma.open,
  ]
  for (const text of closed) {
    const value = typeof text === 'string' ? parsed(text) : undefined
    if (value !== undefined) return value
  }
  return undefined
}

interface Scan {
  /** The brackets that would close all that is open. */
  readonly open: string
  readonly isInString: boolean
  /** Before an escape that is half said. */
  readonly end: number
  /** Where the last whole value ended, and what was open there. */
  readonly lastComma: { readonly at: number; readonly open: string } | undefined
}

function scan(text: string): Scan {
  let open = ''
  let isInString = false
  let end = text.length
  let lastComma: Scan['lastComma']
  for (let at = 0; at < text.length; at++) {
    const letter = text[at]
    if (isInString) {
      if (letter === '\\') {
        const length = text[at + 1] === 'u' ? 6 : 2
        if (at + length > text.length) end = at
        at += length - 1
      } else if (letter === '"') isInString = false
    } else if (letter === '"') isInString = true
    else if (letter === '{') open = `}${open}`
    else if (letter === '[') open = `]${open}`
    else if (letter === '}' || letter === ']') open = open.slice(1)
    else if (letter === ',') lastComma = { at, open }
  }
  return { open, isInString, end, lastComma }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
