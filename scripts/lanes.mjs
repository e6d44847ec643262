// The lanes of the tests, and which files are in each.
import { readdirSync } from 'node:fs'
import { join, relative } from 'node:path'

const lanes = {
  unit: (file) =>
    /^(mailbox|actors|herdr|pi)\/(?!testing\/fake-).*(?<!\.model|\.panes|\.e2e)\.test\.ts$/.test(
      file,
    ),
  // What starts terminals with real processes in them.
  panes: (file) => /\.panes\.test\.ts$|^herdr\/testing\/fake-.*\.test\.ts$/.test(file),
  // What drives Pi's own terminal interface.
  screens: (file) => /^test\/.*\.screens\.test\.ts$/.test(file),
  model: (file) => /\.model\.test\.ts$/.test(file),
  e2e: (file) => /\.e2e\.test\.ts$/.test(file),
}

export const laneNames = Object.keys(lanes)

/** The files of a lane; with parts of names, only those that have one of them. */
export function filesOf(lane, parts = []) {
  return ['mailbox', 'actors', 'herdr', 'pi', 'test']
    .flatMap((folder) => walk(folder))
    .filter(lanes[lane])
    .filter((file) => parts.length === 0 || parts.some((part) => file.includes(part)))
}

function walk(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    return entry.isDirectory() ? walk(path) : [relative('.', path)]
  })
}
