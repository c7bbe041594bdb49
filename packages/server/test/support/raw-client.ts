/**
 * A minimal client for tests: one connection, requests sent at once, replies as promises. It shares
 * only the records with the server, and never reconnects.
 *
 *     const client = await RawClient.connect(port)
 *     const { err, zxid, response } = await client.call('getData', { path: '/', watch: true })
 *     await client.nextEvent()
 *     await client.close()
 */
import { connect, type Socket } from 'node:net'
import { connect as connectTls, type ConnectionOptions } from 'node:tls'
import {
  addWatchModes,
  ConnectRequest,
  ConnectResponse,
  createFlags,
  errorName,
  FrameCutter,
  operations,
  Reader,
  ReplyHeader,
  RequestHeader,
  WatcherEvent,
  Writer,
  xids,
  type Acl,
  type Codec,
  type OperationName,
  type RequestOf,
  type ResponseOf,
  type TypeOf,
} from '@zabra/protocol'

export interface ConnectOptions {
  readonly host?: string
  readonly timeoutMs?: number
  /** A session to resume. */
  readonly session?: { readonly sessionId: bigint; readonly password: Uint8Array }
  readonly lastZxidSeen?: bigint
  /** Whether to accept a server without a quorum. */
  readonly readOnly?: boolean
  /** Uses TLS with these options. */
  readonly tls?: ConnectionOptions
  /** How long to wait for the answer to the handshake. */
  readonly patienceMs?: number
}

export interface Reply<T> {
  readonly xid: number
  readonly zxid: bigint
  /** 0 is success; `response` is set only then. */
  readonly err: number
  readonly response: T | undefined
}

export type WatchEvent = TypeOf<typeof WatcherEvent>

/** The connection ended before the reply arrived: the request may or may not have been executed. */
export class ConnectionLostError extends Error {
  override readonly name = 'ConnectionLostError'
}

interface Pending {
  readonly xid: number
  readonly response: Codec<unknown>
  readonly resolve: (reply: Reply<never>) => void
  readonly reject: (error: Error) => void
}

export const openAcl: Acl[] = [{ perms: 31, id: { scheme: 'world', id: 'anyone' } }]
const frameBytesMax = 64 * 1024 * 1024
const loopback = '127.0.0.1'

export class RawClient {
  sessionId = 0n
  password: Uint8Array = new Uint8Array(16)
  timeoutMs = 0
  /** The server has no quorum and refuses writes. */
  isReadOnly = false
  lastZxid = 0n
  /** Notifications that `nextEvent` has not returned yet. */
  readonly events: WatchEvent[] = []
  /** Resolves when the connection has ended for any reason. */
  readonly ended: Promise<void>
  readonly socket: Socket
  private readonly cutter = new FrameCutter(frameBytesMax)
  private readonly writer = new Writer()
  private readonly pending: Pending[] = []
  private readonly listeners: ((event: WatchEvent) => void)[] = []
  private onGreeting: ((frame: Uint8Array) => void) | undefined
  private nextXid = 1
  private isOver = false

  /** Rejects if the server refuses the session, or does not answer. */
  static async connect(port: number, options: ConnectOptions = {}): Promise<RawClient> {
    const { host = loopback, tls } = options
    const target = { port, host, noDelay: true }
    const socket = tls === undefined ? connect(target) : connectTls({ ...target, ...tls })
    const client = new RawClient(socket)
    const { patienceMs = 15_000 } = options
    const impatience = setTimeout(() => socket.destroy(), patienceMs)
    try {
      await client.greet(options)
    } finally {
      clearTimeout(impatience)
    }
    return client
  }

  private constructor(socket: Socket) {
    this.socket = socket
    this.ended = new Promise((resolve) => {
      socket.once('close', () => {
        this.lose()
        resolve()
      })
    })
    socket.on('error', () => {}) // 'close' follows and tells everybody.
    socket.on('data', (chunk) => this.receive(chunk))
  }

  /** The number of requests without a reply. */
  get outstanding(): number {
    return this.pending.length
  }

  get isConnected(): boolean {
    return !this.isOver
  }

  /** Sends a request at once; several may be in flight. */
  call<Name extends OperationName>(
    name: Name,
    request: RequestOf<Name>,
  ): Promise<Reply<ResponseOf<Name>>> {
    const special = { ping: xids.ping, auth: xids.auth, setWatches: xids.setWatches }
    const xid = (special as Partial<Record<OperationName, number>>)[name] ?? this.nextXid++
    return this.send(name, xid, request)
  }

  /** The response; throws if the reply is an error. */
  async must<Name extends OperationName>(
    name: Name,
    request: RequestOf<Name>,
  ): Promise<ResponseOf<Name>> {
    const { err, response } = await this.call(name, request)
    if (err !== 0) {
      const path = 'path' in Object(request) ? ` ${(request as { path: string }).path}` : ''
      throw new Error(`${name}${path} was refused: ${errorName(err) ?? err}`)
    }
    return response!
  }

  create(
    path: string,
    data: string | Uint8Array | null = '',
    flags: number = createFlags.persistent,
  ) {
    return this.must('create2', { path, data: bytesOf(data), acl: openAcl, flags })
  }

  /** The oldest notification, or the next one to arrive. */
  nextEvent(): Promise<WatchEvent> {
    const waiting = this.events.shift()
    if (waiting !== undefined) return Promise.resolve(waiting)
    if (this.isOver) return Promise.reject(new ConnectionLostError('the connection is over'))
    return new Promise((resolve, reject) => {
      this.listeners.push(resolve)
      void this.ended.then(() => reject(new ConnectionLostError('the connection is over')))
    })
  }

  watchTree(path: string) {
    return this.must('addWatch', { path, mode: addWatchModes.persistentRecursive })
  }

  /** Closes the session, and the connection with it. */
  async close(): Promise<void> {
    await this.call('closeSession', {}).catch(() => {})
    this.socket.end()
    await this.ended
  }

  /** Drops the connection; the session lives on until it expires. */
  async abandon(): Promise<void> {
    this.socket.destroy()
    await this.ended
  }

  private async greet(options: ConnectOptions): Promise<void> {
    const { session, timeoutMs = 10_000, lastZxidSeen = 0n, readOnly = false } = options
    const answered = new Promise<Uint8Array>((resolve, reject) => {
      this.onGreeting = resolve
      void this.ended.then(() => reject(new ConnectionLostError('no answer to the handshake')))
    })
    this.sendFrame((writer) =>
      ConnectRequest.write(writer, {
        protocolVersion: 0,
        lastZxidSeen,
        timeOut: timeoutMs,
        sessionId: session?.sessionId ?? 0n,
        passwd: session?.password ?? new Uint8Array(16),
        readOnly,
      }),
    )
    const answer = ConnectResponse.read(new Reader(await answered))
    if (answer.sessionId === 0n) {
      this.socket.destroy()
      throw new Error('the session was refused: it has expired, or never was')
    }
    this.sessionId = answer.sessionId
    this.password = answer.passwd?.slice() ?? new Uint8Array(16)
    this.timeoutMs = answer.timeOut
    this.isReadOnly = answer.readOnly ?? false
  }

  private send<Name extends OperationName>(
    name: Name,
    xid: number,
    request: RequestOf<Name>,
  ): Promise<Reply<ResponseOf<Name>>> {
    if (this.isOver) return Promise.reject(new ConnectionLostError('the connection is over'))
    const { code, request: codec, response } = operations[name]
    return new Promise((resolve, reject) => {
      this.pending.push({ xid, response: response as Codec<unknown>, resolve, reject })
      this.sendFrame((writer) => {
        RequestHeader.write(writer, { xid, type: code })
        ;(codec as Codec<unknown>).write(writer, request)
      })
    })
  }

  private sendFrame(write: (writer: Writer) => void): void {
    const { writer } = this
    writer.reset()
    writer.int(0)
    write(writer)
    writer.intAt(0, writer.position - 4)
    this.socket.write(new Uint8Array(writer.written()))
  }

  private receive(chunk: Uint8Array): void {
    this.cutter.push(chunk, chunk.length, {
      frame: (bytes, start, end) => {
        this.receiveFrame(bytes.subarray(start, end))
        return true
      },
    })
  }

  private receiveFrame(frame: Uint8Array): void {
    const { onGreeting } = this
    if (onGreeting !== undefined) {
      this.onGreeting = undefined
      onGreeting(new Uint8Array(frame))
      return
    }
    const reader = new Reader(frame)
    const { xid, zxid, err } = ReplyHeader.read(reader)
    if (xid === xids.notification) {
      const event = WatcherEvent.read(reader)
      const listener = this.listeners.shift()
      if (listener === undefined) this.events.push(event)
      else listener(event)
      return
    }
    if (zxid > this.lastZxid) this.lastZxid = zxid
    const index = this.pending.findIndex((pending) => pending.xid === xid)
    const [pending] = index < 0 ? [] : this.pending.splice(index, 1)
    // Replies come in the order of the requests, except that authentication is answered early.
    if (pending === undefined || (index > 0 && xid !== xids.auth)) {
      const next = this.pending[0]?.xid ?? 'none'
      this.socket.destroy(new Error(`a reply to ${xid}, where ${next} is the next`))
      pending?.reject(new Error(`the reply to ${xid} came out of order`))
      return
    }
    // The reply of a refused multi keeps its list of results; other refusals have no body.
    const hasBody = err === 0 || reader.remaining > 0
    // A copy, because the next chunk overwrites the frame.
    const body = new Reader(new Uint8Array(frame.subarray(reader.position)))
    try {
      const response = hasBody ? (pending.response.read(body) as never) : undefined
      pending.resolve({ xid, zxid, err, response })
    } catch (error) {
      this.socket.destroy()
      pending.reject(new Error(`the reply to ${xid} cannot be read`, { cause: error }))
    }
  }

  private lose(): void {
    this.isOver = true
    for (const { reject } of this.pending.splice(0)) {
      reject(new ConnectionLostError('the connection ended before the reply'))
    }
  }
}

export function bytesOf(data: string | Uint8Array | null): Uint8Array | null {
  return typeof data === 'string' ? Buffer.from(data) : data
}

export function textOf(data: Uint8Array | null): string | null {
  return data === null ? null : Buffer.from(data).toString()
}
