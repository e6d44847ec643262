import { randomBytes } from 'node:crypto'

const digits = '123456789ABCDEFGHJKMNPQRSTVWXYZ0'

/** A number from 1 on, in bijective base 32: 9 is `9`, 10 is `A`, 32 is `0`, 33 is `11`. */
export function numberText(number: number): string {
  let text = ''
  for (let rest = number; rest > 0; rest = Math.floor((rest - 1) / 32))
    text = digits.charAt((rest - 1) % 32) + text
  return text
}

let terminals = 0

/** An id no terminal had before, in this process or another. */
export function newTerminalId(): string {
  terminals += 1
  return `term_${randomBytes(5).toString('hex')}${terminals.toString(16).padStart(4, '0')}`
}
