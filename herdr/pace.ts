/** Least time from a look to the next that events bring about, ms. It doubles while they bring nothing new. */
const pauseMinMs = 100
const pauseMaxMs = 5_000
/** Without events for so long, the next one is worth a look at once, ms. */
const quietMs = 1_000
/** Alarms in a row that may prove false before they wait like any event. */
const falseAlarmsMax = 6

/**
 * How soon to look after an event.
 *
 * A herdr before 0.9 repeats to a new subscriber whatever it still remembers, for most of a minute, so events that
 * bring nothing new must cost less and less, while news in between must not wait.
 */
export class Pace {
  #fruitless = 0
  #falseAlarms = 0
  #isAlarmed = false
  #hintedAt = Number.NEGATIVE_INFINITY

  /** An event came; an alarm says that something known is gone. @returns the pause after the last look, ms */
  hint(nowMs: number, isAlarm: boolean): number {
    if (nowMs - this.#hintedAt > quietMs) {
      this.#fruitless = 0
      this.#falseAlarms = 0
    }
    this.#hintedAt = nowMs
    if (isAlarm && this.#falseAlarms < falseAlarmsMax) {
      this.#isAlarmed = true
      return pauseMinMs
    }
    return Math.min(pauseMinMs * 2 ** this.#fruitless, pauseMaxMs)
  }

  /** A look has shown something new, or not. */
  looked(isNew: boolean): void {
    this.#fruitless = isNew ? 0 : this.#fruitless + 1
    if (isNew) this.#falseAlarms = 0
    else if (this.#isAlarmed) this.#falseAlarms++
    this.#isAlarmed = false
  }
}
