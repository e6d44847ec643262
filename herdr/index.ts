/** The front door of `herdr/`: other folders import from here only. */

export { HerdrClient } from './client.ts'
export { herdrEnvironment } from './environment.ts'
export { HerdrError } from './errors.ts'
export { PaneStatus } from './pane-status.ts'
export { HerdrRunner } from './runner.ts'
