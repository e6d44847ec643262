import { Refusal } from './fake-records.ts'

const named: Readonly<Record<string, string>> = {
  enter: '\r',
  return: '\r',
  esc: '\x1b',
  escape: '\x1b',
  tab: '\t',
  space: ' ',
  backspace: '\x7f',
  bs: '\x7f',
  plus: '+',
  minus: '-',
  comma: ',',
  period: '.',
  slash: '/',
  semicolon: ';',
}

const arrows: Readonly<Record<string, string>> = { up: 'A', down: 'B', right: 'C', left: 'D' }

const functionKeys = ['OP', 'OQ', 'OR', 'OS'].concat(
  [15, 17, 18, 19, 20, 21, 23, 24].map((code) => `[${code}~`),
)

/**
 * The bytes of some keys; all of them are looked at before any is used.
 *
 * @throws Refusal invalid_key - a key nobody knows
 */
export function keyBytes(keys: readonly string[], applicationArrows: boolean): readonly string[] {
  return keys.map((key) => {
    const bytes = oneKey(key, applicationArrows)
    if (bytes === undefined) throw new Refusal('invalid_key', `unknown key: ${key}`)
    return bytes
  })
}

function oneKey(key: string, applicationArrows: boolean): string | undefined {
  const parts = key.replace(/^C-(?=.)/, 'ctrl+').split('+')
  const base = parts.pop() ?? ''
  const modifiers = new Set(parts.map((part) => part.toLowerCase()))
  for (const modifier of modifiers)
    if (!['ctrl', 'alt', 'shift', 'cmd'].includes(modifier)) return undefined
  const bytes = plain(base, modifiers, applicationArrows)
  return bytes !== undefined && modifiers.has('alt') ? `\x1b${bytes}` : bytes
}

function plain(
  base: string,
  modifiers: ReadonlySet<string>,
  applicationArrows: boolean,
): string | undefined {
  const name = base.toLowerCase()
  const arrow = arrows[name]
  if (arrow !== undefined) return `\x1b${applicationArrows ? 'O' : '['}${arrow}`
  const fn = /^f(\d+)$/.exec(name)
  if (fn !== null) {
    const code = functionKeys[Number(fn[1]) - 1]
    return code === undefined ? undefined : `\x1b${code}`
  }
  if (name === 'tab' && modifiers.has('shift')) return '\x1b[Z'
  if (named[name] !== undefined) return named[name]
  if ([...base].length !== 1) return undefined
  if (modifiers.has('ctrl') && /^[a-z@[\\\]^_]$/i.test(base))
    return String.fromCharCode(base.toUpperCase().charCodeAt(0) & 0x1f)
  return modifiers.has('shift') ? base.toUpperCase() : base
}
