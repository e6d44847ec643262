/** Whether this process lives in a pane of herdr, and which one it was started in. */
export type HerdrEnvironment =
  | { readonly inside: false }
  | {
      readonly inside: true
      readonly socketPath: string
      /** As at the start of this process: panes move, and children of other panes inherit it. Verify before use. */
      readonly paneId: string
      readonly tabId?: string
      readonly workspaceId?: string
    }
  | { readonly inside: 'broken'; readonly why: string }

export function herdrEnvironment(
  env: Readonly<Record<string, string | undefined>>,
): HerdrEnvironment {
  if (env['HERDR_ENV'] !== '1') return { inside: false }
  const socketPath = env['HERDR_SOCKET_PATH']
  const paneId = env['HERDR_PANE_ID']
  if (!socketPath || !paneId) {
    const missing = [!socketPath && 'HERDR_SOCKET_PATH', !paneId && 'HERDR_PANE_ID']
    const names = missing.filter(Boolean).join(' and ')
    return { inside: 'broken', why: `HERDR_ENV is 1, but ${names} is not set or empty` }
  }
  const tabId = env['HERDR_TAB_ID']
  const workspaceId = env['HERDR_WORKSPACE_ID']
  return {
    inside: true,
    socketPath,
    paneId,
    ...(tabId && { tabId }),
    ...(workspaceId && { workspaceId }),
  }
}
