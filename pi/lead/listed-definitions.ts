import type { Definition } from '../definitions/index.ts'
import { shownData, shownLine } from '../shown.ts'

/** A definition as `list` shows it, and as a session is told of it when it starts. Absent fields are omitted. */
export interface ListedDefinition {
  readonly name: string
  readonly enabled: boolean
  readonly [field: string]: unknown
}

/** What is shown of one description, and of all names in one list, characters. */
const descriptionCharsMax = 512
const namesCharsMax = 1_024
/** All definitions as compact JSON, bytes. Those after that are shown by their names. */
const definitionsBytesMax = 32_768

/** Every definition is there, as complete as the room for all of them allows: a roster must not fill a context. */
export function listedDefinitions(
  definitions: readonly Definition[],
  pathOf: (skill: string, definition: Definition) => string | undefined,
): readonly ListedDefinition[] {
  let bytesLeft = definitionsBytesMax
  return definitions.map((definition) => {
    const whole = shownData(listed(definition, pathOf))
    bytesLeft -= Buffer.byteLength(JSON.stringify(whole))
    if (bytesLeft >= 0) return whole
    const { name, enabled, unavailable } = whole
    return { name, enabled, ...(unavailable !== undefined && { unavailable }), shortened: true }
  })
}

function listed(
  definition: Definition,
  pathOf: (skill: string, definition: Definition) => string | undefined,
): ListedDefinition {
  const { name, description, source, path, model, thinking, enabled, unavailable } = definition
  const { tools, skills, agents, permission } = definition
  const skillPaths = (skills ?? []).flatMap((skill) => pathOf(skill, definition) ?? [])
  return {
    name,
    ...(description !== undefined && { description: shownLine(description, descriptionCharsMax) }),
    source,
    path,
    ...(model !== undefined && { model }),
    ...(thinking !== undefined && { thinking }),
    ...(tools !== undefined && { tools: fitting(tools) }),
    ...(skills !== undefined && { skills: fitting(skills) }),
    ...(skillPaths.length > 0 && { skill_paths: fitting(skillPaths) }),
    ...(agents !== undefined && { agents: fitting(agents) }),
    ...(permission !== undefined && { permission }),
    enabled,
    ...(unavailable !== undefined && { unavailable }),
  }
}

/** The first names, and how many more there are. */
function fitting(names: readonly string[]): readonly string[] {
  let charsLeft = namesCharsMax
  const shown = names.findIndex((name) => {
    charsLeft -= name.length
    return charsLeft < 0
  })
  return shown === -1 ? names : [...names.slice(0, shown), `… ${names.length - shown} more`]
}
