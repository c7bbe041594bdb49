import type { ClientConnection, ClientLink } from '@zabra/core'
import {
  addWatchModes,
  ConnectRequest,
  ConnectResponse,
  errorCodes,
  FrameCutter,
  operations,
  Reader,
  ReplyHeader,
  RequestHeader,
  WatcherEvent,
  watcherTypes,
  Writer,
  xids,
  type Codec,
  type Id,
  type OperationName,
  type RequestOf,
  type ResponseOf,
  type TypeOf,
} from '@zabra/protocol'
import type { ServerView } from '../view/server-view.ts'
import type { Flushable } from '../net/turn.ts'
import { ApiError, notServing, Refused } from './api-error.ts'

export type WatchEvent = TypeOf<typeof WatcherEvent>
export type WatchListener = (event: WatchEvent) => void

/** The credentials of a client. */
export interface Credentials {
  readonly scheme: string
  readonly token: Uint8Array | null
}

interface Pending {
  readonly resolve: (body: Reader) => void
  readonly reject: (error: Error) => void
}

interface Watch {
  readonly listeners: Set<WatchListener>
  readonly ready: Promise<unknown>
}

const sessionTimeoutMs = 15_000
const replyBytesMax = 0x7fffffff

/**
 * A client inside the server's own process. It speaks the frames of the client port and passes
 * through the same pipeline, so ACLs, order, limits and replication are those of every client.
 */
export class InternalClient implements ClientLink, Flushable {
  readonly address: string
  readonly unsentBytes = 0
  /** Requests and streams of the API that use it now. */
  uses = 0
  lastUsedMs = performance.now()
  private readonly view: ServerView
  private readonly connection: ClientConnection
  private readonly cutter = new FrameCutter(replyBytesMax)
  private readonly pending: Pending[] = []
  private readonly authPending: Pending[] = []
  /** Frames that wait until the server resumes reading. */
  private readonly unread: Uint8Array[] = []
  private readonly watches = new Map<string, Watch>()
  private readonly closeListeners = new Set<() => void>()
  private onGreeting: Pending | undefined
  private heartbeat: NodeJS.Timeout | undefined
  private nextXid = 1
  private isDirty = false
  private isPaused = false
  private isEnding = false
  private isOver = false

  private constructor(view: ServerView, address: string) {
    this.view = view
    this.address = address
    this.connection = view.peer.open(this)
  }

  /** Opens a session; an ApiError says why that failed. */
  static async open(
    view: ServerView,
    address: string,
    credentials: Credentials | undefined,
    /** The identities that its caller has proven already. */
    proven: readonly Id[] = [],
  ): Promise<InternalClient> {
    if (!view.peer.isServing) throw notServing()
    const client = new InternalClient(view, address)
    client.connection.identities.push(...proven)
    try {
      await client.greet()
      if (credentials !== undefined) await client.authenticate(credentials)
      return client
    } catch (error) {
      client.dispose()
      throw error
    }
  }

  get isOpen(): boolean {
    return !this.isOver && !this.isEnding
  }

  get sessionId(): bigint {
    return this.connection.sessionId
  }

  /** The identities of this client on the server. */
  get identities(): readonly Id[] {
    return this.connection.identities
  }

  /** Calls back once when the connection has ended. */
  onClose(listener: () => void): () => void {
    this.closeListeners.add(listener)
    return () => this.closeListeners.delete(listener)
  }

  /** The response of an operation; throws Refused if the server answered with an error. */
  async call<Name extends OperationName>(
    name: Name,
    request: RequestOf<Name>,
  ): Promise<ResponseOf<Name>> {
    const body = await this.callForBody(name, request)
    return (operations[name].response as Codec<unknown>).read(body) as ResponseOf<Name>
  }

  /** The same, with the body of the reply as bytes: some are too long to decode at once. */
  callForBody<Name extends OperationName>(name: Name, request: RequestOf<Name>): Promise<Reader> {
    const { code, request: codec } = operations[name]
    return this.exchange(this.pending, (writer) => {
      RequestHeader.write(writer, { xid: this.nextXid++, type: code })
      ;(codec as Codec<unknown>).write(writer, request)
    })
  }

  /** Ends the session, if it is open, and the connection. */
  dispose(): void {
    if (this.isOver || this.isEnding) return
    if (this.connection.state === 'open') {
      this.isEnding = true
      this.send((writer) => {
        RequestHeader.write(writer, { xid: this.nextXid++, type: operations.closeSession.code })
      })
      return
    }
    this.view.peer.closed(this.connection)
    this.end()
  }

  /** Resumes another session and closes it, as its own client could. */
  static async endSession(view: ServerView, address: string, sessionId: bigint): Promise<boolean> {
    if (!view.peer.isServing) throw notServing()
    const client = new InternalClient(view, address)
    try {
      const passwd = view.passwords.of(sessionId)
      const isResumed = await client.greet({ sessionId, passwd })
      if (!isResumed) return false
      await client.callForBody('closeSession', {})
      return true
    } finally {
      client.leave()
    }
  }

  /** Calls back on every change at a path and below it, until the returned function is called. */
  async watch(path: string, listener: WatchListener): Promise<() => void> {
    let watch = this.watches.get(path)
    if (watch === undefined) {
      const request = { path, mode: addWatchModes.persistentRecursive }
      watch = { listeners: new Set(), ready: this.call('addWatch', request) }
      this.watches.set(path, watch)
    }
    const { listeners, ready } = watch
    listeners.add(listener)
    const remove = (): void => {
      listeners.delete(listener)
      if (listeners.size > 0 || this.watches.get(path) !== watch) return
      this.watches.delete(path)
      if (!this.isOpen) return
      const type = watcherTypes.persistentRecursive
      this.call('removeWatches', { path, type }).catch(() => {})
    }
    try {
      await ready
      return remove
    } catch (error) {
      remove()
      throw error
    }
  }

  // --- the handshake ---------------------------------------------------------------------------

  /** False if the session to resume is gone. */
  private async greet(session?: { sessionId: bigint; passwd: Uint8Array }): Promise<boolean> {
    const greeted = new Promise<Reader>((resolve, reject) => {
      this.onGreeting = { resolve, reject }
    })
    this.send((writer) =>
      ConnectRequest.write(writer, {
        protocolVersion: 0,
        lastZxidSeen: 0n,
        timeOut: sessionTimeoutMs,
        sessionId: session?.sessionId ?? 0n,
        passwd: session?.passwd ?? new Uint8Array(16),
        readOnly: true,
      }),
    )
    const { sessionId, timeOut } = ConnectResponse.read(await greeted)
    if (sessionId === 0n) return false
    this.heartbeat = setInterval(() => this.ping(), Math.max(100, Math.floor(timeOut / 3))).unref()
    return true
  }

  private async authenticate({ scheme, token }: Credentials): Promise<void> {
    await this.exchange(this.authPending, (writer) => {
      RequestHeader.write(writer, { xid: xids.auth, type: operations.auth.code })
      operations.auth.request.write(writer, { type: 0, scheme, auth: token })
    }).catch((error: unknown) => {
      // A server that refuses credentials closes the connection after its answer.
      throw error instanceof Refused || !this.view.peer.isServing
        ? error
        : new Refused(errorCodes.authFailed)
    })
  }

  private ping(): void {
    if (!this.isOpen) return
    this.send((writer) =>
      RequestHeader.write(writer, { xid: xids.ping, type: operations.ping.code }),
    )
  }

  // --- out -------------------------------------------------------------------------------------

  private exchange(queue: Pending[], write: (writer: Writer) => void): Promise<Reader> {
    if (!this.isOpen) return Promise.reject(notServing())
    this.lastUsedMs = performance.now()
    return new Promise((resolve, reject) => {
      const pending = { resolve, reject }
      queue.push(pending)
      try {
        this.send(write)
      } catch (error) {
        queue.splice(queue.indexOf(pending), 1)
        throw error
      }
    })
  }

  private send(write: (writer: Writer) => void): void {
    const writer = new Writer()
    writer.int(0)
    write(writer)
    const length = writer.position - 4
    // On the client port a frame that is too long costs the connection.
    if (length > this.view.config.juteMaxBuffer) {
      throw new ApiError(413, 'tooLarge', 'The request is longer than jute.maxbuffer allows')
    }
    writer.intAt(0, length)
    this.unread.push(writer.written())
    this.deliver()
  }

  private deliver(): void {
    if (this.isPaused || this.unread.length === 0) return
    const { peer, turn } = this.view
    turn.run(() => {
      for (let bytes = this.next(); bytes !== undefined; bytes = this.next()) {
        peer.receive(this.connection, bytes, bytes.length)
      }
    })
  }

  private next(): Uint8Array | undefined {
    return this.isPaused ? undefined : this.unread.shift()
  }

  // --- called by the core ----------------------------------------------------------------------

  flushSoon(): void {
    if (this.isDirty) return
    this.isDirty = true
    this.view.turn.flushLater(this)
  }

  flushNow(): void {
    this.flushSoon()
  }

  pause(): void {
    this.isPaused = true
  }

  resume(): void {
    if (!this.isPaused) return
    this.isPaused = false
    setImmediate(() => this.deliver())
  }

  /** The server ends the connection: bytes in `out` are still delivered. */
  close(): void {
    this.isEnding = true
    this.flushSoon()
  }

  // --- in --------------------------------------------------------------------------------------

  flush(): void {
    this.isDirty = false
    const { out, isThrottled } = this.connection
    if (out.position > 0) {
      const bytes = new Uint8Array(out.written())
      out.release()
      this.cutter.push(bytes, bytes.length, { frame: this.onFrame })
      if (isThrottled) setImmediate(() => this.drained())
    }
    if (this.connection.state === 'closed') this.end()
  }

  private drained(): void {
    const { peer, turn } = this.view
    turn.run(() => peer.drained(this.connection))
  }

  private readonly onFrame = (bytes: Uint8Array, start: number, end: number): boolean => {
    const reader = new Reader(bytes, start, end)
    const greeting = this.onGreeting
    if (greeting !== undefined) {
      this.onGreeting = undefined
      greeting.resolve(reader)
      return true
    }
    const { xid, err } = ReplyHeader.read(reader)
    if (xid === xids.notification) this.notify(WatcherEvent.read(reader))
    else if (xid !== xids.ping) {
      const pending = (xid === xids.auth ? this.authPending : this.pending).shift()
      // The body of a refused multi says which part was refused.
      if (err === errorCodes.ok || reader.remaining > 0) pending?.resolve(reader)
      else pending?.reject(new Refused(err))
    }
    return true
  }

  private notify(event: WatchEvent): void {
    for (const [path, { listeners }] of this.watches) {
      if (path !== '/' && event.path !== path && !event.path.startsWith(`${path}/`)) continue
      for (const listener of listeners) listener(event)
    }
  }

  /** Disconnects without closing the session. */
  private leave(): void {
    if (this.isOver) return
    this.view.peer.closed(this.connection)
    this.end()
  }

  private end(): void {
    if (this.isOver) return
    this.isOver = true
    clearInterval(this.heartbeat)
    this.connection.out.release()
    const error = notServing()
    for (const { reject } of [...this.pending.splice(0), ...this.authPending.splice(0)]) {
      reject(error)
    }
    this.onGreeting?.reject(error)
    this.onGreeting = undefined
    for (const listener of this.closeListeners) listener()
    this.closeListeners.clear()
  }
}
