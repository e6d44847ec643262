export { type ExpandedBody, expandBody } from './body.ts'
export { bundledDirectory } from './bundled.ts'
export type { Diagnostic } from './diagnostic.ts'
export type { ExcludedDefinition } from './directory.ts'
export {
  type Edit,
  type EditableField,
  editableFields,
  editDefinition,
  newOverride,
  valueProblem,
} from './edit.ts'
export {
  builtinTools,
  type DefinitionFields,
  type FieldName,
  type JsonValue,
  type KeyName,
  type KeyRule,
  keyTable,
  type Permission,
  type PermissionWord,
  type ThinkingLevel,
  thinkingLevels,
  type ValueKind,
} from './fields.ts'
export type { Definition, Origin, Source } from './overlay.ts'
export { type DefinitionFragment, type ParsedDefinition, parseDefinition } from './parse.ts'
export { fileBytesMax, type ReadText, type TextOutcome } from './read-text.ts'
export {
  nearestProjectDirectory,
  type Resolution,
  type Roster,
  type RosterDirectory,
  type RosterPlaces,
  readRoster,
  real,
  resolveDefinition,
  type UnresolvedDefinition,
} from './roster.ts'
export { isDefinitionName } from './values.ts'
