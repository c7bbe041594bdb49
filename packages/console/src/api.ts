/** The HTTP API of the server that this page came from. */
import { credentials } from './state.ts'

export interface Node {
  readonly path: string
  readonly name: string
  readonly kind: 'persistent' | 'ephemeral' | 'container' | 'ttl'
  readonly czxid: string
  readonly mzxid: string
  readonly pzxid: string
  readonly ctime: string
  readonly mtime: string
  readonly version: number
  readonly cversion: number
  readonly aversion: number
  readonly ephemeralOwner: string | null
  readonly ttlMs: number | null
  readonly dataLength: number
  readonly numChildren: number
  /** Only its name is known: the ACL does not let it be read. */
  readonly isHidden?: true
}
export interface Children {
  readonly node: Node
  readonly total: number
  readonly matching: number
  readonly offset: number
  readonly children: readonly Node[]
  readonly hidden: readonly string[]
}
export interface AclEntry {
  readonly perms: string
  readonly scheme: string
  readonly id: string
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
  readonly meanLatencyMs: number | null
  readonly maxLatencyMs: number | null
  readonly syncMs: number | null
  readonly znodes: number | null
  readonly version: string | null
}
export interface Ensemble {
  readonly mode: 'standalone' | 'ensemble'
  readonly self: string
  readonly leader: string | null
  readonly members: readonly Member[]
}
export interface Sample {
  readonly time: number
  readonly requestsPerSecond: number
  readonly readMs: number
  readonly writeMs: number
  readonly syncMs: number
  readonly connections: number
  readonly znodes: number
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
    readonly meanLatencyMs: number
    readonly maxLatencyMs: number
    readonly identities: readonly string[]
  } | null
}
export interface Contender {
  readonly node: string
  readonly holds: boolean
  readonly mode: 'read' | 'write' | null
  readonly id: string | null
  readonly session: string
  readonly token: string
  readonly since: string
  readonly library: string
}
export interface Line {
  readonly path: string
  readonly kind: string
  readonly total: number
  readonly hidden: number
  readonly contenders: readonly Contender[]
}
export interface Impact {
  readonly nodes: number
  readonly bytes: number
  readonly ephemerals: number
  readonly unreadable: number
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

function urlOf(path: string, query: Query = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined)
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
  return `/api/v1${path}${text === '' ? '' : `?${text}`}`
}

function headersOf(more: Readonly<Record<string, string>> = {}): Record<string, string> {
  const { value } = credentials
  return value === undefined ? { ...more } : { ...more, Authorization: value.header }
}

async function refusalOf(response: Response): Promise<ApiError> {
  try {
    const { error } = (await response.json()) as {
      error: { code: string; message: string; node?: Node | null }
    }
    return new ApiError(response.status, error.code, error.message, error.node)
  } catch {
    return new ApiError(response.status, 'http', `The server answered ${response.status}`)
  }
}

async function send(path: string, query: Query, init: RequestInit): Promise<Response> {
  const response = await fetch(urlOf(path, query), init).catch(() => {
    throw new ApiError(0, 'offline', 'The server cannot be reached')
  })
  if (!response.ok) throw await refusalOf(response)
  return response
}

export async function get<T>(path: string, query: Query = {}): Promise<T> {
  return (await (await send(path, query, { headers: headersOf() })).json()) as T
}

export async function change<T>(
  method: 'POST' | 'PUT' | 'DELETE',
  path: string,
  query: Query,
  body?: object,
): Promise<T> {
  const response = await send(path, query, {
    method,
    headers: headersOf({ 'Content-Type': 'application/json' }),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return (await response.json()) as T
}

export interface Data {
  readonly bytes: Uint8Array
  readonly total: number
  readonly version: number
}

/** The data of a znode, or its first bytes. */
export async function getData(path: string, bytesMax?: number): Promise<Data> {
  const range: Record<string, string> =
    bytesMax === undefined ? {} : { Range: `bytes=0-${bytesMax - 1}` }
  const response = await fetch(urlOf('/data', { path }), { headers: headersOf(range) }).catch(
    () => {
      throw new ApiError(0, 'offline', 'The server cannot be reached')
    },
  )
  // There is no first byte of nothing.
  if (response.status === 416) return getData(path)
  if (!response.ok) throw await refusalOf(response)
  const bytes = new Uint8Array(await response.arrayBuffer())
  const total = Number(response.headers.get('content-range')?.split('/')[1] ?? bytes.length)
  return { bytes, total, version: Number(response.headers.get('zabra-version')) }
}

/** An answer that is bytes, whole. */
export async function getBytes(path: string, query: Query): Promise<Uint8Array> {
  return new Uint8Array(await (await send(path, query, { headers: headersOf() })).arrayBuffer())
}

/** Lines of JSON as they come. */
export async function* search(query: Query, signal: AbortSignal): AsyncGenerator {
  const response = await send('/search', query, { headers: headersOf(), signal })
  for await (const line of linesOf(response)) if (line !== '') yield JSON.parse(line) as unknown
}

/** Server-sent events: with fetch, because an EventSource cannot send credentials. */
export async function* events(
  query: Query,
  signal: AbortSignal,
  path = '/events',
): AsyncGenerator<{ readonly event: string; readonly data: unknown }> {
  const response = await send(path, query, { headers: headersOf(), signal })
  let event = ''
  for await (const line of linesOf(response)) {
    if (line.startsWith('event: ')) event = line.slice(7)
    else if (line.startsWith('data: ')) yield { event, data: JSON.parse(line.slice(6)) as unknown }
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
