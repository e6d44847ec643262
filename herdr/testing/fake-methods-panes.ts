import { z } from 'zod'
import { focusPane } from './fake-focus.ts'
import { layoutDescription, layoutInfo, paneInfo } from './fake-info.ts'
import { sendInput, sendText } from './fake-input.ts'
import {
  count,
  direction,
  environment,
  flag,
  loop,
  type Methods,
  maybe,
  readFormat,
  readSource,
  text,
} from './fake-method.ts'
import { listedPanes } from './fake-methods-spaces.ts'
import { movePane } from './fake-move.ts'
import { splitPane } from './fake-open.ts'
import { readPane } from './fake-reading.ts'
import { closePane } from './fake-shut.ts'
import type { Pane, World } from './fake-world.ts'

const target = z.object({ pane_id: text })
const maybeTarget = z.object({ pane_id: maybe(text) })
const ok = { type: 'ok' } as const

const destination = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('tab'),
    tab_id: text,
    split: direction,
    target_pane_id: maybe(text),
    ratio: maybe(z.number()),
  }),
  z.object({ type: z.literal('new_tab'), workspace_id: maybe(text), label: maybe(text) }),
  z.object({ type: z.literal('new_workspace'), label: maybe(text), tab_label: maybe(text) }),
])

/** Panes: where they are, what is in them, what is typed into them. */
export const paneMethods: Methods = {
  'pane.list': loop(z.object({ workspace_id: maybe(text) }), (stage, { workspace_id }) => {
    const { world } = stage
    const wanted = workspace_id === undefined ? undefined : world.workspace(workspace_id)
    return {
      type: 'pane_list',
      panes: listedPanes(stage)
        .filter(({ workspace }) => wanted === undefined || workspace === wanted)
        .map((pane) => paneInfo(world, pane)),
    }
  }),
  'pane.get': loop(target, ({ world }, { pane_id }) => paneResult(world, world.pane(pane_id))),
  'pane.current': loop(
    z.object({ caller_pane_id: maybe(text) }),
    ({ world }, { caller_pane_id }) => ({
      type: 'pane_current',
      pane: paneInfo(world, world.pane(caller_pane_id)),
    }),
  ),
  'pane.split': loop(
    z.object({
      target_pane_id: maybe(text),
      workspace_id: maybe(text),
      direction,
      ratio: maybe(z.number()),
      cwd: maybe(text),
      env: maybe(environment),
      focus: maybe(flag),
    }),
    (stage, { target_pane_id, workspace_id, direction: where, ratio = 0.5, ...birth }) => {
      const { world } = stage
      const beside =
        target_pane_id === undefined && workspace_id !== undefined
          ? world.pane(world.workspace(workspace_id).active?.focused?.id)
          : world.pane(target_pane_id)
      return paneResult(world, splitPane(stage, beside, where, ratio, birth))
    },
  ),
  'pane.focus': loop(target, (stage, { pane_id }) => {
    const pane = stage.world.pane(pane_id)
    focusPane(stage, pane)
    return paneResult(stage.world, pane)
  }),
  'pane.rename': loop(z.object({ pane_id: text, label: maybe(text) }), ({ world }, params) => {
    const pane = world.pane(params.pane_id)
    const label = params.label?.trim() ?? ''
    pane.label = label === '' ? undefined : label
    return paneResult(world, pane)
  }),
  'pane.close': loop(target, async (stage, { pane_id }) => {
    await closePane(stage, stage.world.pane(pane_id))
    return ok
  }),
  'pane.move': loop(
    z.object({ pane_id: text, destination, focus: maybe(flag) }),
    (stage, { pane_id, destination: to, focus = false }) => {
      const { world } = stage
      const pane = world.pane(pane_id)
      return {
        type: 'pane_move',
        move_result: movePane(stage, pane, placeOf(world, pane, to), focus),
      }
    },
  ),
  'pane.send_text': loop(z.object({ pane_id: text, text }), (stage, params) => {
    sendText(stage, stage.world.pane(params.pane_id), params.text)
    return ok
  }),
  'pane.send_keys': loop(z.object({ pane_id: text, keys: z.array(text) }), (stage, params) => {
    sendInput(stage, stage.world.pane(params.pane_id), '', params.keys)
    return ok
  }),
  'pane.send_input': loop(
    z.object({ pane_id: text, text: text.default(''), keys: z.array(text).default([]) }),
    (stage, params) => {
      sendInput(stage, stage.world.pane(params.pane_id), params.text, params.keys)
      return ok
    },
  ),
  'pane.read': loop(
    z.object({
      pane_id: text,
      source: readSource,
      lines: maybe(count),
      format: readFormat.optional(),
      strip_ansi: flag.optional(),
    }),
    async (stage, { pane_id, ...order }) => ({
      type: 'pane_read',
      read: await readPane(stage, stage.world.pane(pane_id), order),
    }),
  ),
  'pane.process_info': loop(maybeTarget, ({ world }, { pane_id }) => {
    const pane = world.pane(pane_id)
    const { pid } = pane.terminal
    const foreground = pane.terminal.foreground()
    return {
      type: 'pane_process_info',
      process_info: {
        pane_id: pane.id,
        ...(pid !== undefined && { shell_pid: pid }),
        ...(foreground !== undefined && {
          foreground_process_group_id: foreground.group,
          foreground_processes: foreground.processes,
        }),
      },
    }
  }),
  'pane.layout': loop(maybeTarget, ({ world }, { pane_id }) => ({
    type: 'pane_layout',
    layout: layoutInfo(world, world.pane(pane_id).tab),
  })),
  'layout.export': loop(
    z.object({ tab_id: maybe(text), pane_id: maybe(text) }),
    ({ world }, { tab_id, pane_id }) => ({
      type: 'layout_export',
      layout: layoutDescription(tab_id === undefined ? world.pane(pane_id).tab : world.tab(tab_id)),
    }),
  ),
}

function placeOf(
  world: World,
  pane: Pane,
  to: z.output<typeof destination>,
): Parameters<typeof movePane>[2] {
  switch (to.type) {
    case 'tab': {
      const { target_pane_id: id } = to
      const beside = id === undefined ? undefined : world.pane(id)
      return {
        type: 'tab',
        tab: world.tab(to.tab_id),
        split: to.split,
        target: beside,
        ratio: to.ratio,
      }
    }
    case 'new_tab': {
      const workspace =
        to.workspace_id === undefined ? pane.workspace : world.workspace(to.workspace_id)
      return { type: 'new_tab', workspace, label: to.label }
    }
    case 'new_workspace':
      return { type: 'new_workspace', label: to.label, tabLabel: to.tab_label }
  }
}

const paneResult = (world: World, pane: Pane): object => ({
  type: 'pane_info',
  pane: paneInfo(world, pane),
})
