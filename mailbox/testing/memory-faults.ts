import { constants } from 'node:os'

/** What can fail as on a real machine. */
export type FaultCode =
  | 'ENOSPC'
  | 'EDQUOT'
  | 'EIO'
  | 'EMFILE'
  | 'ENFILE'
  | 'EROFS'
  | 'EACCES'
  | 'ESTALE'

/** A step at which a process may die or a fault may strike. */
export type Operation =
  | 'make directory'
  | 'create'
  | 'write'
  | 'sync file'
  | 'link'
  | 'rename'
  | 'remove'
  | 'sync directory'

/** Ways of looking: some need a descriptor. They change nothing, so dying there is dying at the next operation. */
export type Look = 'open' | 'look'

/** `once` strikes one operation, whatever it is. `forever` strikes from there on all that such a machine would fail. */
export interface Fault {
  readonly point: number
  readonly code: FaultCode
  readonly lasts: 'once' | 'forever'
}

type Steps = ReadonlySet<Operation | Look>

/** Needs no space: a full disk always removes. */
const spaceless: Steps = new Set(['sync file', 'remove', 'sync directory', 'open', 'look'])
/** Needs no new descriptor. */
const unopened: Steps = new Set([
  'make directory',
  'write',
  'sync file',
  'link',
  'rename',
  'remove',
  'look',
])

/** What still works while a machine has this trouble. With any other trouble nothing does. */
const spared: Partial<Record<FaultCode, Steps>> = {
  ENOSPC: spaceless,
  EDQUOT: spaceless,
  EMFILE: unopened,
  ENFILE: unopened,
  EROFS: new Set(['sync file', 'sync directory', 'open', 'look']),
}

export function strikesOperation(fault: Fault, point: number, operation: Operation): boolean {
  return fault.lasts === 'once' ? fault.point === point : lastsInto(fault, point, operation)
}

/** Looking has no point of its own: `next` is the one of the next operation. */
export function strikesLook(fault: Fault, next: number, look: Look): boolean {
  return fault.lasts === 'forever' && lastsInto(fault, next, look)
}

function lastsInto({ point, code }: Fault, now: number, step: Operation | Look): boolean {
  return now >= point && spared[code]?.has(step) !== true
}

/** An error as Node makes it of a system call's. It leaves the file system only as a `MailboxError`. */
export class SystemError extends Error {
  readonly code: string
  readonly errno: number

  constructor(code: keyof typeof constants.errno) {
    super(code)
    this.errno = -constants.errno[code]
    this.code = code === 'EDQUOT' ? `Unknown system error ${this.errno}` : code // Node has no name for it
  }
}
