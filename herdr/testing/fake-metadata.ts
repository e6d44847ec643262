import { Refusal } from './fake-records.ts'

export interface MetadataPatch {
  readonly source: string
  readonly agent?: string | null | undefined
  readonly title?: string | null | undefined
  readonly display_agent?: string | null | undefined
  readonly state_labels?: Readonly<Record<string, string>> | undefined
  readonly tokens?: Readonly<Record<string, string | null>> | undefined
  readonly clear_title?: boolean | undefined
  readonly clear_display_agent?: boolean | undefined
  readonly clear_state_labels?: boolean | undefined
  readonly seq?: number | null | undefined
  readonly ttl_ms?: number | null | undefined
}

interface Token {
  readonly text: string
  readonly until: number
  readonly agent: string | undefined
}

const statuses = ['idle', 'working', 'blocked', 'done', 'unknown']
const textMax = 80
const keysPerCallMax = 16
const keysMax = 32
const sourcesMax = 32
const ttlMaxMs = 86_400_000

/** What outsiders have said a pane or workspace should show. */
export class Metadata {
  title: string | undefined
  displayAgent: string | undefined
  stateLabels: Readonly<Record<string, string>> = {}
  readonly #tokens = new Map<string, Token>()
  readonly #lastSeq = new Map<string, number>()

  get tokens(): Readonly<Record<string, string>> {
    return Object.fromEntries([...this.#tokens].map(([key, { text }]) => [key, text]))
  }

  /** Says whether anything is shown otherwise now. A patch that comes too late changes nothing. */
  apply(patch: MetadataPatch): boolean {
    check(patch)
    if (!this.#isNews(patch.source, patch.seq ?? undefined)) return false
    const before = this.#shown()
    this.#patchTokens(patch)
    if (patch.clear_title === true) this.title = undefined
    if (patch.clear_display_agent === true) this.displayAgent = undefined
    if (patch.clear_state_labels === true) this.stateLabels = {}
    this.title = cleaned(patch.title) ?? this.title
    this.displayAgent = cleaned(patch.display_agent) ?? this.displayAgent
    this.stateLabels = { ...this.stateLabels, ...patch.state_labels }
    return this.#shown() !== before
  }

  /** Forgets what has run out. */
  expire(): boolean {
    return this.#forget(({ until }) => until <= performance.now())
  }

  /** Forgets what was tied to an agent that has left. */
  agentLeft(agent: string): boolean {
    return this.#forget((token) => token.agent === agent)
  }

  #patchTokens({ tokens = {}, ttl_ms: ttl, agent }: MetadataPatch): void {
    const added = Object.keys(tokens).filter((key) => isText(tokens[key]) && !this.#tokens.has(key))
    if (this.#tokens.size + added.length > keysMax)
      throw new Refusal('metadata_token_limit', `more than ${keysMax} tokens`)
    const until = typeof ttl === 'number' ? performance.now() + ttl : Number.POSITIVE_INFINITY
    for (const [key, value] of Object.entries(tokens)) {
      const text = cleaned(value)
      if (text === undefined) this.#tokens.delete(key)
      else this.#tokens.set(key, { text, until, agent: agent ?? undefined })
    }
  }

  #isNews(source: string, seq: number | undefined): boolean {
    const last = this.#lastSeq.get(source)
    if (seq === undefined) return last === undefined
    if (last !== undefined && seq <= last) return false
    if (last === undefined && this.#lastSeq.size >= sourcesMax)
      throw new Refusal('metadata_sequence_source_limit', `more than ${sourcesMax} sources`)
    this.#lastSeq.set(source, seq)
    return true
  }

  #forget(isOver: (token: Token) => boolean): boolean {
    const over = [...this.#tokens].filter(([, token]) => isOver(token))
    for (const [key] of over) this.#tokens.delete(key)
    return over.length > 0
  }

  #shown(): string {
    return JSON.stringify([this.title, this.displayAgent, this.stateLabels, this.tokens])
  }
}

function check({ source, tokens, ttl_ms: ttl, state_labels: labels }: MetadataPatch): void {
  if (!/^[A-Za-z0-9:._-]{1,80}$/.test(source))
    throw new Refusal('invalid_metadata_source', `invalid source: ${source}`)
  const keys = Object.keys(tokens ?? {})
  if (keys.length > keysPerCallMax)
    throw new Refusal('metadata_token_limit', `more than ${keysPerCallMax} tokens in one call`)
  for (const key of keys)
    if (!/^[A-Za-z0-9_-]{1,32}$/.test(key))
      throw new Refusal('invalid_metadata_token', `invalid token: ${key}`)
  if (typeof ttl === 'number' && (!Number.isInteger(ttl) || ttl < 1 || ttl > ttlMaxMs))
    throw new Refusal('invalid_metadata_ttl', `ttl_ms must be 1 to ${ttlMaxMs}`)
  for (const label of Object.keys(labels ?? {}))
    if (!statuses.includes(label))
      throw new Refusal('invalid_state_label', `unknown state: ${label}`)
}

const isText = (value: string | null | undefined): boolean => cleaned(value) !== undefined

function cleaned(value: string | null | undefined): string | undefined {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed
  const text = (value ?? '').replace(/[\x00-\x1f\x7f]/g, '').trim()
  return text === '' ? undefined : [...text].slice(0, textMax).join('')
}
