import { readFileSync } from 'node:fs'
import { type GenerationPaths, limits, type MailboxFs, readActivity } from '../mailbox/index.ts'
import type { Capture } from './ports.ts'

/** The end of what an agent noted of its own work and then said on its error output, as its files have it. */
export function notedAndSaid(fs: MailboxFs, paths: GenerationPaths): Capture {
  return tail(readActivity(fs, paths)?.lines ?? [], readLog(paths.errorLog))
}

/** The end of what a screen shows, then of what was said on the error output. */
export function shownAndSaid(screen: readonly string[], paths: GenerationPaths): Capture {
  return tail(screen, readLog(paths.errorLog))
}

/** The last lines of a screen, within the limits of a capture. */
export function lastLines(lines: readonly string[]): Capture {
  return withinBytes(lines.slice(-limits.captureLinesMax))
}

function readLog(file: string): string {
  try {
    return readFileSync(file).toString()
  } catch {
    return ''
  }
}

/** Of so many lines, what was said takes half at most where there is something else. */
function tail(noted: readonly string[], log: string): Capture {
  const said = log === '' ? [] : log.replace(/\n$/, '').split('\n')
  const most = limits.captureLinesMax
  const room = noted.length === 0 ? most : Math.max(most / 2, most - noted.length)
  const kept = said.slice(-room)
  return withinBytes([...noted.slice(-(most - kept.length)), ...kept])
}

function withinBytes(lines: readonly string[]): Capture {
  const bytes = Buffer.from(lines.join('\n'))
  if (bytes.length <= limits.captureBytesMax) return { lines, truncated: false }
  let from = bytes.length - limits.captureBytesMax
  while (((bytes[from] ?? 0) & 0xc0) === 0x80) from++ // the rest of a character that was cut
  return { lines: bytes.subarray(from).toString().split('\n'), truncated: true }
}
