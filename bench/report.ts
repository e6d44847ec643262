import type { Machine } from './machine.ts'
import { type Effort, type Family, type Figure, isMet } from './measure.ts'

export interface Report {
  readonly version: 1
  readonly effort: Effort
  readonly at: string
  readonly seconds: number
  readonly load: { readonly before: number; readonly after: number }
  readonly machine: Machine
  readonly families: readonly Family[]
}

/** A report for a person. */
export function asText({ effort, seconds, load, machine, families }: Report): string {
  const { fileSystem } = machine
  return [
    `${machine.cpu}, ${machine.cores} cores, ${machine.memoryGb} GB; ${machine.system}`,
    `Node ${machine.node}, libuv ${machine.libuv}, thread pool ${machine.threadPool}`,
    `${fileSystem.type} (${fileSystem.options}), journal: ${fileSystem.journal}`,
    `create ${rounded(machine.createUs)} us, sync file ${rounded(machine.syncFileUs)} us, sync directory ${rounded(machine.syncDirectoryUs)} us`,
    `${effort} run, ${Math.round(seconds)} s, load ${load.before.toFixed(2)} before, ${load.after.toFixed(2)} after`,
    ...families.flatMap((family) => ['', ...familyLines(family)]),
  ].join('\n')
}

function familyLines({ name, floor, figures }: Family): readonly string[] {
  return [name, `  floor: ${floor}`, ...aligned([headings, ...figures.map(cells)])]
}

const headings = ['', 'median', '', 'p50 us', 'p99 us', 'ratio', 'quartiles', 'goal', '']

function cells(figure: Figure): readonly string[] {
  const { name, value, unit, latency, ratio, goal } = figure
  const met = isMet(figure)
  return [
    name,
    rounded(value),
    unit,
    latency ? rounded(latency.p50Us) : '',
    latency ? rounded(latency.p99Us) : '',
    ratio ? ratio.median.toFixed(2) : '',
    ratio ? `${ratio.lowQuartile.toFixed(2)}-${ratio.highQuartile.toFixed(2)}` : '',
    goal ? goalText(goal) : '',
    met === undefined ? '' : met ? 'met' : 'not met',
  ]
}

function goalText(goal: NonNullable<Figure['goal']>): string {
  return 'atLeast' in goal ? `>= ${goal.atLeast}` : `<= ${goal.atMost}`
}

/** Words to the left, numbers to the right. */
function aligned(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = headings.map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  )
  const words = new Set([0, 2, 7, 8])
  return rows.map((row) =>
    `  ${row
      .map((cell, column) => {
        const width = widths[column] ?? 0
        return words.has(column) ? cell.padEnd(width) : cell.padStart(width)
      })
      .join('  ')}`.trimEnd(),
  )
}

function rounded(value: number): string {
  const digits = value < 10 ? 1 : 0
  return value.toLocaleString('en', {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  })
}
