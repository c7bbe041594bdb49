/** The HTTP API of the server in use. */
import type { AclJson } from '@zabra/protocol/http-api'
import { noteDate } from './clock.ts'
import type { Node } from './node.ts'
import { noteZxid, server } from './servers.ts'
import { credentials } from './state.ts'

export type { Node }
export type AclEntry = AclJson
export interface Children {
  readonly node: Node
  readonly total: number
  readonly matching: number
  readonly offset: number
  readonly children: readonly Node[]
  readonly hidden: readonly string[]
}
export type Role = 'none' | 'metadata' | 'read' | 'write' | 'admin'
export interface WhoAmI {
  readonly role: Role
  readonly identities: readonly { readonly scheme: string; readonly id: string }[]
  readonly server: {
    readonly version: string
    readonly state: string
    readonly isReadOnly: boolean
  }
}
export interface Member {
  readonly id: string
  readonly isSelf: boolean
  readonly votes: boolean
  readonly addresses: readonly string[]
  readonly client: string | null
  readonly state: 'serving' | 'notServing' | 'unreachable' | 'unknown'
  readonly role: string | null
  readonly zxid: string | null
  readonly epoch: number | null
  readonly lag: number | null
  readonly connections: number | null
  readonly outstanding: number | null
  readonly meanLatencyMs: number | null
  readonly maxLatencyMs: number | null
  readonly syncMs: number | null
  readonly znodes: number | null
  readonly dataBytes: number | null
  readonly diskBytes: number | null
  readonly watches: number | null
  readonly uptimeMs: number | null
  readonly version: string | null
  /** Host and port of its console. */
  readonly admin: string | null
}
export interface Ensemble {
  readonly mode: 'standalone' | 'ensemble'
  readonly self: string
  readonly leader: string | null
  /** How many more may fail, at most 3. */
  readonly failuresLeft: number | null
  readonly members: readonly Member[]
}
export interface Sample {
  readonly time: number
  readonly requestsPerSecond: number
  readonly readsPerSecond: number
  readonly writesPerSecond: number
  readonly receivedPerSecond: number
  readonly sentPerSecond: number
  readonly readMs: number
  readonly readMsP99: number
  readonly writeMs: number
  readonly writeMsP99: number
  readonly syncMs: number
  readonly connections: number
  readonly sessions: number
  readonly outstanding: number
  readonly znodes: number
  readonly dataBytes: number
  readonly watches: number
  readonly busyShare: number
  readonly memoryBytes: number
}
export interface Session {
  readonly id: string
  readonly timeoutMs: number
  readonly isLocal: boolean
  readonly ephemerals: number
  readonly isOfApi: boolean
  readonly connection: {
    readonly address: string
    readonly port: number
    readonly since: string
    readonly lastHeardMsAgo: number
    readonly lastOperation: string | null
    readonly requests: number
    readonly outstanding: number
    readonly watches: number
    readonly meanLatencyMs: number
    readonly maxLatencyMs: number
    readonly identities: readonly string[]
  } | null
}

/** The server said no. */
export class ApiError extends Error {
  readonly status: number
  readonly code: string
  /** The znode as it is, where a version did not match. */
  readonly node: Node | null

  constructor(status: number, code: string, message: string, node: Node | null = null) {
    super(message)
    this.status = status
    this.code = code
    this.node = node
  }
}

export type Query = Readonly<Record<string, string | number | boolean | undefined>>

export interface Asking {
  /** Asks this server instead of the one in use. */
  readonly origin?: string
  readonly signal?: AbortSignal
}

/** How long a server may be silent that is asked beside the one in use. */
const otherMs = 3000

/** Another member gets the client certificate of the browser only if it is asked to send it. */
function ask(url: string, init: RequestInit): Promise<Response> {
  const sends = credentials.value?.header === 'x509' ? 'include' : 'same-origin'
  return fetch(url, { ...init, credentials: sends }).catch(() => {
    throw offline()
  })
}

function urlOf(path: string, query: Query = {}, origin = server.value.origin): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined)
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
  return `${origin}/api/v1${path}${text === '' ? '' : `?${text}`}`
}

function headersOf(more: Readonly<Record<string, string>> = {}): Record<string, string> {
  const { value } = credentials
  return value === undefined ? { ...more } : { ...more, Authorization: value.header }
}

const offline = (): ApiError => new ApiError(0, 'offline', 'The server cannot be reached')

/** A server that says so is away like one that does not answer: what was seen last stays. */
const awayCodes = new Set(['notServing', 'connectionLoss', 'sessionExpired', 'sessionMoved'])

async function refusalOf(response: Response): Promise<ApiError> {
  try {
    const { error } = (await response.json()) as {
      error: { code: string; message: string; node?: Node | null }
    }
    const status = awayCodes.has(error.code) ? 0 : response.status
    return new ApiError(status, error.code, error.message, error.node)
  } catch {
    return new ApiError(response.status, 'http', `The server answered ${response.status}`)
  }
}

async function send(
  path: string,
  query: Query,
  init: RequestInit,
  origin?: string,
): Promise<Response> {
  const response = await ask(urlOf(path, query, origin), init)
  noteZxid(response.headers.get('zabra-applied'))
  noteDate(response.headers.get('date'))
  if (!response.ok) throw await refusalOf(response)
  return response
}

/** An answer that breaks off is none. */
async function whole<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch {
    throw offline()
  }
}

export async function get<T>(
  path: string,
  query: Query = {},
  { origin, signal }: Asking = {},
): Promise<T> {
  const init: RequestInit = { headers: headersOf(), ...(signal === undefined ? {} : { signal }) }
  return (await whole((await send(path, query, init, origin)).json())) as T
}

/** Asks another member, which may be silent. */
export function getFrom<T>(origin: string, path: string, query: Query = {}): Promise<T> {
  return get<T>(path, query, { origin, signal: AbortSignal.timeout(otherMs) })
}

export async function change<T>(
  method: 'POST' | 'PUT' | 'DELETE',
  path: string,
  query: Query,
  body?: object,
  origin?: string,
): Promise<T> {
  const init = {
    method,
    headers: headersOf({ 'Content-Type': 'application/json' }),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }
  try {
    return (await whole((await send(path, query, init, origin)).json())) as T
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 0 || error.code === 'notServing')
      throw error
    // It is not sent again: it may have been carried out.
    const message = 'The server went away before it answered: look whether the change was made'
    throw new ApiError(0, 'unanswered', message)
  }
}

export interface Data {
  readonly bytes: Uint8Array
  readonly total: number
  readonly version: number
}

/** What needs no request: there is no first byte of nothing. */
export const noData = (version: number): Data => ({ bytes: new Uint8Array(0), total: 0, version })

/** The data of a znode, now or at a point of the past, or its first bytes. */
export async function getData(
  { path, at }: { readonly path: string; readonly at?: string },
  bytesMax?: number,
): Promise<Data> {
  const range: Record<string, string> =
    bytesMax === undefined ? {} : { Range: `bytes=0-${bytesMax - 1}` }
  const route = at === undefined ? '/data' : '/history/data'
  const init = { headers: headersOf(range) }
  const response = await ask(urlOf(route, { path, at }), init)
  noteZxid(response.headers.get('zabra-applied'))
  // It was emptied meanwhile.
  if (response.status === 416) return getData({ path, ...(at === undefined ? {} : { at }) })
  if (!response.ok) throw await refusalOf(response)
  const bytes = new Uint8Array(await whole(response.arrayBuffer()))
  const total = Number(response.headers.get('content-range')?.split('/')[1] ?? bytes.length)
  return { bytes, total, version: Number(response.headers.get('zabra-version')) }
}

/** Lines of JSON as they come. */
export async function* search(query: Query, signal: AbortSignal): AsyncGenerator {
  const response = await send('/search', query, { headers: headersOf(), signal })
  for await (const line of linesOf(response)) if (line !== '') yield JSON.parse(line) as unknown
}

/** The server says something every ten seconds. */
const silenceMsMax = 25_000

/** Server-sent events: with fetch, because an EventSource cannot send credentials. */
export async function* events(
  query: Query,
  { origin, signal }: Asking,
  path = '/events',
): AsyncGenerator<{ readonly event: string; readonly data: unknown }> {
  const silence = new AbortController()
  const signals = [silence.signal, ...(signal === undefined ? [] : [signal])]
  const init = { headers: headersOf(), signal: AbortSignal.any(signals) }
  let timer = setTimeout(() => silence.abort(), silenceMsMax)
  try {
    const response = await send(path, query, init, origin)
    let event = ''
    for await (const line of linesOf(response)) {
      clearTimeout(timer)
      timer = setTimeout(() => silence.abort(), silenceMsMax)
      if (line.startsWith('event: ')) event = line.slice(7)
      else if (line.startsWith('data: ')) {
        yield { event, data: JSON.parse(line.slice(6)) as unknown }
      }
    }
  } finally {
    clearTimeout(timer)
  }
}

async function* linesOf(response: Response): AsyncGenerator<string> {
  if (response.body === null) return
  const reader = response.body.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  for (;;) {
    const { value, done } = await reader.read()
    if (done) return
    const lines = (rest + decoder.decode(value, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
}

/**
 * Tells another member where this page comes from while all is well, so that it may go there later.
 * False if that one does not take it yet.
 */
export async function greet(origin: string): Promise<boolean> {
  const signal = AbortSignal.timeout(otherMs)
  try {
    return (await fetch(`${origin}/api/openapi.json`, { method: 'HEAD', signal })).ok
  } catch {
    return false
  }
}

/** The caller's role at a server, and the last transaction that it has applied. */
export async function whoAmIAt(
  origin: string,
  signal: AbortSignal,
): Promise<{ readonly who: WhoAmI; readonly applied: string | null }> {
  const impatience = AbortSignal.any([signal, AbortSignal.timeout(otherMs)])
  const init = { headers: headersOf(), signal: impatience }
  const response = await ask(urlOf('/whoami', {}, origin), init)
  if (!response.ok) throw await refusalOf(response)
  return {
    who: (await whole(response.json())) as WhoAmI,
    applied: response.headers.get('zabra-applied'),
  }
}
