import type { Attachment, ReplyRecord, SteerRecord } from '../mailbox/index.ts'

/** Marks what the owner of an agent says while it works. The same text from anybody else is plain text. */
const controlMarker = '__PI_HERDSMAN_AGENT_V4__:'

/** What the model is shown of a request that comes while it works. */
export function controlText(record: SteerRecord | ReplyRecord): string {
  return `${controlMarker}${record.kind}:${record.id}\n${messageText(record)}`
}

/** The same text as a person is shown it, who knows by its place what it is. */
export function withoutControl(text: string): string {
  const [first = '', ...rest] = text.split('\n')
  return first.startsWith(controlMarker) ? rest.join('\n') : text
}

/** A message and what goes with it, as the model is shown it. */
export function messageText({
  text,
  files = [],
}: {
  text: string
  files?: readonly Attachment[] | undefined
}): string {
  const parts = files.map(({ path, bytes, text: whole }) =>
    whole === undefined
      ? `[file ${path}, ${bytes} bytes, not embedded: read it there]`
      : `[file ${path}, ${bytes} bytes]\n${whole}\n[end of file ${path}]`,
  )
  return [text, ...parts].join('\n\n')
}
