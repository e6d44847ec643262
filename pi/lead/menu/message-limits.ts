import { limits } from '../../../mailbox/index.ts'
import { changeSetting } from '../../settings.ts'
import type { Choice } from './asking.ts'
import type { MenuContext } from './context.ts'

type LimitKey = 'inlineAttachmentLimitBytes' | 'mailboxPayloadLimitBytes'

const names: Readonly<Record<LimitKey, string>> = {
  inlineAttachmentLimitBytes: 'Inline attachment',
  mailboxPayloadLimitBytes: 'Mailbox payload',
}
const meanings: Readonly<Record<LimitKey, string>> = {
  inlineAttachmentLimitBytes: 'Largest file whose text travels inside a message.',
  mailboxPayloadLimitBytes:
    'Largest message that is admitted: task, steer, reply or question.\nA session that has agents keeps the limit it found first until it is opened again.',
}
const keys = Object.keys(names) as LimitKey[]

/** What a person chooses from, KiB. */
const presetsKiB = [16, 32, 64, 128, 256, 512, 1_024]
const bytesPerToken = 4
const bytesRule = 'Bytes are what counts; tokens are a rough guide, four UTF-8 bytes each.'

/** How large messages may be: for all projects, whatever a project says. */
export async function limitsMenu(menu: MenuContext): Promise<void> {
  const { ask, delegation, ctx } = menu
  for (;;) {
    const { settings, diagnostics } = await delegation.settings(ctx)
    const ignored = diagnostics.filter((line) => keys.some((key) => line.includes(key)))
    const key = await ask.choose(
      ['Message limits', bytesRule, ...ignored].join('\n'),
      keys.map((value) => ({ label: `${names[value]}: ${size(settings[value])}`, value })),
    )
    if (key === undefined) return
    await oneLimit(menu, key, settings[key])
  }
}

async function oneLimit(menu: MenuContext, key: LimitKey, now: number): Promise<void> {
  const chosen = await menu.ask.choose<number | 'other' | 'default'>(
    `${names[key]} limit: ${size(now)}\n${meanings[key]}\n${bytesRule}`,
    [
      ...presetsKiB.map(
        (kib): Choice<number> => ({
          label: `${size(kib * 1_024)}${kib * 1_024 === now ? ' ✓' : ''}`,
          value: kib * 1_024,
        }),
      ),
      { label: 'Another number of bytes…', value: 'other' },
      { label: `Default (${size(limits.recordBytesDefault)})`, value: 'default' },
    ],
  )
  if (chosen === undefined) return
  const bytes = chosen === 'other' ? await askedBytes(menu, key) : chosen
  if (bytes === undefined) return
  await setLimit(menu, key, bytes === 'default' ? undefined : bytes)
}

async function askedBytes({ ask }: MenuContext, key: LimitKey): Promise<number | undefined> {
  const { recordBytesLowest, recordBytesHighest } = limits
  const range = `${recordBytesLowest} to ${recordBytesHighest}`
  const text = await ask.write(`${names[key]} limit in bytes, ${range}`, range)
  if (text === undefined) return undefined
  const bytes = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  if (bytes >= recordBytesLowest && bytes <= recordBytesHighest) return bytes
  ask.tell(`${text} is no number of bytes from ${range}. Nothing was changed.`, 'warning')
  return undefined
}

async function setLimit(
  { ask, delegation, editor, ctx }: MenuContext,
  key: LimitKey,
  bytes: number | undefined,
): Promise<void> {
  const places = await delegation.settingsPlaces(ctx)
  const { path } = await changeSetting(editor, places, key, bytes)
  const { settings } = await delegation.settings(ctx)
  ask.tell(`${names[key]} limit is ${size(settings[key])} (global: ${path}).`)
}

function size(bytes: number): string {
  const tokens = Math.round(bytes / bytesPerToken)
  const kib = bytes % 1_024 === 0 ? `, ${bytes / 1_024} KiB` : ''
  return `${bytes} bytes${kib}, about ${tokens} tokens`
}
