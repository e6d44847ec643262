/** What the environment of a process says about herdr: what was so when it was started. */
export type HerdrPlace =
  | { readonly inside: false }
  | { readonly inside: true; readonly socketPath: string; readonly paneId: string }
  /** It says that we are in herdr, and not where. */
  | { readonly inside: 'broken'; readonly why: string }

export function herdrEnvironment(env: NodeJS.ProcessEnv): HerdrPlace {
  if (env['HERDR_ENV'] !== '1') return { inside: false }
  const socketPath = env['HERDR_SOCKET_PATH']
  const paneId = env['HERDR_PANE_ID']
  if (!socketPath)
    return { inside: 'broken', why: 'HERDR_ENV is set, but HERDR_SOCKET_PATH is not' }
  if (!paneId) return { inside: 'broken', why: 'HERDR_ENV is set, but HERDR_PANE_ID is not' }
  return { inside: true, socketPath, paneId }
}
