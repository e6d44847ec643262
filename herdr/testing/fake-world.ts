import { AgentState } from './fake-agent.ts'
import { numberText } from './fake-ids.ts'
import { Metadata } from './fake-metadata.ts'
import { Refusal, type Setting } from './fake-records.ts'
import type { Terminal } from './fake-terminal.ts'
import { leaves, type Tree } from './fake-tree.ts'

export class Pane {
  id: string
  tab: Tab
  terminal: Terminal
  label: string | undefined
  /** As it was asked for. */
  cwd: string
  /** What was run instead of a shell. */
  argv: readonly string[] | undefined
  agent: AgentState = new AgentState()
  metadata: Metadata = new Metadata()
  revision = 0
  shownTitle = ''
  isGone = false
  /** Its processes came through a live handoff. */
  isHandedOver = false

  constructor(id: string, tab: Tab, terminal: Terminal, cwd: string) {
    this.id = id
    this.tab = tab
    this.terminal = terminal
    this.cwd = cwd
  }

  get workspace(): Workspace {
    return this.tab.workspace
  }
}

export class Tab {
  readonly id: string
  readonly number: number
  readonly workspace: Workspace
  label: string | undefined
  /** Undefined before the first pane and after the last. */
  tree: Tree<Pane> | undefined
  focused: Pane | undefined

  constructor(workspace: Workspace, number: number, label: string | undefined) {
    this.workspace = workspace
    this.number = number
    this.id = `${workspace.id}:t${numberText(number)}`
    this.label = label
  }

  get panes(): readonly Pane[] {
    return this.tree === undefined ? [] : leaves(this.tree)
  }
}

export class Workspace {
  readonly id: string
  readonly number: number
  label: string
  readonly tabs: Tab[] = []
  active: Tab | undefined
  metadata: Metadata = new Metadata()
  #tabCount = 0
  #paneCount = 0

  constructor(number: number, label: string) {
    this.number = number
    this.id = `w${numberText(number)}`
    this.label = label
  }

  get panes(): readonly Pane[] {
    return this.tabs.flatMap(({ panes }) => panes)
  }

  newTab(label: string | undefined): Tab {
    this.#tabCount += 1
    const tab = new Tab(this, this.#tabCount, label)
    this.tabs.push(tab)
    this.active ??= tab
    return tab
  }

  newPaneId(): string {
    this.#paneCount += 1
    return `${this.id}:p${numberText(this.#paneCount)}`
  }
}

/** Every workspace, tab and pane, and what a person looks at. */
export class World {
  readonly setting: Setting
  readonly workspaces: Workspace[] = []
  active: Workspace | undefined
  stateChanges = 0
  #workspaceCount = 0
  /** Ids panes had before they moved to another workspace. */
  readonly #aliases = new Map<string, Pane>()

  constructor(setting: Setting) {
    this.setting = setting
  }

  get tabs(): readonly Tab[] {
    return this.workspaces.flatMap(({ tabs }) => tabs)
  }

  get panes(): readonly Pane[] {
    return this.workspaces.flatMap(({ panes }) => panes)
  }

  get focused(): Pane | undefined {
    return this.active?.active?.focused
  }

  newWorkspace(label: string): Workspace {
    this.#workspaceCount += 1
    const workspace = new Workspace(this.#workspaceCount, label)
    this.workspaces.push(workspace)
    return workspace
  }

  /** The next workspace gets the number after the largest there is, as after a restart. */
  recount(): void {
    this.#workspaceCount = Math.max(0, ...this.workspaces.map(({ number }) => number))
    this.#aliases.clear()
  }

  addAlias(id: string, pane: Pane): void {
    this.#aliases.set(id, pane)
  }

  /** For `pane.*`: also by an id it had before it moved. */
  pane(id: string | null | undefined): Pane {
    if (id === null || id === undefined) {
      if (this.focused === undefined) throw new Refusal('pane_not_found', 'no pane is focused')
      return this.focused
    }
    const found = this.findPane(id)
    if (found === undefined) throw new Refusal('pane_not_found', `pane ${id} not found`)
    return found
  }

  findPane(id: string): Pane | undefined {
    const found = this.panes.find((pane) => pane.id === id) ?? this.#aliases.get(id)
    return found?.isGone === true ? undefined : found
  }

  /** For `agent.*`: by current pane id or agent name alone. */
  agentPane(target: string): Pane {
    const found = this.panes.find(
      (pane) =>
        pane.agent.name === target ||
        (pane.id === target && (pane.agent.label ?? pane.agent.name) !== undefined),
    )
    if (found === undefined) throw new Refusal('agent_not_found', `agent ${target} not found`)
    return found
  }

  tab(id: string): Tab {
    const found = this.tabs.find((tab) => tab.id === id)
    if (found === undefined) throw new Refusal('tab_not_found', `tab ${id} not found`)
    return found
  }

  workspace(id: string | null | undefined): Workspace {
    const found =
      id === null || id === undefined
        ? this.active
        : this.workspaces.find((workspace) => workspace.id === id)
    if (found === undefined)
      throw new Refusal('workspace_not_found', `workspace ${id ?? '(active)'} not found`)
    return found
  }

  isInView(tab: Tab): boolean {
    return tab.workspace === this.active && tab.workspace.active === tab
  }

  /** Takes a pane out of its tab, and the tab and the workspace with it when they are empty. */
  remove(pane: Pane): void {
    pane.isGone = true
    for (const [id, each] of this.#aliases) if (each === pane) this.#aliases.delete(id)
    this.dropEmpty(pane.tab)
  }

  removeTab(tab: Tab): void {
    const { workspace } = tab
    const at = workspace.tabs.indexOf(tab)
    if (at >= 0) workspace.tabs.splice(at, 1)
    if (workspace.active === tab) workspace.active = workspace.tabs[Math.max(0, at - 1)]
    if (workspace.tabs.length === 0) this.removeWorkspace(workspace)
  }

  removeWorkspace(workspace: Workspace): void {
    const at = this.workspaces.indexOf(workspace)
    if (at >= 0) this.workspaces.splice(at, 1)
    if (this.active === workspace) this.active = this.workspaces[Math.max(0, at - 1)]
  }

  dropEmpty(tab: Tab): void {
    if (tab.tree === undefined) this.removeTab(tab)
  }

  has(tab: Tab): boolean {
    return this.tabs.includes(tab)
  }
}
