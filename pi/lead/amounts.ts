/** Numbers as a person reads them in a row: short, and no more exact than a glance is. */

const minuteMs = 60_000

/** `<1m`, `12m`, `3h05`, `2d`: at most five columns for a month. */
export function duration(ms: number): string {
  const minutes = Math.floor(Math.max(0, ms) / minuteMs)
  if (minutes < 1) return '<1m'
  if (minutes < 60) return `${minutes}m`
  const hours = Math.floor(minutes / 60)
  if (hours < 24) return `${hours}h${String(minutes % 60).padStart(2, '0')}`
  return `${Math.floor(hours / 24)}d`
}

/** `840`, `12k`, `1.2M`. */
export function amount(count: number): string {
  if (count < 1_000) return String(count)
  if (count < 999_500) return `${Math.round(count / 1_000)}k`
  return `${(count / 1_000_000).toFixed(1)}M`
}
