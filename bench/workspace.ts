import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Where a run leaves its files: on a real disk, in a new directory for every round.
 *
 * Nothing is removed before the end: on some file systems a deletion makes the creations after it slower for minutes.
 */
export class Workspace {
  readonly directory: string
  #made = 0

  constructor(parent: string) {
    mkdirSync(parent, { recursive: true })
    this.directory = mkdtempSync(join(parent, 'bench-'))
    // ext4 then spreads our directories over the disk, away from what the run before has removed. Elsewhere: no harm.
    spawnSync('/usr/bin/chattr', ['+T', this.directory], { stdio: 'ignore' })
  }

  /** A new private directory with these below it. */
  fresh(...below: readonly string[]): string {
    const directory = join(this.directory, String(this.#made++))
    mkdirSync(directory, { mode: 0o700 })
    for (const name of below) mkdirSync(join(directory, name), { mode: 0o700 })
    return directory
  }

  remove(): void {
    rmSync(this.directory, { recursive: true, force: true })
  }
}
