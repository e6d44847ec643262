import { focusPane } from './fake-focus.ts'
import { paneInfo, tabInfo } from './fake-info.ts'
import { sendRaw } from './fake-input.ts'
import { movePane } from './fake-move.ts'
import { createTab, splitPane } from './fake-open.ts'
import type { Direction, PaneInfo, TabInfo } from './fake-records.ts'
import { closePane, closeTab } from './fake-shut.ts'
import type { Stage } from './fake-stage.ts'
import type { Pane } from './fake-world.ts'

/** A pane, or its id. */
export type PaneName = string | { readonly pane_id: string }

/** What a person at the keyboard does. Everything waits its turn among the requests. */
export class Person {
  readonly #stage: Stage

  constructor(stage: Stage) {
    this.#stage = stage
  }

  focus(pane: PaneName): Promise<void> {
    return this.#stage.run(() => focusPane(this.#stage, this.#pane(pane)))
  }

  close(pane: PaneName): Promise<void> {
    return this.#stage.run(() => closePane(this.#stage, this.#pane(pane)))
  }

  closeTab(tabId: string): Promise<void> {
    return this.#stage.run(() => closeTab(this.#stage, this.#stage.world.tab(tabId)))
  }

  /** Types text as it is; end a line with `\r`. */
  type(pane: PaneName, text: string): Promise<void> {
    return this.#stage.run(() => sendRaw(this.#stage, this.#pane(pane), text))
  }

  /** A shell beside a pane; it gets the focus. */
  split(pane: PaneName, direction: Direction = 'right'): Promise<PaneInfo> {
    return this.#stage.run(() => {
      const target = this.#pane(pane)
      const added = splitPane(this.#stage, target, direction, 0.5, { focus: true })
      return paneInfo(this.#stage.world, added)
    })
  }

  /** A tab with a shell; it gets the focus. */
  newTab(workspaceId: string): Promise<TabInfo> {
    return this.#stage.run(() => {
      const { world } = this.#stage
      const tab = createTab(this.#stage, world.workspace(workspaceId), { focus: true })
      return tabInfo(world, tab)
    })
  }

  move(
    pane: PaneName,
    to: { readonly tab: string } | 'new-tab' | 'new-workspace',
  ): Promise<PaneInfo> {
    return this.#stage.run(() => {
      const moved = this.#pane(pane)
      const { world } = this.#stage
      if (to === 'new-tab')
        movePane(this.#stage, moved, { type: 'new_tab', workspace: moved.workspace }, true)
      else if (to === 'new-workspace') movePane(this.#stage, moved, { type: 'new_workspace' }, true)
      else
        movePane(this.#stage, moved, { type: 'tab', tab: world.tab(to.tab), split: 'right' }, true)
      return paneInfo(world, moved)
    })
  }

  #pane(pane: PaneName): Pane {
    return this.#stage.world.pane(typeof pane === 'string' ? pane : pane.pane_id)
  }
}
